# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of information that two files of a case contain: figures of `capture` and `watched`,
features of perf.data, env.json."""

from functools import partial
import json
import struct
from typing import Any, Callable

from ci.tamper.evidence import change_number, require_own_capture
from ci.tamper.case import Case, change_field
from ci.tamper.kinds import Changes, add, make_if, require
from ci.tamper.window import edit_lines, read_lines
from harness.selftest.support import run_directory as rd

EVENT_DESC, SAMPLE_TIME, CLOCKID = 12, 21, 23
ARCH, NRCPUS = 6, 7
ATTR_AT = 8  # offset of the first attr in EVENT_DESC

# Figures of jitproof's own captures that another file shows, too.
FIGURES: dict[str, tuple[tuple[str, Callable[[int], int]], ...]] = {
    "first_enabled": (("0", lambda old: 0),),
    "samples": (("0", lambda old: 0),),
    "cpus": (("0", lambda old: 0), ("-1", lambda old: old - 1)),
    "threads": (("0", lambda old: 0), ("+1", lambda old: old + 1)),
    "ring_sampling": (("0", lambda old: 0), ("+1", lambda old: old + 1)),
    "ring_sideband": (("0", lambda old: 0), ("+1", lambda old: old + 1)),
    "snapshots": (("0", lambda old: 0), ("+1", lambda old: old + 1)),
    "snapshot_readings": (("0", lambda old: 0),),
    "snapshots_unstable": (("+1000", lambda old: old + 1000),),
    "breakpoints_hit": (("+1000000", lambda old: old + 1_000_000),),
}
for key, changes in FIGURES.items():
    for name, change in changes:
        add("capture.%s.%s" % (key, name), require_own_capture(
            change_number("capture", key.encode(), change)))
add("capture.format_lost", require_own_capture(edit_lines("capture", lambda line: {
    b"format_lost yes\n": b"format_lost no\n",
    b"format_lost no\n": b"format_lost yes\n"}.get(line, line))))


add("capture.frequency.0", require_own_capture(make_if(
    lambda case: not int(case.facts["breakpoints"]),
    "the case samples by breakpoints, not by a clock",
    change_number("capture", b"frequency", lambda old: 0))))
add("capture.duplicates_sideband.+1", require_own_capture(make_if(
    lambda case: not int(case.facts["thread_passes"]),
    "a capture that lists threads may find a thread twice",
    change_number("capture", b"duplicates_sideband", lambda old: old + 1))))

# Figures of the runner, which do not depend on the profiler.
for key in ("chain", "user_only", "task_clock"):
    add("watched.%s.2" % key, change_number("watched", key.encode(), lambda old: old + 2))
add("watched.chain.other", require_own_capture(
    change_number("watched", b"chain", lambda old: 1 - old)))
for key in ("silent", "cpus", "witness", "witness_since"):
    add("watched.%s.0" % key, change_number("watched", key.encode(), lambda old: 0))


for name, count in (("witness", 2), ("silent", 3), ("cpus", 6)):
    add("watched.ends.before-" + name, partial(lambda count, case: {
        "watched": b"".join(read_lines(case, "watched")[:-count])}, count))


def change_environment(change: Callable[[Any], Any]) -> Callable[[Case], Changes]:
    def alter_case(case: Case) -> Changes:
        made = json.loads(case.read("env.json"))
        change(made)
        return {"env.json": json.dumps(made).encode()}
    return alter_case


add("env.gone", lambda case: {"env.json": None} if case.read("env.json") else {})
add("env.empty", lambda case: {"env.json": b""} if case.read("env.json") else {})
add("env.cut", lambda case: {"env.json": case.read("env.json")[:-3]})
add("env.machine", change_environment(lambda made: made.update(machine="riscv64")))


def raise_max_stack(made: Any) -> None:
    require("perf_event_max_stack" in made, "env.json has no limit of the stack")
    made["perf_event_max_stack"] = str(int(made["perf_event_max_stack"]) + 1)


add("env.max_stack", change_environment(raise_max_stack))
add("env.cpus", change_environment(lambda made: made.update(cpus=made["cpus"] + 1)))


def change_feature(number: int, change: Callable[[bytearray], Any]) -> Callable[[Case], Changes]:
    def alter_case(case: Case) -> Changes:
        capture = case.capture("perf.data")
        require(number in capture.features, "perf.data has no such feature")
        raw = bytearray(capture.features[number])
        change(raw)
        return case.rewrite(lambda old: old.copy_with(
            features={**old.features, number: bytes(raw)}), "perf.data")
    return alter_case


def add_to_number(at: int, layout: str, by: int) -> Callable[[bytearray], None]:
    return change_field(at, layout, lambda old: max(0, old + by))


NAME_AT = ATTR_AT + 120 + 8
add("feature.release", change_feature(4, lambda raw: raw.__setitem__(
    slice(None), rd.pack_string("5.10.0-other"))))
add("feature.cpus", change_feature(NRCPUS, lambda raw: raw.__setitem__(
    slice(None), struct.pack("<II", 1, 1))))
add("feature.arch", change_feature(ARCH, add_to_number(4, "B", 1)))
add("feature.cpus-on", change_feature(NRCPUS, add_to_number(4, "I", 1)))
add("feature.events.count", change_feature(EVENT_DESC, add_to_number(0, "I", 1)))
add("feature.events.period", change_feature(EVENT_DESC, add_to_number(ATTR_AT + 16, "Q", 1)))
add("feature.events.clock", change_feature(EVENT_DESC, add_to_number(ATTR_AT + 92, "i", 3)))
add("feature.events.name", require_own_capture(
    change_feature(EVENT_DESC, add_to_number(NAME_AT, "B", 1))))
add("feature.events.cut", change_feature(EVENT_DESC, lambda raw: raw.__delitem__(slice(-8, None))))
for by in (1, -1):
    add("feature.times.first.%+d" % by, change_feature(SAMPLE_TIME, add_to_number(0, "Q", by)))
    add("feature.times.last.%+d" % by, change_feature(SAMPLE_TIME, add_to_number(8, "Q", by)))
    add("feature.clock.%+d" % by, change_feature(CLOCKID, add_to_number(0, "Q", by)))
