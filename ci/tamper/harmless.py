# SPDX-License-Identifier: GPL-2.0-only
"""Harmless alterations: they change a file but not its meaning, so judging must not notice them."""

import re
import struct
from typing import Any

from ci.tamper.case import Capture, Case, clone
from ci.tamper.kinds import Changes, add, kind, register_rewrite, require
from ci.tamper.layout import FINISHED, is_timed
from harness.selftest.support import run_directory as rd

# Features about the machine and its user: hostname, kernel, perf's version, CPU, memory, command
# line.
ABOUT = (3, 4, 5, 8, 9, 10, 11, 13, 14, 22)


add("harmless.again", lambda case: {"perf.data": case.capture("perf.data").pack()}, harmless=True)


add("harmless.rounds.one", lambda case: case.rewrite(lambda capture: capture.copy_with(
    [one for one in capture.records if one.kind != rd.FINISHED_ROUND] + [FINISHED])), harmless=True)
add("harmless.rounds.none", lambda case: case.rewrite(lambda capture: capture.copy_with(
    one for one in capture.records if one.kind != rd.FINISHED_ROUND)), harmless=True)


@register_rewrite("harmless.rounds.many", harmless=True)
def add_rounds(case: Case, capture: Capture) -> Capture:
    """Sorts all records by time, and ends a round after every tenth."""
    head = [one for one in capture.records
            if not is_timed(one) and one.kind != rd.FINISHED_ROUND]
    body = sorted((one for one in capture.records if is_timed(one)), key=lambda one: one.time)
    records = head
    for at in range(0, len(body), 10):
        records += body[at:at + 10] + [FINISHED]
    return capture.copy_with(records)


@register_rewrite("harmless.types.user", harmless=True)
def insert_user_types(case: Case, capture: Capture) -> Capture:
    """Inserts records of a type that a later perf may write."""
    records: list[Any] = []
    for number, one in enumerate(capture.records):
        records.append(one)
        if number % 50 == 0:
            records.append(rd.Record(250, 0, b"whatever"))
    return capture.copy_with(records)


@register_rewrite("harmless.types.kernel", harmless=True)
def insert_kernel_types(case: Case, capture: Capture) -> Capture:
    """Inserts records of a type that a later kernel may write."""
    new = [capture.side(60, b"whatever", one.time)
           for one in capture.samples()[::50]]
    return capture.insert_records(*new)


@kind("harmless.padding", harmless=True)
def pad_names(case: Case) -> Changes:
    """Adds more zeros to the end of names than necessary."""
    def change(one: Any) -> Any:
        made = clone(one)
        at = made.tail()[0]
        made.body[at:at] = bytes(8)
        return made
    return case.alter_records(lambda one: one.kind in (rd.MMAP2, rd.COMM), change, 1.0,
                              "record with a name")


@kind("harmless.dump.garbage", harmless=True)
def fill_dump_end(case: Case) -> Changes:
    """Changes the end of the dump, which the kernel did not fill."""
    def change(sample: rd.Sample) -> rd.Sample:
        made = clone(sample)
        raw = bytearray(sample.pack())
        used = len(sample.stack)
        at = len(raw) - 8 - sample.asked + used
        raw[at:len(raw) - 8] = b"\xa5" * (sample.asked - used)
        object.__setattr__(made, "pack", lambda: bytes(raw))
        return made
    return case.alter_records(lambda one: isinstance(one,
                                                     rd.Sample) and one.asked > len(one.stack) and
                              one.attr.sample_type & rd.STACK_USER, change, 1.0,
                              "dump that is not full")


@kind("harmless.attr.larger", harmless=True)
def enlarge_attrs(case: Case) -> Changes:
    """Enlarges the attrs by zeros, like attrs of a later kernel."""
    def enlarge(index: int, attr: rd.Attr) -> rd.Attr:
        struct.pack_into("<I", attr.raw, 4, len(attr.raw) + 16)
        attr.raw += bytes(16)
        return attr
    return case.rewrite(lambda capture: capture.change_attrs(enlarge))


add("harmless.features.more", lambda case: case.rewrite(lambda capture: capture.copy_with(
    features={**capture.features, 60: bytes(64)})), harmless=True)
add("harmless.features.fewer", lambda case: case.rewrite(lambda capture: capture.copy_with(
    features={bit: raw for bit, raw in capture.features.items() if bit not in ABOUT})),
    harmless=True)


# Change files that only human readers use.
add("harmless.notes", lambda case: {
    "workload.txt": b"tampered\n", "ktap.txt": b"not ok 1 - tampered\n"}, harmless=True)
add("harmless.extra-file", lambda case: {"README": b"what a reader put beside it\n"},
    harmless=True)


@kind("harmless.maps.order", harmless=True)
def reverse_maps(case: Case) -> Changes:
    sections = [one for one in re.split(rb"(?m)^(?=# pid )", case.read("maps")) if one]
    require(len(sections) >= 2, "the maps of fewer than two processes were read")
    return {"maps": b"".join(sections[::-1])}
