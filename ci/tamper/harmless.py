# SPDX-License-Identifier: GPL-2.0-only
"""Harmless alterations: they change a file but not its meaning, so judging must not notice them."""

import json
import os
import re
import struct
from typing import Any

from ci.tamper.case import Capture, Case, Target, clone
from ci.tamper.evidence import add_to_header
from ci.tamper.jit import alter_perf_maps, join_words, split_line
from ci.tamper.kinds import Changes, Make, add, kind, register_rewrite, require
from ci.tamper.layout import FINISHED, is_timed
from ci.tamper.window import pack_truth, read_lines, remove_lines
from harness.selftest.support import run_directory as rd

# Features about the machine and its user: hostname, kernel, perf's version, CPU, memory, command
# line.
MACHINE = (3, 4, 5, 8, 9, 10, 11, 13, 14, 22)
FINISHED_INIT, THREAD_MAP, CPU_MAP = 82, 73, 74


add("harmless.again", lambda case: {"perf.data": case.capture("perf.data").pack()})


add("harmless.rounds.one", lambda case: case.rewrite(lambda capture: capture.copy_with(
    [record for record in capture.records if record.kind != rd.FINISHED_ROUND] + [FINISHED])))
add("harmless.rounds.none", lambda case: case.rewrite(lambda capture: capture.copy_with(
    record for record in capture.records if record.kind != rd.FINISHED_ROUND)))


@register_rewrite("harmless.rounds.many")
def add_rounds(case: Case, capture: Capture) -> Capture:
    """Sorts all records by time, and ends a round after every tenth."""
    head = [record for record in capture.records
            if not is_timed(record) and record.kind != rd.FINISHED_ROUND]
    body = sorted((record for record in capture.records if is_timed(record)),
                  key=lambda record: record.time)
    records = head
    for offset in range(0, len(body), 10):
        records += body[offset:offset + 10] + [FINISHED]
    return capture.copy_with(records)


@register_rewrite("harmless.types.user")
def insert_user_types(case: Case, capture: Capture) -> Capture:
    """Inserts records of a type that a later perf may write."""
    records: list[Any] = []
    for number, record in enumerate(capture.records):
        records.append(record)
        if number % 50 == 0:
            records.append(rd.Record(250, 0, b"whatever"))
    return capture.copy_with(records)


@register_rewrite("harmless.types.kernel")
def insert_kernel_types(case: Case, capture: Capture) -> Capture:
    """Inserts records of a type that a later kernel may write."""
    new = [capture.side(60, b"whatever", record.time)
           for record in capture.samples()[::50]]
    return capture.insert_records(*new)


def pad_name(_: Case, record: Any) -> Any:
    """Adds more zeros to the end of a name than necessary."""
    made = clone(record)
    at = made.tail()[0]
    made.body[at:at] = bytes(8)
    return made


def fill_dump_end(_: Case, sample: rd.Sample) -> rd.Sample:
    """Changes the end of the dump, which the kernel did not fill."""
    made = clone(sample)
    raw = bytearray(sample.pack())
    used = len(sample.stack)
    offset = len(raw) - 8 - sample.asked + used
    raw[offset:len(raw) - 8] = b"\xa5" * (sample.asked - used)
    object.__setattr__(made, "pack", lambda: bytes(raw))
    return made


add("harmless.padding", Target(lambda _, record: record.kind in (rd.MMAP2, rd.COMM),
                               "record with a name").alter(pad_name, 1.0))
add("harmless.dump.garbage", Target(
    lambda _, record: isinstance(record, rd.Sample) and record.asked > len(record.stack) and
    record.attr.sample_type & rd.STACK_USER, "dump that is not full").alter(fill_dump_end, 1.0))


@kind("harmless.attr.larger")
def enlarge_attrs(case: Case) -> Changes:
    """Enlarges the attrs by zeros, like attrs of a later kernel."""
    def enlarge(index: int, attr: rd.Attr) -> rd.Attr:
        struct.pack_into("<I", attr.raw, 4, len(attr.raw) + 16)
        attr.raw += bytes(16)
        return attr
    return case.rewrite(lambda capture: capture.change_attrs(enlarge))


add("harmless.features.more", lambda case: case.rewrite(lambda capture: capture.copy_with(
    features={**capture.features, 60: bytes(64)})))
add("harmless.features.fewer", lambda case: case.rewrite(lambda capture: capture.copy_with(
    features={bit: raw for bit, raw in capture.features.items() if bit not in MACHINE})))


# Change files that only human readers use.
add("harmless.notes", lambda case: {
    "workload.txt": b"tampered\n", "ktap.txt": b"not ok 1 - tampered\n"})
add("harmless.extra-file", lambda case: {"README": b"what a reader put beside it\n"})


@kind("harmless.maps.order")
def reverse_maps(case: Case) -> Changes:
    sections = [section for section in re.split(rb"(?m)^(?=# pid )", case.read("maps")) if section]
    require(len(sections) >= 2, "the maps of fewer than two processes were read")
    return {"maps": b"".join(sections[::-1])}


def reverse_lines(name: str) -> Make:
    def alter_case(case: Case) -> Changes:
        lines = read_lines(case, name)
        require(len(lines) >= 2, "the case's %s has only one line" % name)
        return {name: b"".join(reversed(lines))}
    return alter_case


add("harmless.capture.order", reverse_lines("capture"))
add("harmless.elf.index.order", reverse_lines("elf/index"))


add("harmless.perf-map.zeros", alter_perf_maps(lambda lines: [
    join_words([b"0000" + split_line(line)[0], b"0" + split_line(line)[1],
                split_line(line)[2]]) for line in lines]))


@kind("harmless.injected.again")
def pack_injected(case: Case) -> Changes:
    require(os.path.exists(case.path("injected.data")), "the case injects nothing")
    return {"injected.data": case.capture("injected.data").pack()}


def prepend_records(*new: tuple[int, bytes]) -> Make:
    """Inserts synthetic records of perf before all others."""
    return lambda case: case.rewrite(lambda capture: capture.copy_with(
        [*(rd.Record(number, 0, body) for number, body in new), *capture.records]))


add("harmless.records.finished-init", prepend_records((FINISHED_INIT, b"")))
add("harmless.records.maps", prepend_records(
    (THREAD_MAP, struct.pack("<Q", 1) + struct.pack("<Q16s", 1, b"workload")),
    (CPU_MAP, struct.pack("<HHHH", 0, 2, 0, 1))))


add("harmless.truth.capacity", add_to_header(16, "Q", 1000))


@kind("harmless.truth.torn-end")
def append_empty_slots(case: Case) -> Changes:
    """Appends taken but empty slots, as a process leaves them that is killed before it writes."""
    return pack_truth(case.truth, [*case.truth.slots, bytearray(64), bytearray(64)])


@kind("harmless.env.order")
def reorder_keys(case: Case) -> Changes:
    """Indents the JSON object, reorders its keys and adds one."""
    env = json.loads(case.read("env.json"))
    env["noted"] = "by a reader"
    return {"env.json": json.dumps(env, indent=1, sort_keys=True).encode()}


@kind("harmless.case.comment")
def add_comment(case: Case) -> Changes:
    return {"case": b"# what a reader noted\n" + case.read("case")}


# The heap is not executable, so its lines do not matter to judging.
add("harmless.maps.heap", remove_lines(
    "maps", lambda case, line: re.match(rb"\S+ rw-p .*\[heap\]", line),
    "the case's maps show no heap"))


@kind("harmless.seconds")
def change_seconds(case: Case) -> Changes:
    case.read("seconds")
    return {"seconds": b"1.5\n"}
