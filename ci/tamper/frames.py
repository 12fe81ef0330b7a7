# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of registers, dump and callchain of samples, of many or of a frame, a word or a
register; the rest stays plausible."""

import struct
from typing import Callable

from ci.tamper.case import CODE, SOME_ONE, Case, Change, clone
from ci.tamper.kinds import Absent, Unobservable, add, require
from harness.selftest.support import run_directory as rd

User = list[int]


def change_register(number: int, value: Callable[[int], int]) -> Change:
    def change(_: Case, sample: rd.Sample) -> rd.Sample:
        require(number in sample.regs, "samples do not hold the register")
        return clone(sample, regs={**sample.regs, number: value(sample.regs[number]) % 2**64})
    return change


def change_dump(change: Callable[[bytearray], bytearray]) -> Change:
    def alter_sample(_: Case, sample: rd.Sample) -> rd.Sample:
        require(sample.stack, "samples hold no dump of the stack")
        return clone(sample, stack=change(sample.stack))
    return alter_sample


def change_chain(change: Callable[[User, int], User]) -> Change:
    """Changes the callchain. @change: returns the new one for the old one and the index of its user
    part."""
    def alter_sample(_: Case, sample: rd.Sample) -> rd.Sample:
        begin = sample.user()
        if begin is None:
            raise Absent("samples hold no user callchain")
        return clone(sample, chain=change(sample.chain, begin))
    return alter_sample


def change_user_chain(change: Callable[[Case, User], User], least: int = 0) -> Change:
    """Changes the user callchain of samples that have at least @least addresses."""
    return lambda case, sample: change_chain(
        lambda chain, position: chain if len(chain) - position < least else
        [*chain[:position], *change(case, chain[position:])])(case, sample)


def remove_chain(_: Case, sample: rd.Sample) -> rd.Sample:
    require(sample.chain, "samples hold no callchain")
    return clone(sample, chain=[])


CODE.add([""], {
    "sample.sp.+8": change_register(rd.X86_SP, lambda old: old + 8),
    "sample.sp.-8": change_register(rd.X86_SP, lambda old: old - 8),
    "sample.sp.+4096": change_register(rd.X86_SP, lambda old: old + 4096),
    "sample.regs.ip.alone.+1": change_register(rd.X86_IP, lambda old: old + 1),
    "sample.dump.cut.8": change_dump(lambda raw: raw[:8]),
    "sample.dump.zeroed": change_dump(lambda raw: bytearray(len(raw))),
    "sample.dump.shifted.8": change_dump(lambda raw: raw[8:] + bytes(8)),
    "sample.chain.cut.1": change_user_chain(lambda _, user: user[:1]),
    "sample.chain.cut.0": change_user_chain(lambda _, user: []),
    "sample.chain.cut.last": change_user_chain(lambda _, user: user[:-1]),
    "sample.chain.invented.0x1234": change_user_chain(
        lambda _, user: [*user[:1], 0x1234, *user[1:]]),
    "sample.chain.first.0x1234": change_user_chain(lambda _, user: [0x1234, *user[1:]]),
    "sample.chain.gone": remove_chain,
})
add("sample.chain.gone.all", CODE.alter(remove_chain, 1.0))


def set_word(sample: rd.Sample, at: int, value: int) -> bytearray:
    raw = bytearray(sample.stack)
    struct.pack_into("<Q", raw, at, value)
    return raw


def find_other_function(case: Case, user: User) -> int:
    """Returns an address in an emitted function that the chain does not contain."""
    taken = {address >> 4 for address in user}
    for start, end in case.code:
        for address in range(start, end, 64):
            if address + 8 < end and address + 8 >> 4 not in taken:
                return address + 8
    raise Absent("the case emits no other function")


def find_code_words(case: Case, sample: rd.Sample) -> list[int]:
    """Returns the offsets of words in the dump that are addresses in emitted code."""
    require(sample.stack, "samples hold no dump of the stack")
    return [offset for offset in range(0, min(len(sample.stack), 4096) - 7, 8)
            if case.is_code(struct.unpack_from("<Q", sample.stack, offset)[0])]


def find_linked_returns(case: Case, sample: rd.Sample) -> list[int]:
    """Returns the offsets of return addresses in emitted code that frame pointers lead to."""
    returns, places = [], set(find_code_words(case, sample))
    fp, sp = sample.regs.get(rd.X86_BP, 0), sample.regs.get(rd.X86_SP, 0)
    while fp >= sp and fp + 8 - sp in places and fp + 8 - sp not in returns:
        returns.append(fp + 8 - sp)
        fp = struct.unpack_from("<Q", sample.stack, fp - sp)[0]
    return returns


def change_return(value: Callable[[Case, int], int]) -> Change:
    def change(case: Case, sample: rd.Sample) -> rd.Sample:
        for offset in find_linked_returns(case, sample)[:1]:
            old = struct.unpack_from("<Q", sample.stack, offset)[0]
            return clone(sample, stack=set_word(sample, offset, value(case, old)))
        return sample
    return change


def shorten_dump(by: int) -> Change:
    def change(_: Case, sample: rd.Sample) -> rd.Sample:
        require(sample.stack, "samples hold no dump of the stack")
        remaining_size = len(sample.stack) - by
        if remaining_size and (sample.regs.get(rd.X86_SP, 1) + remaining_size) % 4096 == 0:
            raise Unobservable("the dump ends where a page does, as where the next is not present")
        return clone(sample, stack=sample.stack[:remaining_size])
    return change


def change_registers(change: Callable[[dict[int, int]], dict[int, int]]) -> Change:
    def alter_sample(_: Case, sample: rd.Sample) -> rd.Sample:
        require(sample.regs, "samples have no registers")
        changed = change(sample.regs)
        return clone(sample, regs={**sample.regs, **changed}) if changed else sample
    return alter_sample


def change_frame_pointer(value: Callable[[int], int]) -> Change:
    """Changes bp if it is a frame pointer. Functions may use it for other values."""
    return change_registers(lambda regs: {rd.X86_BP: value(regs[rd.X86_BP])}
                            if regs[rd.X86_BP] >= regs[rd.X86_SP] else {})


def move_off_instruction(case: Case, sample: rd.Sample) -> rd.Sample:
    """Moves the sample to the byte after the instruction's first. Leaves samples of the vDSO, whose
    instructions are not all known."""
    if any(sample.ip in code for code in case.vdso):
        return sample
    ip = sample.ip + 1
    altered = clone(sample,
                    chain=[ip if address == sample.ip else address for address in sample.chain])
    if rd.X86_IP in altered.regs:
        altered.regs[rd.X86_IP] = ip
    altered.ip = ip
    return altered


CODE.add(SOME_ONE, {
    "chain.caller.doubled": change_user_chain(lambda _, user: [*user[:2], *user[1:]], 2),
    "chain.caller.gone": change_user_chain(lambda _, user: [user[0], *user[2:]], 3),
    "chain.caller.+1": change_user_chain(lambda _, user: [user[0], user[1] + 1, *user[2:]], 2),
    "chain.caller.-5": change_user_chain(lambda _, user: [user[0], user[1] - 5, *user[2:]], 2),
    "chain.caller.other": change_user_chain(lambda case, user: [
        user[0], find_other_function(case, user), *user[2:]], 2),
    "chain.caller.inserted": change_user_chain(lambda case, user: [
        *user[:2], find_other_function(case, user), *user[2:]], 2),
    "chain.reversed": change_user_chain(lambda _, user: user[::-1], 3),
    "chain.end.cut.2": change_user_chain(lambda _, user: user[:-2], 3),
    "chain.end.+1": change_user_chain(lambda _, user: [*user[:-1], user[-1] + 1], 2),
    "chain.user.kernel-address": change_user_chain(lambda _, user: [
        *user[:1], 0xffffffff81000010, *user[1:]], 1),
    "chain.marker.doubled": change_chain(lambda chain, offset: [
        *chain[:offset], rd.CONTEXT_USER, *chain[offset:]]),
    "chain.marker.within": change_chain(lambda chain, offset: [
        *chain[:offset + 1], rd.CONTEXT_USER, *chain[offset + 1:]]),
    "dump.return.zero": change_return(lambda case, old: 0),
    "dump.return.other": change_return(lambda case, old: find_other_function(case, [old])),
    "dump.return.+1": change_return(lambda case, old: old + 1),
    "dump.shorter.8": shorten_dump(8),
    "dump.shorter.1": shorten_dump(1),
    "regs.bp.zero": change_frame_pointer(lambda old: 0),
    "regs.bp.-8": change_frame_pointer(lambda old: old - 8),
    "regs.bp.sp.swapped": change_registers(
        lambda regs: {rd.X86_BP: regs[rd.X86_SP], rd.X86_SP: regs[rd.X86_BP]}),
    "regs.sp.+1": change_registers(lambda regs: {rd.X86_SP: regs[rd.X86_SP] + 1}),
    "regs.abi.32-bit": lambda _, record: clone(record, abi=1) if record.regs else record,
    "sample.ip.+1.all": move_off_instruction,
})
