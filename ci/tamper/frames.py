# SPDX-License-Identifier: GPL-2.0-only
"""One frame, one word or one register of a sample: the rest of it stays plausible."""

from functools import partial
import struct
from typing import Callable

from ci.tamper.case import Case, clone
from ci.tamper.kinds import Absent, Changes, Unobservable, add, kind
from ci.tamper.samples import CODE, SHARE, of_code
from ci.tamper.stacks import user_chain, word
from harness.selftest.support import run_directory as rd

PAGE = 4096
User = list[int]


def both(name: str, change: Callable[[Case, rd.Sample], rd.Sample]) -> None:
    for share_name, share in (("some", SHARE), ("one", 0.0)):
        add("%s.%s" % (name, share_name), of_code(change, share))


def callers(least: int, change: Callable[[Case, User, rd.Sample], User]) \
        -> Callable[[Case, rd.Sample], rd.Sample]:
    """A chain with so many addresses at least, as @change returns it."""
    def altered(case: Case, sample: rd.Sample) -> rd.Sample:
        return user_chain(lambda user, one: change(case, user, one) if len(user) >= least
                          else user)(case, sample)
    return altered


def live_function(case: Case, user: User) -> int:
    """An address within an emitted function that the chain does not hold."""
    taken = {address >> 4 for address in user}
    for start, end in case.code:
        for address in range(start, end, 64):
            if address + 8 < end and address + 8 >> 4 not in taken:
                return address + 8
    raise Absent("the case emits no other function")


def moved_end(user: User) -> User:
    """The outermost frame moves next to the sampled address."""
    return [user[0], user[-1], *user[1:-1]] if user[1] != user[-1] else user


both("chain.caller.doubled", callers(2, lambda case, user, one: [*user[:2], *user[1:]]))
both("chain.caller.gone", callers(3, lambda case, user, one: [user[0], *user[2:]]))
both("chain.caller.+1", callers(2, lambda case, user, one: [user[0], user[1] + 1, *user[2:]]))
both("chain.caller.-5", callers(2, lambda case, user, one: [user[0], user[1] - 5, *user[2:]]))
both("chain.caller.other", callers(2, lambda case, user, one: [
    user[0], live_function(case, user), *user[2:]]))
both("chain.caller.inserted", callers(2, lambda case, user, one: [
    *user[:2], live_function(case, user), *user[2:]]))
both("chain.reversed", callers(3, lambda case, user, one: user[::-1]))
both("chain.end.doubled", callers(1, lambda case, user, one: [*user, user[-1]]))
both("chain.end.cut.2", callers(3, lambda case, user, one: user[:-2]))
both("chain.end.moved", callers(3, lambda case, user, one: moved_end(user)))
both("chain.end.+1", callers(2, lambda case, user, one: [*user[:-1], user[-1] + 1]))
both("chain.end.zero", callers(2, lambda case, user, one: [*user, 0]))
both("chain.user.kernel-address", callers(1, lambda case, user, one: [
    *user[:1], 0xffffffff81000010, *user[1:]]))


def borrowed(case: Case, sample: rd.Sample) -> rd.Sample:
    """The chain of another sample of the thread, which was elsewhere."""
    begin = sample.user()
    if begin is None:
        raise Absent("samples hold no user callchain")
    for other in case.capture("perf.data").samples():
        start = other.user()
        if start is not None and other.tid == sample.tid and other.pid == sample.pid and \
                other.chain[start + 1:] != sample.chain[begin + 1:] and case.in_code(other):
            return clone(sample, chain=sample.chain[:begin + 1] + other.chain[start + 1:])
    raise Absent("each thread has the same callers in all samples")


both("chain.borrowed", borrowed)


def in_kernel(case: Case, sample: rd.Sample, change: Callable[[User], User]) -> rd.Sample:
    begin = sample.user()
    if begin is None or begin < 3 or sample.chain[0] != rd.CONTEXT_KERNEL:
        return sample
    kernel = sample.chain[1:begin - 1]
    return clone(sample, chain=[sample.chain[0], *change(kernel), *sample.chain[begin - 1:]])


