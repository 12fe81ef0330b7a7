# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of the capture's window, maps, intervals, kept ELF files and the truth."""

import functools
from functools import partial
import os
import re
from typing import Callable

from ci.base import files
from ci.tamper.case import Case, make_capture_file
from ci.tamper.kinds import Absent, Changes, add, kind, require
from harness.selftest.support import run_directory as rd

SECOND = 1_000_000_000
Facts = dict[str, str]


def change_facts(change: Callable[[Case, Facts], None]) -> Callable[[Case], Changes]:
    def alter_case(case: Case) -> Changes:
        facts = dict(case.facts)
        change(case, facts)
        if facts == case.facts:
            raise Absent("the file `capture` has these values already")
        return make_capture_file(facts)
    return alter_case


def set_facts(**values: object) -> Callable[[Case], Changes]:
    def change(case: Case, facts: Facts) -> None:
        for key, value in values.items():
            require(key in facts, "the file `capture` has no " + key)
            facts[key] = str(value)
    return change_facts(change)


def move_time(key: str, part: float) -> Callable[[Case], Changes]:
    """Moves a time into the window. @part: 0 is the window's begin, 1 its end. No file refutes an
    early `enabled` at which some threads' events were on, so it also precedes the first event."""
    def change(case: Case, facts: Facts) -> None:
        begin, end = case.window
        time = int(begin + (end - begin) * part)
        if key == "enabled":
            time = min(time, int(facts.get("first_enabled", end)) - 1)
        facts[key] = str(time)
    return change_facts(change)


def delay_enabling(case: Case, facts: Facts) -> None:
    begin, end = case.window
    facts["enabled"] = facts["sampling"] = str(int(begin + (end - begin) * 0.5))


add("capture.times.1-2-3", set_facts(enabled=1, sampling=2, stopped=3))
add("capture.times.0", set_facts(enabled=0, sampling=0, stopped=0))
add("capture.stopped.before-enabled", move_time("stopped", -0.1))
add("capture.stopped.early", move_time("stopped", 0.5))
add("capture.stopped.late", move_time("stopped", 3.0))
add("capture.enabled.late", change_facts(delay_enabling))
add("capture.enabled.early", move_time("enabled", -2.0))
add("capture.sampling.early", move_time("sampling", -2.0))
add("capture.slack.1s", set_facts(slack=SECOND))
add("capture.slack.99us", set_facts(slack=99_000))
add("capture.lost_sideband.1", set_facts(lost_sideband=1))
add("capture.lost_samples.1000", set_facts(lost_samples=1000))
add("capture.max_stack.2", set_facts(max_stack=2))
add("capture.max_stack.10000", set_facts(max_stack=10000))
add("capture.stack_dump.0", set_facts(stack_dump=0))
add("capture.stack_dump.64", set_facts(stack_dump=64))
add("capture.stack_dump.x2", change_facts(
    lambda case, facts: facts.update(stack_dump=str(2 * int(facts["stack_dump"])))))
add("capture.breakpoints.5", set_facts(breakpoints=5))
add("capture.duplicates.1000", set_facts(duplicates=1000))
add("capture.settled.no", change_facts(lambda case, facts: facts.update(settled="no")))
for policy in ("none", "paths", "all"):
    add("capture.policy." + policy, set_facts(policy=policy))
add("capture.gone", lambda case: {"capture": None})


@functools.cache
def find_folders(top: str, name: str) -> list[str]:
    """Returns the folders of cases that have a file of that name, sorted."""
    return sorted(os.path.relpath(folder, top) for folder, _, names in os.walk(top)
                  if name in names)


def take_other_file(name: str) -> Callable[[Case], Changes]:
    """Replaces a file by that of the next case."""
    def alter_case(case: Case) -> Changes:
        folders = find_folders(case.top, name)
        require(case.name in folders, "the case has no %s" % name)
        next_folder = folders[(folders.index(case.name) + 1) % len(folders)]
        path = os.path.join(case.top, next_folder, name)
        if name == "truth":
            truth = rd.Truth(path)
            return pack_truth(truth, truth.slots)
        return {name: files.read_bytes(path)}
    return alter_case


