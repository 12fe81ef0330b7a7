# SPDX-License-Identifier: GPL-2.0-only
"""The file itself: the order of its records, their types, where it ends."""

from functools import partial
from typing import Any, Callable

from ci.tamper.case import Capture, Case, clone
from ci.tamper.kinds import Absent, Changes, add, rewriting
from ci.tamper.mappings import executable
from ci.tamper.samples import CODE
from harness.selftest.support import run_directory as rd

AUX, ITRACE_START = 11, 12
FINISHED = rd.Record(rd.FINISHED_ROUND, 0, b"")


def timed(record: Any) -> bool:
    return isinstance(record, (rd.Sample, rd.Side))


def behind(case: Case, where: Callable[[Case, Any], bool], what: str) -> Changes:
    """Records that come after the rounds which they belong to, at the end of the file."""
    def alter(capture: Capture) -> Capture:
        found = [record for record in capture.records if where(case, record)]
        if not found:
            raise Absent("the case holds no " + what)
        late = {id(record) for record in case.chosen(found, 0.3, capture)}
        # A round lets go what came before the round before it: two of them make all of it final.
        early = [record for record in capture.records
                 if id(record) not in late and record.kind != rd.FINISHED_ROUND]
        return capture.altered(
            early + [FINISHED, FINISHED] +
            [record for record in capture.records if id(record) in late] + [FINISHED])
    return case.rewrite(alter)


def sample_of_code(case: Case, one: Any) -> bool:
    return isinstance(one, rd.Sample) and case.in_code(one)


def code_map(case: Case, one: Any) -> bool:
    return isinstance(one, rd.Map) and executable(case, one)


# name: (where, what it is)
RECORDS: dict[str, tuple[Callable[[Case, Any], bool], str]] = {
    "sample": (sample_of_code, CODE),
    "map": (code_map, "executable mapping record of a watched process")}
for name, (where, what) in RECORDS.items():
    add("order.behind." + name, partial(behind, where=where, what=what))


def retyped(where: Callable[[Case, Any], bool], number: int, what: str) \
        -> Callable[[Case], Changes]:
    def change(record: Any) -> rd.Record:
        raw = record.pack()
        return rd.Record(number, record.misc, raw[8:])
    return lambda case: case.each(lambda one: where(case, one), change, 0.3, what)


for type_name, number in (("aux", AUX), ("itrace", ITRACE_START), ("unknown", 60)):
    for name, (where, what) in RECORDS.items():
        add("type.%s.%s" % (type_name, name), retyped(where, number, what))


def cut(case: Case, part: float) -> Changes:
    """As if the writer had stopped: a file that is whole, with its last records missing."""
    def alter(capture: Capture) -> Capture:
        times = sorted(one.time for one in capture.samples() if case.in_code(one))
        if not times:
            raise Absent("the case holds no " + CODE)
        end = times[int(len(times) * part)]
        return capture.altered(
            one for one in capture.records if not timed(one) or one.time <= end)
    return case.rewrite(alter)


add("file.ends.half", lambda case: cut(case, 0.5))
add("file.ends.four-fifths", lambda case: cut(case, 0.8))


def truncated(case: Case, part: float, extra: int) -> Changes:
    """The bytes end early, at a record's border or @extra bytes after it."""
    capture = case.capture("perf.data")
    raw = capture.pack()
    entry = len(capture.attrs[0].raw) + 16
    at = rd.HEADER + entry * len(capture.attrs)
    at += sum(len(capture.bytes_of(one))
              for one in capture.records[:int(len(capture.records) * part)])
    return {"perf.data": raw[:at + extra]}


add("file.cut.record", lambda case: truncated(case, 0.6, 0))
add("file.cut.within", lambda case: truncated(case, 0.6, 12))
add("file.cut.start", lambda case: truncated(case, 0.0, 0))
add("file.gone", lambda case: {"perf.data": None})
add("file.empty", lambda case: {"perf.data": b""})


@rewriting("size.mmap.+8")
def longer_record(case: Case, capture: Capture) -> Capture:
    """A record whose size is wrong: what follows it is not found."""
    found = [one for one in capture.maps() if executable(case, one)]
    if not found:
        raise Absent("the case holds no executable mapping record of a watched process")
    chosen = case.chosen(found, 0.0, capture)[0]
    raw = bytearray(chosen.pack())
    raw[6] = raw[6] + 8 & 0xff
    broken = clone(chosen)
    object.__setattr__(broken, "pack", lambda: bytes(raw))
    return capture.altered(broken if one is chosen else one for one in capture.records)
