# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of the order of perf.data's records, and of its end."""

from functools import partial
from typing import Any

from ci.tamper.case import CODE, Capture, Case, Target
from ci.tamper.kinds import Changes, add, require
from ci.tamper.mappings import is_executable
from harness.selftest.support import run_directory as rd

FINISHED = rd.Record(rd.FINISHED_ROUND, 0, b"")


def is_timed(record: Any) -> bool:
    return isinstance(record, (rd.Sample, rd.Side))


def move_behind(case: Case, target: Target) -> Changes:
    """Moves records to the end of the file, after the rounds that they belong to."""
    def alter_capture(capture: Capture) -> Capture:
        matches = [record for record in capture.records if target.where(case, record)]
        require(matches, "the case holds no " + target.what)
        late = {id(record) for record in case.choose(matches, 0.3, capture)}
        # The end of a round makes the records before the previous round's end final, so two ends in
        # a row make all earlier records final.
        early = [record for record in capture.records
                 if id(record) not in late and record.kind != rd.FINISHED_ROUND]
        return capture.copy_with(
            early + [FINISHED, FINISHED] +
            [record for record in capture.records if id(record) in late] + [FINISHED])
    return case.rewrite(alter_capture)


add("order.behind.sample", partial(move_behind, target=CODE))
add("order.behind.map", partial(move_behind, target=Target(
    lambda case, record: isinstance(record, rd.Map) and is_executable(case, record),
    "executable mapping record of a watched process")))


def truncate_file(case: Case, part: float, extra: int) -> Changes:
    """Truncates the file @extra bytes after the end of a record."""
    capture = case.capture("perf.data")
    raw = capture.pack()
    entry = len(capture.attrs[0].raw) + 16
    offset = rd.HEADER + entry * len(capture.attrs)
    offset += sum(len(capture.pack_record(record))
              for record in capture.records[:int(len(capture.records) * part)])
    return {"perf.data": raw[:offset + extra]}


add("file.cut.record", lambda case: truncate_file(case, 0.6, 0))
add("file.cut.within", lambda case: truncate_file(case, 0.6, 12))
add("file.cut.start", lambda case: truncate_file(case, 0.0, 0))
add("file.gone", lambda case: {"perf.data": None})
add("file.empty", lambda case: {"perf.data": b""})
