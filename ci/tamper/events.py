# SPDX-License-Identifier: GPL-2.0-only
"""Attributes of the events, their ids, and records of what was lost or throttled."""

from functools import partial
import operator
import struct
from typing import Any, Callable

from ci.tamper.beside import of_ours
from ci.tamper.case import Capture, Case, clone
from ci.tamper.kinds import Absent, Changes, add, kind, rewriting
from ci.tamper.mappings import busiest
from harness.selftest.support import run_directory as rd

THROTTLE, UNTHROTTLE = 5, 6
CHAIN, REGS, STACK = rd.CALLCHAIN, rd.REGS_USER, rd.STACK_USER
USE_CLOCKID = 1 << 25
# Where struct perf_event_attr has them.
CONFIG, PERIOD, SAMPLE_TYPE, FLAGS, CLOCKID = 8, 16, 24, 40, 92


def sampling(capture: Capture) -> int:
    """Index of the attr that has samples."""
    for sample in capture.samples():
        return next(index for index, attr in enumerate(capture.attrs) if attr is sample.attr)
    raise Absent("the case holds no sample")


def sideband(capture: Capture) -> int:
    """Index of the attr of mappings, which may be the same."""
    index = len(capture.attrs) - 1
    if index == sampling(capture):
        raise Absent("one event has the samples and the sideband")
    return index


def changed_attr(change: Callable[[bytearray], None], which: Callable[[Capture], int] = sampling) \
        -> Callable[[Case], Changes]:
    """The attr alone: its samples stay as they were."""
    def alter(capture: Capture) -> Capture:
        wanted = which(capture)

        def one(index: int, attr: rd.Attr) -> rd.Attr | None:
            if index != wanted:
                return None
            change(attr.raw)
            return attr
        return capture.with_attrs(one)
    return lambda case: case.rewrite(alter)


def put(at: int, layout: str, value: Callable[[int], int]) -> Callable[[bytearray], None]:
    def change(raw: bytearray) -> None:
        old = struct.unpack_from("<" + layout, raw, at)[0]
        struct.pack_into("<" + layout, raw, at, value(old))
    return change


def without(bits: int) -> Callable[[Case], Changes]:
    """The event's attr and each of its samples without a part, as if it had not been asked for."""
    def alter(capture: Capture) -> Capture:
        wanted = sampling(capture)
        old = capture.attrs[wanted]
        if not old.sample_type & bits:
            raise Absent("the event does not ask for it")
        new = rd.Attr(bytes(old.raw), old.ids)
        put(SAMPLE_TYPE, "Q", lambda value: value & ~bits)(new.raw)
        attrs = [new if attr is old else attr for attr in capture.attrs]
        records: list[Any] = []
        for record in capture.records:
            mine = isinstance(record, (rd.Sample, rd.Side)) and record.attr is old
            records.append(clone(record, attr=new) if mine else record)
        return capture.altered(records, attrs)
    return lambda case: case.rewrite(alter)


add("attr.without.callchain", without(CHAIN))
add("attr.without.registers", without(REGS))
add("attr.without.dump", without(STACK))
add("attr.without.registers.dump", without(REGS | STACK))
add("attr.without.all", without(CHAIN | REGS | STACK))
add("attr.type.alone.callchain", changed_attr(put(SAMPLE_TYPE, "Q", lambda old: old ^ CHAIN)))
add("attr.type.alone.registers", changed_attr(put(SAMPLE_TYPE, "Q", lambda old: old ^ REGS)))
add("attr.clockid.other", changed_attr(put(CLOCKID, "i", lambda old: 4 if old != 4 else 1)))
add("attr.clockid.none", changed_attr(put(FLAGS, "Q", lambda old: old & ~USE_CLOCKID)))
add("attr.sideband.clockid.other", changed_attr(
    put(CLOCKID, "i", lambda old: 4 if old != 4 else 1), sideband))
