# SPDX-License-Identifier: GPL-2.0-only
"""What samples outside of emitted code say, the kernel's part of any, and what no kernel writes
into a record: nobody needs the truth to see it."""

from functools import partial
import struct
from typing import Any, Callable

from ci.base import files
from ci.tamper.case import Capture, Case, clone
from ci.tamper.events import changed_attr, put
from ci.tamper.kinds import Absent, Changes, add, rewriting
from harness.selftest.support import run_directory as rd

FLAGS, CS, SS = 9, 10, 11  # numbers of PERF_REG_X86_*
CONTEXT_GUEST = 2**64 - 2048
EXACT_IP, BUSY_BIT, DATA = 1 << 14, 1 << 12, 1 << 13
MAX_STACK, ATTR_FLAGS = 108, 40
EXCLUDE_CALLCHAIN_KERNEL = 1 << 21
Change = Callable[[Case, Any], Any]


def is_native(case: Case, one: Any) -> bool:
    """A sample in user space, outside of emitted code, of a process that is watched."""
    return isinstance(one, rd.Sample) and one.misc & 7 == rd.USER and one.pid in case.watched and \
        not case.is_code(one.regs.get(rd.X86_IP, one.ip))


def is_kernels(case: Case, one: Any) -> bool:
    return isinstance(one, rd.Sample) and one.misc & 7 == rd.KERNEL


def both(name: str, where: Callable[[Case, Any], bool], change: Change, what: str) -> None:
    for share_name, share in (("all", 1.0), ("one", 0.0)):
        add("%s.%s" % (name, share_name), partial(
            lambda part, case: case.each(lambda one: where(case, one),
                                         lambda one: change(case, one), part, what), share))


def chain(change: Callable[[rd.Sample, list[int]], list[int]]) -> Change:
    """@change(the sample, the user's part) -> the new one, where its dump holds a frame."""
    def altered(_: Case, sample: rd.Sample) -> rd.Sample:
        begin = sample.user()
        if begin is None or not sample.stack or len(sample.chain) - begin < 2 or \
                sample.word(sample.regs[rd.X86_BP] + 8) is None:
            return sample
        return clone(sample, chain=sample.chain[:begin] + change(sample, sample.chain[begin:]))
    return altered


NATIVE = "sample outside of emitted code"
both("native.chain.cut.1", is_native, chain(lambda one, user: user[:1]), NATIVE)
both("native.chain.caller.0x1234", is_native, chain(
    lambda one, user: [user[0], 0x1234, *user[2:]]), NATIVE)


def without_words(_: Case, sample: rd.Sample) -> rd.Sample:
    """Where the frame pointer leads to a caller: else no walk reads a word."""
    if sample.user() is None or not sample.word(sample.regs.get(rd.X86_BP, 0) + 8):
        return sample
    return clone(sample, stack=bytearray(len(sample.stack)))


both("native.dump.zeroed", is_native, without_words, NATIVE)


def nowhere(_: Case, sample: rd.Sample) -> rd.Sample:
    made = clone(sample, chain=[0x1234 if one == sample.ip else one for one in sample.chain])
    made.ip = 0x1234
    if rd.X86_IP in made.regs:
        made.regs[rd.X86_IP] = 0x1234
    return made


both("native.ip.0x1234", is_native, nowhere, NATIVE)


def register(number: int, value: int) -> Change:
    def change(_: Case, sample: rd.Sample) -> rd.Sample:
        if number not in sample.regs:
            raise Absent("samples do not hold the register")
        made = clone(sample)
        made.regs[number] = value
        return made
    return change


def any_sample(_: Case, one: Any) -> bool:
    return isinstance(one, rd.Sample)


for register_name, register_number, values in (
        ("cs", CS, (0x10, 0, 0x23)), ("ss", SS, (0x18,)), ("flags", FLAGS, (0, 0x2, 2**64 - 1))):
    for register_value in values:
        both("regs.%s.%x" % (register_name, register_value), any_sample,
             register(register_number, register_value), "sample")

for misc_name, bit in (("exact-ip", EXACT_IP), ("bit-3", 1 << 3), ("bit-12", BUSY_BIT)):
    both("sample.misc." + misc_name, any_sample,
         partial(lambda new, case, one: clone(one, misc=one.misc | new), bit), "sample")


def kernel_chain(value: int, entry: int) -> Change:
    """The entry of the kernel's part becomes @value, which follows it where it is a marker."""
    def altered(_: Case, sample: rd.Sample) -> rd.Sample:
        end = (sample.user() or len(sample.chain) + 1) - 1
        if not sample.chain or end <= entry:
            return sample
        new = list(sample.chain)
        if value == CONTEXT_GUEST:
            new.insert(entry, value)
        else:
            new[entry] = value
        made = clone(sample, chain=new)
        if entry == 1:
            made.ip = value
        return made
    return altered


KERNEL = "sample in the kernel"
for address_name, address in (("direct-map", 0xffff888000001000), ("hole", 0x8000000012345678)):
    both("kernel.ip." + address_name, is_kernels, kernel_chain(address, 1), KERNEL)
    both("kernel.caller." + address_name, is_kernels, kernel_chain(address, 2), KERNEL)
both("kernel.marker.guest", is_kernels, kernel_chain(CONTEXT_GUEST, 2), KERNEL)


