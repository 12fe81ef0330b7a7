# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of a frame, a word or a register of a sample; the rest stays plausible."""

import struct
from typing import Callable

from ci.tamper.case import Case, clone
from ci.tamper.kinds import Absent, Unobservable, add, require
from ci.tamper.samples import SHARE, alter_samples
from ci.tamper.stacks import change_user_chain, set_word
from harness.selftest.support import run_directory as rd

User = list[int]


def add_shares(name: str, change: Callable[[Case, rd.Sample], rd.Sample]) -> None:
    for share_name, share in (("some", SHARE), ("one", 0.0)):
        add("%s.%s" % (name, share_name), alter_samples(change, share))


def change_callers(least: int, change: Callable[[Case, User, rd.Sample], User]) \
        -> Callable[[Case, rd.Sample], rd.Sample]:
    """Changes the user callchain of samples that have at least @least addresses."""
    def alter_case(case: Case, sample: rd.Sample) -> rd.Sample:
        return change_user_chain(lambda user, one: change(case, user, one) if len(user) >= least
                                 else user)(case, sample)
    return alter_case


def find_other_function(case: Case, user: User) -> int:
    """Returns an address in an emitted function that the chain does not contain."""
    taken = {address >> 4 for address in user}
    for start, end in case.code:
        for address in range(start, end, 64):
            if address + 8 < end and address + 8 >> 4 not in taken:
                return address + 8
    raise Absent("the case emits no other function")


add_shares("chain.caller.doubled", change_callers(2, lambda case, user,
                                                  one: [*user[:2], *user[1:]]))
add_shares("chain.caller.gone", change_callers(3, lambda case, user, one: [user[0], *user[2:]]))
add_shares("chain.caller.+1", change_callers(2, lambda case, user,
                                             one: [user[0], user[1] + 1, *user[2:]]))
add_shares("chain.caller.-5", change_callers(2, lambda case, user,
                                             one: [user[0], user[1] - 5, *user[2:]]))
add_shares("chain.caller.other", change_callers(2, lambda case, user, one: [
    user[0], find_other_function(case, user), *user[2:]]))
add_shares("chain.caller.inserted", change_callers(2, lambda case, user, one: [
    *user[:2], find_other_function(case, user), *user[2:]]))
add_shares("chain.reversed", change_callers(3, lambda case, user, one: user[::-1]))
add_shares("chain.end.cut.2", change_callers(3, lambda case, user, one: user[:-2]))
add_shares("chain.end.+1", change_callers(2, lambda case, user, one: [*user[:-1], user[-1] + 1]))
add_shares("chain.user.kernel-address", change_callers(1, lambda case, user, one: [
    *user[:1], 0xffffffff81000010, *user[1:]]))


def change_markers(change: Callable[[User, int], User]) -> Callable[[Case, rd.Sample], rd.Sample]:
    def alter_case(case: Case, sample: rd.Sample) -> rd.Sample:
        begin = sample.user()
        if begin is None:
            raise Absent("samples hold no user callchain")
        return clone(sample, chain=change(sample.chain, begin))
    return alter_case


add_shares("chain.marker.doubled", change_markers(lambda chain,
                                                  at: [*chain[:at], rd.CONTEXT_USER, *chain[at:]]))
add_shares("chain.marker.within", change_markers(
    lambda chain, at: [*chain[:at + 1], rd.CONTEXT_USER, *chain[at + 1:]]))


def find_code_words(case: Case, sample: rd.Sample) -> list[int]:
    """Returns the offsets of words in the dump that are addresses in emitted code."""
    require(sample.stack, "samples hold no dump of the stack")
    return [at for at in range(0, min(len(sample.stack), 4096) - 7, 8)
            if case.is_code(struct.unpack_from("<Q", sample.stack, at)[0])]


def find_linked_returns(case: Case, sample: rd.Sample) -> list[int]:
    """Returns the offsets of return addresses in emitted code that frame pointers lead to."""
    found, places = [], set(find_code_words(case, sample))
    fp, sp = sample.regs.get(rd.X86_BP, 0), sample.regs.get(rd.X86_SP, 0)
    while fp >= sp and fp + 8 - sp in places and fp + 8 - sp not in found:
        found.append(fp + 8 - sp)
        fp = struct.unpack_from("<Q", sample.stack, fp - sp)[0]
    return found


def change_return(value: Callable[[Case, int], int]) -> Callable[[Case, rd.Sample], rd.Sample]:
    def change(case: Case, sample: rd.Sample) -> rd.Sample:
        for at in find_linked_returns(case, sample)[:1]:
            old = struct.unpack_from("<Q", sample.stack, at)[0]
            return clone(sample, stack=set_word(sample, at, value(case, old)))
        return sample
    return change


add_shares("dump.return.zero", change_return(lambda case, old: 0))
add_shares("dump.return.other", change_return(lambda case, old: find_other_function(case, [old])))
add_shares("dump.return.+1", change_return(lambda case, old: old + 1))


def shorten_dump(case: Case, sample: rd.Sample, keep: Callable[[int], int]) -> rd.Sample:
    require(sample.stack, "samples hold no dump of the stack")
    left = keep(len(sample.stack))
    if left and (sample.regs.get(rd.X86_SP, 1) + left) % 4096 == 0:
        raise Unobservable("the dump ends where a page does, as where the next is not present")
    return clone(sample, stack=sample.stack[:left])


add_shares("dump.shorter.8", lambda case, one: shorten_dump(case, one, lambda size: size - 8))
add_shares("dump.shorter.1", lambda case, one: shorten_dump(case, one, lambda size: size - 1))


def change_registers(change: Callable[[dict[int, int]], dict[int, int]]) \
        -> Callable[[Case, rd.Sample], rd.Sample]:
    def alter_case(case: Case, sample: rd.Sample) -> rd.Sample:
        require(sample.regs, "samples have no registers")
        changed = change(sample.regs)
        return clone(sample, regs={**sample.regs, **changed}) if changed else sample
    return alter_case


def change_frame_pointer(value: Callable[[int], int]) -> Callable[[dict[int, int]], dict[int, int]]:
    """Changes bp if it is a frame pointer. Functions may use it for other values."""
    return lambda regs: {rd.X86_BP: value(regs[rd.X86_BP])} \
        if regs[rd.X86_BP] >= regs[rd.X86_SP] else {}


add_shares("regs.bp.zero", change_registers(change_frame_pointer(lambda old: 0)))
add_shares("regs.bp.-8", change_registers(change_frame_pointer(lambda old: old - 8)))
add_shares("regs.bp.sp.swapped", change_registers(
    lambda regs: {rd.X86_BP: regs[rd.X86_SP], rd.X86_SP: regs[rd.X86_BP]}))
add_shares("regs.sp.+1", change_registers(lambda regs: {rd.X86_SP: regs[rd.X86_SP] + 1}))
add_shares("regs.abi.32-bit", lambda case, one: clone(one, abi=1) if one.regs else one)


def move_off_instruction(case: Case, sample: rd.Sample) -> rd.Sample:
    """Moves the sample to the byte after the instruction's first. Leaves samples of the vDSO, whose
    instructions are not all known."""
    if any(sample.ip in code for code in case.vdso):
        return sample
    ip = sample.ip + 1
    made = clone(sample, chain=[ip if one == sample.ip else one for one in sample.chain])
    if rd.X86_IP in made.regs:
        made.regs[rd.X86_IP] = ip
    made.ip = ip
    return made


add_shares("sample.ip.+1.all", move_off_instruction)