for name, change in (
        ("gone", lambda kernel: []),
        ("user-address", lambda kernel: [*kernel, 0x1234]),
        ("zero", lambda kernel: [*kernel, 0])):
    add("chain.kernel." + name, of_code(partial(in_kernel, change=change), 1.0))


def markers(change: Callable[[User, int], User]) -> Callable[[Case, rd.Sample], rd.Sample]:
    def altered(case: Case, sample: rd.Sample) -> rd.Sample:
        begin = sample.user()
        if begin is None:
            raise Absent("samples hold no user callchain")
        return clone(sample, chain=change(sample.chain, begin))
    return altered


both("chain.marker.doubled", markers(lambda chain, at: [*chain[:at], rd.CONTEXT_USER, *chain[at:]]))
both("chain.marker.within", markers(
    lambda chain, at: [*chain[:at + 1], rd.CONTEXT_USER, *chain[at + 1:]]))


def returns_of(case: Case, sample: rd.Sample) -> list[int]:
    """Where words in the dump lead into emitted code."""
    if not sample.stack:
        raise Absent("samples hold no dump of the stack")
    return [at for at in range(0, min(len(sample.stack), 4096) - 7, 8)
            if case.is_code(struct.unpack_from("<Q", sample.stack, at)[0])]


def linked(case: Case, sample: rd.Sample) -> list[int]:
    """Those of them that the frame pointers lead to: return addresses in use."""
    found, places = [], set(returns_of(case, sample))
    fp, sp = sample.regs.get(rd.X86_BP, 0), sample.regs.get(rd.X86_SP, 0)
    while fp >= sp and fp + 8 - sp in places and fp + 8 - sp not in found:
        found.append(fp + 8 - sp)
        fp = struct.unpack_from("<Q", sample.stack, fp - sp)[0]
    return found


def one_return(value: Callable[[Case, int], int]) -> Callable[[Case, rd.Sample], rd.Sample]:
    def change(case: Case, sample: rd.Sample) -> rd.Sample:
        for at in linked(case, sample)[:1]:
            old = struct.unpack_from("<Q", sample.stack, at)[0]
            return clone(sample, stack=word(sample, at, value(case, old)))
        return sample
    return change


both("dump.return.zero", one_return(lambda case, old: 0))
both("dump.return.other", one_return(lambda case, old: live_function(case, [old])))
both("dump.return.+1", one_return(lambda case, old: old + 1))


def swapped_returns(case: Case, sample: rd.Sample) -> rd.Sample:
    used = linked(case, sample)[:2]
    if len(used) < 2:
        return sample
    values = [struct.unpack_from("<Q", sample.stack, at)[0] for at in used]
    stack = word(sample, used[0], values[1])
    struct.pack_into("<Q", stack, used[1], values[0])
    return clone(sample, stack=stack)


both("dump.return.swapped", swapped_returns)


def shorter(case: Case, sample: rd.Sample, keep: Callable[[int], int]) -> rd.Sample:
    if not sample.stack:
        raise Absent("samples hold no dump of the stack")
    left = keep(len(sample.stack))
    if left and (sample.regs.get(rd.X86_SP, 1) + left) % 4096 == 0:
        raise Unobservable("the dump ends where a page does, as where the next is not present")
    return clone(sample, stack=sample.stack[:left])