def on_one_cpu(_: Case, capture: Capture) -> Capture:
    """All samples on the CPU of the first, each with the id of its thread there."""
    samples = capture.samples()
    first = samples[0].cpu
    ids = {one.tid: one.one[rd.IDENTIFIER] for one in samples
           if one.cpu == first and rd.IDENTIFIER in one.one}
    new = {}
    for one in samples:
        if one.cpu != first:
            new[id(one)] = made = clone(one)
            made.cpu = first
            if rd.IDENTIFIER in made.one:
                made.one[rd.IDENTIFIER] = ids.get(one.tid, made.one[rd.IDENTIFIER])
    # Each thread may have a sample more than fits, and some time may be nobody's.
    spent = (samples[-1].time - samples[0].time) / max(1, samples[0].one.get(rd.PERIOD, 1))
    if len(samples) < 1.5 * spent + 2 * len({one.tid for one in samples}) or \
            rd.PERIOD not in samples[0].one or not new:
        raise Absent("one CPU has the time for all samples")
    return capture.replaced(new)


def moved_in_time(key: str, where: str, by: int) -> Callable[[Case], Changes]:
    """A sample outside of emitted code, or else any, before the first event or after the last."""
    def alter(case: Case) -> Changes:
        facts = dict(line.split(" ", 1) for line in files.read(case.path(where)).splitlines())
        if key not in facts or "first_enabled" not in case.facts:
            raise Absent("the capture does not say when its events were on")

        def change(capture: Capture) -> Capture:
            found = [one for one in capture.samples() if not case.in_code(one)]
            one = (found or capture.samples())[0 if by < 0 else -1]
            made = clone(one)
            made.time = int(facts[key]) + by
            new = capture.altered([other for other in capture.records if other is not one])
            new.insert(made)
            return new
        return case.rewrite(change)
    return alter


def live_map(case: Case, one: Any) -> bool:
    return isinstance(one, rd.Map) and one.pid in case.watched and bool(one.time) and \
        bool(one.prot & 4) and identity(one) != 0


def identity(one: rd.Side) -> int:
    at = one.tail().get(rd.IDENTIFIER)
    return 0 if at is None else struct.unpack_from("<Q", one.body, at)[0]


def put_body(one: rd.Side, at: int, value: int, layout: str = "<I") -> rd.Side:
    made = clone(one)
    struct.pack_into(layout, made.body, at, value)
    return made


MAP = "live record of a mapping"
for flags_name, flags in (("none", 0), ("both", 3), ("bit-31", 1 << 31 | 2)):
    both("map.flags." + flags_name, live_map,
         partial(lambda new, case, one: put_body(one, 60, new), flags), MAP)
both("map.prot.bit-3", live_map, lambda case, one: put_body(one, 56, one.prot | 8), MAP)
both("map.misc.data", live_map, lambda case, one: clone(one, misc=one.misc | DATA), MAP)
both("map.misc.bit-12", live_map, lambda case, one: clone(one, misc=one.misc | BUSY_BIT), MAP)


def live_side(case: Case, one: Any) -> bool:
    return isinstance(one, rd.Side) and bool(one.time) and identity(one) != 0 and \
        not (one.kind == rd.MMAP and one.misc & 7 == rd.KERNEL)


def of_kind(number: int) -> Callable[[Case, Any], bool]:
    return lambda case, one: live_side(case, one) and one.kind == number


def tail_field(bit: int, value: int) -> Callable[[Case, rd.Side], rd.Side]:
    def change(_: Case, one: rd.Side) -> rd.Side:
        if bit not in one.tail():
            raise Absent("records do not say it")
        return put_body(one, one.tail()[bit], value, "<I" if bit == rd.CPU else "<Q")
    return change


SIDE = "live record of sideband"
both("side.cpu.4095", live_side, tail_field(rd.CPU, 4095), SIDE)
both("side.id.0", live_side, tail_field(rd.IDENTIFIER, 0), SIDE)
for task_name, number in (("comm", rd.COMM), ("fork", rd.FORK), ("exit", rd.EXIT)):
    both("%s.misc.bit-12" % task_name, of_kind(number),
         lambda case, one: clone(one, misc=one.misc | BUSY_BIT), SIDE)


@rewriting("kernel-map.moved")
def kernel_map_moved(case: Case, capture: Capture) -> Capture:
    found = [one for one in capture.records if isinstance(one, rd.Side) and one.kind == rd.MMAP and
             one.misc & 7 == rd.KERNEL]
    inside = [one for one in capture.samples() if is_kernels(case, one)]
    if not found or len(inside) * 50 <= len(capture.samples()):
        raise Absent("hardly a sample is in the kernel, or it has no record")
    return capture.replaced({id(one): put_body(one, 8, struct.unpack_from("<Q", one.body, 8)[0] -
                                               (1 << 30), "<Q") for one in found})


def attr_where(name: str, there: Callable[[Case, Capture], bool], at: int, layout: str,
               value: Callable[[int], int]) -> None:
    make = changed_attr(put(at, layout, value))

    def alter(case: Case) -> Changes:
        if not there(case, case.capture("perf.data")):
            raise Absent("no sample needs it")
        return make(case)
    add(name, alter)


attr_where("attr.max-stack.2", lambda case, capture: any(
    len(one.chain) > 4 for one in capture.samples()), MAX_STACK, "H", lambda old: 2)
attr_where("attr.no-kernel-chain", lambda case, capture: any(
    is_kernels(case, one) for one in capture.samples()), ATTR_FLAGS, "Q",
           lambda old: old | EXCLUDE_CALLCHAIN_KERNEL)
rewriting("sample.cpu.one.with-ids")(on_one_cpu)
add("sample.before-first-event", moved_in_time("first_enabled", "capture", -50_000))
add("sample.after-last-event", moved_in_time("silent", "watched", 50_000))
