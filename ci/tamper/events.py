# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of event attributes and ids, and of records of loss and throttling."""

from functools import partial
import operator
import struct
from typing import Callable

from ci.tamper.evidence import NO_CLOCK, require_own_capture
from ci.tamper.case import Capture, Case, Target, change_field, set_to
from ci.tamper.kinds import (Absent, Changes, Make, add, make_if, register_rewrite, require,
                             require_clock)
from ci.tamper.mappings import find_busiest_process
from harness.selftest.support import run_directory as rd

THROTTLE, UNTHROTTLE = 5, 6
CHAIN, REGS, STACK = rd.CALLCHAIN, rd.REGS_USER, rd.STACK_USER
USE_CLOCKID = 1 << 25
# Offsets of fields of struct perf_event_attr.
CONFIG, PERIOD, SAMPLE_TYPE, FLAGS, CLOCKID = 8, 16, 24, 40, 92


def find_sampling_attr(capture: Capture) -> int:
    for sample in capture.samples():
        return next(index for index, attr in enumerate(capture.attrs) if attr is sample.attr)
    raise Absent("the case holds no sample")


def find_sideband_attr(capture: Capture) -> int:
    """Returns the index of the attr for mappings. Raises Absent if it is the sampling event's."""
    index = len(capture.attrs) - 1
    if index == find_sampling_attr(capture):
        raise Absent("one event has the samples and the sideband")
    return index


def change_attr(change: Callable[[bytearray], None],
                find_attr: Callable[[Capture], int] = find_sampling_attr) \
        -> Callable[[Case], Changes]:
    """Changes an attr, but not its samples. @find_attr: returns the index of the attr."""
    def alter_capture(capture: Capture) -> Capture:
        attr_index = find_attr(capture)

        def change_wanted(index: int, attr: rd.Attr) -> rd.Attr | None:
            if index != attr_index:
                return None
            change(attr.raw)
            return attr
        return capture.change_attrs(change_wanted)
    return lambda case: case.rewrite(alter_capture)


def remove_sample_parts(bits: int) -> Callable[[Case], Changes]:
    """Removes parts of the event's samples and their bits of sample_type from its attr."""
    def alter_capture(capture: Capture) -> Capture:
        attr_index = find_sampling_attr(capture)
        require(capture.attrs[attr_index].sample_type & bits, "the event does not record this data")
        return capture.replace_attr(
            attr_index, change_field(SAMPLE_TYPE, "Q", lambda value: value & ~bits))
    return lambda case: case.rewrite(alter_capture)


add("attr.without.callchain", remove_sample_parts(CHAIN))
add("attr.without.registers", remove_sample_parts(REGS))
add("attr.without.dump", remove_sample_parts(STACK))
add("attr.without.registers.dump", remove_sample_parts(REGS | STACK))
add("attr.without.all", remove_sample_parts(CHAIN | REGS | STACK))
add("attr.type.alone.callchain", change_attr(change_field(
    SAMPLE_TYPE, "Q", lambda old: old ^ CHAIN)))
add("attr.type.alone.registers", change_attr(change_field(
    SAMPLE_TYPE, "Q", lambda old: old ^ REGS)))
add("attr.clockid.other", change_attr(change_field(CLOCKID, "i", lambda old: 4 if old != 4 else 1)))
add("attr.clockid.none", change_attr(change_field(FLAGS, "Q", lambda old: old & ~USE_CLOCKID)))
add("attr.sideband.clockid.other", change_attr(
    change_field(CLOCKID, "i", lambda old: 4 if old != 4 else 1), find_sideband_attr))
add("attr.period.x10", change_attr(change_field(PERIOD, "Q", lambda old: old * 10)))
add("attr.period.1", change_attr(change_field(PERIOD, "Q", lambda old: 1)))
add("attr.event.other", change_attr(change_field(CONFIG, "Q", lambda old: old + 1)))


# Fields that jitproof's capture sets to the same values in every case.
for name, which in (("sampling", find_sampling_attr), ("sideband", find_sideband_attr)):
    for bit_name, bit in (("inherit", 1), ("idle", 7), ("mmap", 8), ("on-exec", 12),
                          ("comm-exec", 24), ("inherit-thread", 35)):
        add("attr.%s.bit.%s" % (name, bit_name), require_own_capture(change_attr(
            change_field(FLAGS, "Q", partial(operator.xor, 1 << bit)), which)))
    add("attr.%s.branches" % name, require_own_capture(change_attr(
        change_field(72, "Q", lambda old: 8), which)))
    add("attr.%s.max-stack" % name, require_own_capture(change_attr(
        change_field(108, "H", lambda old: 30), which)))


@register_rewrite("ids.swapped")
def swap_ids(case: Case, capture: Capture) -> Capture:
    attrs = capture.attrs
    require(len(attrs) >= 2, "the case has only one event")
    first, second = attrs[0].ids, attrs[-1].ids
    return capture.change_attrs(lambda index, attr: rd.Attr(
        bytes(attr.raw), second if index == 0 else first if index == len(attrs) - 1
        else attr.ids))


# Gives samples an id that no attr has.
add("ids.unknown", Target(
    lambda case, record: case.is_in_code(record) and record.attr.sample_type & rd.IDENTIFIER,
    "sample with an event id").alter(set_to(id=2**40)))

Body = Callable[[int, int], bytes]


def insert_report(find_attr: Callable[[Capture], int], kind_of: int,
                  body: Body) -> Callable[[Case], Changes]:
    """Inserts a record of an event among the samples in emitted code. @body: makes its body from
    the event's id and the time."""
    def make(case: Case) -> Changes:
        pid, time = find_busiest_process(case)

        def alter_capture(capture: Capture) -> Capture:
            attr = capture.attrs[find_attr(capture)]
            identity = attr.ids[0] if attr.ids else 0
            record = rd.PerfData([attr]).side(kind_of, body(identity, time), time, 0, pid, pid)
            return capture.insert_records(record)
        return case.rewrite(alter_capture)
    return make


def require_witness(make: Make) -> Make:
    """Makes a kind that only cases with a witness have."""
    return make_if(lambda case: case.read("witness"),
                   "no witness shows what an event missed while it was throttled", make)


for event_name, which in (("sampling", find_sampling_attr), ("sideband", find_sideband_attr)):
    for count in (1, 10**9):
        add("lost.%s.%d" % (event_name, count), insert_report(
            which, rd.LOST, partial(lambda n, record, _: struct.pack("<QQ", record, n), count)))
        add("lost-samples.%s.%d" % (event_name, count), insert_report(
            which, rd.LOST_SAMPLES, partial(lambda n, record, _: struct.pack("<Q", n), count)))
    for name, number in (("throttle", THROTTLE), ("unthrottle", UNTHROTTLE)):
        # A record of throttling alone hides no sample. Nothing replaces the clock of breakpoints.
        add("harmless.%s.%s" % (name, event_name),
            require_witness(require_clock(NO_CLOCK, insert_report(
                which, number,
                lambda identity, time: struct.pack("<QQQ", time, identity, identity)))))


LOST = Target(lambda _, record: record.kind in (rd.LOST, rd.LOST_SAMPLES), "LOST record")
add("lost.removed", LOST.alter(lambda *_: None, 1.0))
add("lost.doubled", LOST.alter(lambda _, record: [record, record], 1.0))
add("throttle.removed", Target(lambda _, record: record.kind in (THROTTLE, UNTHROTTLE),
                               "THROTTLE record").alter(lambda *_: None, 1.0))