both("dump.shorter.8", lambda case, one: shorter(case, one, lambda size: size - 8))
both("dump.shorter.1", lambda case, one: shorter(case, one, lambda size: size - 1))
both("dump.shorter.half", lambda case, one: shorter(case, one, lambda size: size // 2))


def asked(case: Case, sample: rd.Sample, by: int) -> rd.Sample:
    if not sample.stack or sample.asked + by < len(sample.stack):
        raise Absent("dumps are full, or there are none")
    return clone(sample, asked=sample.asked + by)


both("dump.asked.+64", lambda case, one: asked(case, one, 64))


def lender(case: Case, sample: rd.Sample) -> rd.Sample:
    """Another sample of the thread, with another dump of the same size."""
    if not sample.stack:
        raise Absent("samples hold no dump of the stack")
    for other in case.capture("perf.data").samples():
        if other.tid == sample.tid and other.stack and len(other.stack) == len(sample.stack) and \
                other.stack != sample.stack and case.in_code(other) and \
                other.regs[rd.X86_SP] != sample.regs[rd.X86_SP]:
            return other
    raise Absent("each thread has the same dump in all samples")


def holds_caller(sample: rd.Sample) -> bool:
    callers = {*sample.chain[(sample.user() or 0) + 1:]}
    whole = memoryview(bytes(sample.stack[:len(sample.stack) // 8 * 8])).cast("Q")
    return any(one in callers for one in whole)


def within_a_frame(sample: rd.Sample) -> str | None:
    """Of a dump that ends within the frame of the function that was sampled."""
    return None if holds_caller(sample) else \
        "the dump reaches no caller, and no file tells what a function keeps in its frame"


def borrowed_dump(case: Case, share: float) -> Changes:
    return case.each(lambda one: isinstance(one, rd.Sample) and case.in_code(one),
                     lambda one: clone(one, stack=lender(case, one).stack), share, CODE,
                     proof=within_a_frame)


add("dump.borrowed.some", partial(borrowed_dump, share=SHARE))
add("dump.borrowed.one", partial(borrowed_dump, share=0.0))


def registers(change: Callable[[dict[int, int]], dict[int, int]]) \
        -> Callable[[Case, rd.Sample], rd.Sample]:
    def altered(case: Case, sample: rd.Sample) -> rd.Sample:
        if not sample.regs:
            raise Absent("samples have no registers")
        changed = change(sample.regs)
        return clone(sample, regs={**sample.regs, **changed}) if changed else sample
    return altered


def frame_pointer(value: Callable[[int], int]) -> Callable[[dict[int, int]], dict[int, int]]:
    """Where bp is one: nothing says what a function holds in it that uses it for something else."""
    return lambda regs: {rd.X86_BP: value(regs[rd.X86_BP])} \
        if regs[rd.X86_BP] >= regs[rd.X86_SP] else {}


both("regs.bp.zero", registers(frame_pointer(lambda old: 0)))
both("regs.bp.-8", registers(frame_pointer(lambda old: old - 8)))
both("regs.bp.sp.swapped", registers(
    lambda regs: {rd.X86_BP: regs[rd.X86_SP], rd.X86_SP: regs[rd.X86_BP]}))
both("regs.sp.+1", registers(lambda regs: {rd.X86_SP: regs[rd.X86_SP] + 1}))
both("regs.abi.32-bit", lambda case, one: clone(one, abi=1) if one.regs else one)


def off_instruction(case: Case, sample: rd.Sample) -> rd.Sample:
    """All of the sample says the byte after the instruction's first. Nobody has seen all
    instructions of the vDSO: one may begin there."""
    if any(sample.ip in code for code in case.vdso):
        return sample
    ip = sample.ip + 1
    made = clone(sample, chain=[ip if one == sample.ip else one for one in sample.chain])
    if rd.X86_IP in made.regs:
        made.regs[rd.X86_IP] = ip
    made.ip = ip
    return made


both("sample.ip.+1.all", off_instruction)


@kind("regs.callee-saved.one")
def callee_saved(case: Case) -> Changes:
    """A register that no function of ours uses."""
    sample = next((one for one in case.capture("perf.data").samples() if case.in_code(one)), None)
    if not sample:
        raise Absent("the case holds no " + CODE)
    others = set(sample.regs) - {rd.X86_BP, rd.X86_SP, rd.X86_IP}
    if not others:
        raise Absent("samples hold no other register")
    raise Unobservable("nothing says what other registers held")