add("attr.period.x10", changed_attr(put(PERIOD, "Q", lambda old: old * 10)))
add("attr.period.1", changed_attr(put(PERIOD, "Q", lambda old: 1)))
add("attr.event.other", changed_attr(put(CONFIG, "Q", lambda old: old + 1)))


# What ours sets or leaves in each attr, whatever the case: of others nobody knows.
for name, which in (("sampling", sampling), ("sideband", sideband)):
    for bit_name, bit in (("inherit", 1), ("idle", 7), ("mmap", 8), ("on-exec", 12),
                          ("comm-exec", 24), ("inherit-thread", 35)):
        add("attr.%s.bit.%s" % (name, bit_name), of_ours(changed_attr(
            put(FLAGS, "Q", partial(operator.xor, 1 << bit)), which)))
    add("attr.%s.branches" % name, of_ours(changed_attr(put(72, "Q", lambda old: 8), which)))
    add("attr.%s.max-stack" % name, of_ours(changed_attr(put(108, "H", lambda old: 30), which)))


@rewriting("ids.swapped")
def swap_ids(case: Case, capture: Capture) -> Capture:
    """Each of two events under the other's ids."""
    attrs = capture.attrs
    if len(attrs) < 2:
        raise Absent("the case has one event")
    first, second = attrs[0].ids, attrs[-1].ids
    return capture.with_attrs(lambda index, attr: rd.Attr(
        bytes(attr.raw), second if index == 0 else first if index == len(attrs) - 1
        else attr.ids))


@kind("ids.unknown")
def unknown_ids(case: Case) -> Changes:
    """Samples of an event that no attr describes."""
    def change(sample: rd.Sample) -> rd.Sample:
        return clone(sample, id=2**40)
    def holds_ids(record: Any) -> bool:
        return isinstance(record, rd.Sample) and case.in_code(record) and \
            bool(record.attr.sample_type & rd.IDENTIFIER)
    return case.each(holds_ids, change, 0.3, "sample with an id")


Body = Callable[[int, int], bytes]


def report(which: Callable[[Capture], int], kind_of: int, body: Body) -> Callable[[Case], Changes]:
    """A record of an event, among the samples in emitted code: its @body(id, time)."""
    def make(case: Case) -> Changes:
        pid, time = busiest(case)

        def alter(capture: Capture) -> Capture:
            attr = capture.attrs[which(capture)]
            identity = attr.ids[0] if attr.ids else 0
            one = rd.PerfData([attr]).side(kind_of, body(identity, time), time, 0, pid, pid)
            return capture.inserted(one)
        return case.rewrite(alter)
    return make


def lost(count: int) -> Body:
    return lambda identity, time: struct.pack("<QQ", identity, count)


def lost_samples(count: int) -> Body:
    return lambda identity, time: struct.pack("<Q", count)


def throttled(identity: int, time: int) -> bytes:
    return struct.pack("<QQQ", time, identity, identity)


for event_name, which in (("sampling", sampling), ("sideband", sideband)):
    for count in (1, 10**9):
        add("lost.%s.%d" % (event_name, count), report(which, rd.LOST, lost(count)))
        add("lost-samples.%s.%d" % (event_name, count),
            report(which, rd.LOST_SAMPLES, lost_samples(count)))
    for name, number in (("throttle", THROTTLE), ("unthrottle", UNTHROTTLE)):
        add("%s.%s" % (name, event_name), report(which, number, throttled))


@kind("lost.removed")
def lost_removed(case: Case) -> Changes:
    return case.each(lambda record: record.kind in (rd.LOST, rd.LOST_SAMPLES),
                     lambda record: None, 1.0, "record of lost ones")


@kind("throttle.removed")
def throttle_removed(case: Case) -> Changes:
    return case.each(lambda record: record.kind in (THROTTLE, UNTHROTTLE),
                     lambda record: None, 1.0, "record of throttling")
