# SPDX-License-Identifier: GPL-2.0-only
"""Harmless alterations that write the same content differently; judging must not notice them."""

import json
import os
import re
import struct
from typing import Callable

from ci.tamper.case import Case
from ci.tamper.evidence import add_to_header
from ci.tamper.jit import join_words, split_line, alter_perf_maps
from ci.tamper.kinds import Changes, add, kind, require
from ci.tamper.window import pack_truth, read_lines, remove_lines
from harness.selftest.support import run_directory as rd

FINISHED_INIT, THREAD_MAP, CPU_MAP = 82, 73, 74


def add_harmless(name: str, make: Callable[[Case], Changes]) -> None:
    add("harmless." + name, make, harmless=True)


def reverse_lines(name: str) -> Callable[[Case], Changes]:
    def alter_case(case: Case) -> Changes:
        lines = read_lines(case, name)
        require(len(lines) >= 2, "the case's %s has one line" % name)
        return {name: b"".join(reversed(lines))}
    return alter_case


add_harmless("capture.order", reverse_lines("capture"))
add_harmless("elf.index.order", reverse_lines("elf/index"))


add_harmless("perf-map.zeros", alter_perf_maps(lambda lines: [
    join_words([b"0000" + split_line(line)[0], b"0" + split_line(line)[1],
                split_line(line)[2]]) for line in lines]))


@kind("harmless.injected.again", harmless=True)
def pack_injected(case: Case) -> Changes:
    require(os.path.exists(case.path("injected.data")), "the case injects nothing")
    return {"injected.data": case.capture("injected.data").pack()}


def prepend_records(*new: tuple[int, bytes]) -> Callable[[Case], Changes]:
    """Inserts synthetic records of perf before all others."""
    return lambda case: case.rewrite(lambda capture: capture.copy_with(
        [*(rd.Record(number, 0, body) for number, body in new), *capture.records]))


add_harmless("records.finished-init", prepend_records((FINISHED_INIT, b"")))
add_harmless("records.maps", prepend_records(
    (THREAD_MAP, struct.pack("<Q", 1) + struct.pack("<Q16s", 1, b"workload")),
    (CPU_MAP, struct.pack("<HHHH", 0, 2, 0, 1))))


add_harmless("truth.capacity", add_to_header(16, "Q", 1000))


@kind("harmless.truth.torn-end", harmless=True)
def append_empty_slots(case: Case) -> Changes:
    """Appends taken but empty slots, as a process leaves them that is killed before it writes."""
    return pack_truth(case.truth, [*case.truth.slots, bytearray(64), bytearray(64)])


@kind("harmless.env.order", harmless=True)
def reorder_keys(case: Case) -> Changes:
    """Indents the JSON object, reorders its keys and adds one."""
    env = json.loads(case.read("env.json"))
    env["noted"] = "by a reader"
    return {"env.json": json.dumps(env, indent=1, sort_keys=True).encode()}


@kind("harmless.case.comment", harmless=True)
def add_comment(case: Case) -> Changes:
    return {"case": b"# what a reader noted\n" + case.read("case")}


# The heap is not executable.
add_harmless("maps.heap", remove_lines(
    "maps", lambda case, line: re.match(rb"\S+ rw-p .*\[heap\]", line),
    "the case's maps show no heap"))


@kind("harmless.seconds", harmless=True)
def change_seconds(case: Case) -> Changes:
    case.read("seconds")
    return {"seconds": b"1.5\n"}