add("capture.of-another", take_other_file("capture"))
add("truth.of-another", take_other_file("truth"))
add("truth.gone", lambda case: {"truth": None})


def pack_truth(truth: rd.Truth, slots: list[bytearray]) -> Changes:
    header = bytearray(truth.header)
    header[32:40] = len(slots).to_bytes(8, "little")
    return {"truth": bytes(header) + b"".join(slots)}


@kind("truth.cut.half")
def cut_truth(case: Case) -> Changes:
    return pack_truth(case.truth, case.truth.slots[:len(case.truth.slots) // 2])


def remove_records_of_type(case: Case, kind_of: int, share: float) -> Changes:
    """Deletes a share of the records of a type."""
    truth = case.truth
    slots = require(truth.find(kind_of), "the truth holds no such record")
    removed = set(slots[::max(1, round(1 / share))])
    if kind_of == truth.PROCESS_START:
        case.require_image_until_sampling(removed)
    return pack_truth(truth,
                      [slot for index, slot in enumerate(truth.slots) if index not in removed])


# Judging needs these records in every case. The workloads' own tests check the other records.
for name, number in (("load", rd.Truth.CODE_LOAD), ("enter", rd.Truth.ENTER),
                     ("leave", rd.Truth.LEAVE), ("process", rd.Truth.PROCESS_START)):
    add("truth.deleted." + name, partial(remove_records_of_type, kind_of=number, share=0.3))


def read_lines(case: Case, name: str) -> list[bytes]:
    lines = require(case.read(name).splitlines(True), "the case's %s is empty" % name)
    return lines


add("maps.empty", lambda case: {"maps": b""} if read_lines(case, "maps") else {})
add("maps.gone", lambda case: {"maps": None})


def edit_lines(name: str, change: Callable[[bytes], bytes]) -> Callable[[Case], Changes]:
    def alter_case(case: Case) -> Changes:
        new = [change(line) for line in read_lines(case, name)]
        require(new != read_lines(case, name), "the case's %s has these lines already" % name)
        return {name: b"".join(new)}
    return alter_case


def remove_lines(name: str, gone: Callable[[Case, bytes], object], why: str) \
        -> Callable[[Case], Changes]:
    """Removes lines from a file. @why: the reason if it has no such line."""
    def alter_case(case: Case) -> Changes:
        lines = read_lines(case, name)
        lines_left = [line for line in lines if not gone(case, line)]
        require(lines_left != lines, why)
        return {name: b"".join(lines_left)}
    return alter_case


def is_code_line(case: Case, line: bytes) -> bool:
    """Returns whether a line of maps shows executable memory that ever contained emitted code."""
    match = re.match(rb"([0-9a-f]+)-([0-9a-f]+) \S*x", line)
    return match is not None and any(first < int(match[2], 16) and after > int(match[1], 16)
                                     for first, after in case.code)


add("maps.without.code", remove_lines("maps", is_code_line, "the case's maps show no emitted code"))
add("maps.without.libc", remove_lines(
    "maps", lambda case, line: b"/libc.so" in line and b"r-xp" in line,
    "the case's maps show no libc"))


@kind("intervals.one.gone")
def remove_one_interval(case: Case) -> Changes:
    lines = read_lines(case, "intervals")
    indexes = [index for index, line in enumerate(lines) if line.startswith(b"interval")]
    require(indexes, "the case's intervals contain none")
    del lines[indexes[len(indexes) // 2]]
    return {"intervals": b"".join(lines)}


add("intervals.name", edit_lines("intervals", lambda line: re.sub(
    rb"^(process .*) \S*\n", rb"\1 tampered\n", line)))


def find_elf_line(case: Case, name: bytes) -> bytes:
    for line in read_lines(case, "elf/index"):
        if name in line:
            return line
    raise Absent("the case holds no ELF file of it")


add("elf.index.empty", lambda case: {"elf/index": b""} if read_lines(case, "elf/index") else {})


def remove_elf_file(case: Case, name: bytes) -> Changes:
    return {"elf/" + find_elf_line(case, name).split()[0].decode(): None}


for file_name, pattern in (("libc", b"/libc.so"), ("program", b"/jitproof")):
    add("elf.gone." + file_name, partial(remove_elf_file, name=pattern))
