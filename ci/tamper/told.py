# SPDX-License-Identifier: GPL-2.0-only
"""What a folder tells twice: figures of `capture` and `watched`, features of perf.data, the
machine."""

import json
import struct
from typing import Any, Callable

from ci.tamper.beside import edited, noted, of_ours
from ci.tamper.case import Case
from ci.tamper.kinds import Absent, Changes, add
from ci.tamper.window import lines_of

EVENT_DESC, SAMPLE_TIME, CLOCKID = 12, 21, 23
ARCH, NRCPUS = 6, 7
ATTR_AT = 8  # of the first one in EVENT_DESC

# What a capture of ours states, and something else shows.
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
        add("capture.%s.%s" % (key, name), of_ours(noted("capture", key.encode(), change)))
add("capture.format_lost", of_ours(edited("capture", lambda line: {
    b"format_lost yes\n": b"format_lost no\n",
    b"format_lost no\n": b"format_lost yes\n"}.get(line, line))))


def without_frequency(case: Case) -> Changes:
    if int(case.facts["breakpoints"]):
        raise Absent("breakpoints sample, and no clock")
    return noted("capture", b"frequency", lambda old: 0)(case)


def doubles(case: Case) -> Changes:
    if int(case.facts["thread_passes"]):
        raise Absent("who lists threads may find one twice")
    return noted("capture", b"duplicates_sideband", lambda old: old + 1)(case)


add("capture.frequency.0", of_ours(without_frequency))
add("capture.duplicates_sideband.+1", of_ours(doubles))

# What the runner saw, whoever captured.
for key in ("chain", "user_only", "task_clock"):
    add("watched.%s.2" % key, noted("watched", key.encode(), lambda old: old + 2))
add("watched.chain.other", of_ours(noted("watched", b"chain", lambda old: 1 - old)))
for key in ("silent", "cpus", "witness", "witness_since"):
    add("watched.%s.0" % key, noted("watched", key.encode(), lambda old: 0))


def cut(count: int) -> Callable[[Case], Changes]:
    return lambda case: {"watched": b"".join(lines_of(case, "watched")[:-count])}


for name, count in (("witness", 2), ("silent", 3), ("cpus", 6)):
    add("watched.ends.before-" + name, cut(count))


def environment(change: Callable[[Any], Any]) -> Callable[[Case], Changes]:
    def alter(case: Case) -> Changes:
        made = json.loads(case.read("env.json"))
        change(made)
        return {"env.json": json.dumps(made).encode()}
    return alter


add("env.gone", lambda case: {"env.json": None} if case.read("env.json") else {})
add("env.empty", lambda case: {"env.json": b""} if case.read("env.json") else {})
add("env.cut", lambda case: {"env.json": case.read("env.json")[:-3]})
add("env.machine", environment(lambda made: made.update(machine="riscv64")))
add("env.max_stack", environment(lambda made: made.update(
    perf_event_max_stack="%d" % (int(made["perf_event_max_stack"]) + 1))))
add("env.cpus", environment(lambda made: made.update(cpus=made["cpus"] + 1)))


def feature(number: int, change: Callable[[bytearray], Any]) -> Callable[[Case], Changes]:
    """A feature of perf.data, in place."""
    def alter(case: Case) -> Changes:
        capture = case.capture("perf.data")
        if number not in capture.features:
            raise Absent("perf.data has no such feature")
        raw = bytearray(capture.features[number])
        change(raw)
        return case.rewrite(lambda old: old.altered(
            features={**old.features, number: bytes(raw)}), "perf.data")
    return alter


def put(at: int, layout: str, by: int) -> Callable[[bytearray], None]:
    def change(raw: bytearray) -> None:
        old, = struct.unpack_from("<" + layout, raw, at)
        struct.pack_into("<" + layout, raw, at, max(0, old + by))
    return change


NAME_AT = ATTR_AT + 120 + 8
add("feature.arch", feature(ARCH, put(4, "B", 1)))
add("feature.cpus-on", feature(NRCPUS, put(4, "I", 1)))
add("feature.events.count", feature(EVENT_DESC, put(0, "I", 1)))
add("feature.events.period", feature(EVENT_DESC, put(ATTR_AT + 16, "Q", 1)))
add("feature.events.clock", feature(EVENT_DESC, put(ATTR_AT + 92, "i", 3)))
add("feature.events.name", of_ours(feature(EVENT_DESC, put(NAME_AT, "B", 1))))
add("feature.events.cut", feature(EVENT_DESC, lambda raw: raw.__delitem__(slice(-8, None))))
for by in (1, -1):
    add("feature.times.first.%+d" % by, feature(SAMPLE_TIME, put(0, "Q", by)))
    add("feature.times.last.%+d" % by, feature(SAMPLE_TIME, put(8, "Q", by)))
    add("feature.clock.%+d" % by, feature(CLOCKID, put(0, "Q", by)))
