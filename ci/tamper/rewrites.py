# SPDX-License-Identifier: GPL-2.0-only
"""Other ways to write the same files: none of them may be noticed."""

import json
import os
import re
import struct
from typing import Any, Callable

from ci.tamper.case import Capture, Case, clone
from ci.tamper.jit import joined, parts, perf_map
from ci.tamper.kinds import Absent, Changes, add, kind, rewriting
from ci.tamper.window import lines_of, packed
from harness.selftest.support import run_directory as rd

FINISHED_INIT, THREAD_MAP, CPU_MAP = 82, 73, 74
WAKEUP = 48


def harmless(name: str, make: Callable[[Case], Changes]) -> None:
    add("harmless." + name, make, harmless=True)


@kind("harmless.cpus.swapped", harmless=True)
def swapped_cpus(case: Case) -> Changes:
    """The CPUs under other numbers, in every record, and so the events of each."""
    def alter(capture: Capture) -> Capture:
        records: list[Any] = []
        for one in capture.records:
            if isinstance(one, rd.Sample) and one.attr.sample_type & rd.CPU:
                one = clone(one, cpu=one.cpu ^ 1)
            elif isinstance(one, rd.Side) and rd.CPU in one.tail():
                one = clone(one)
                at = one.tail()[rd.CPU]
                old = struct.unpack_from("<I", one.body, at)[0]
                struct.pack_into("<I", one.body, at, old ^ 1)
            records.append(one)
        return capture.altered(records)
    cpus = {one.cpu for one in case.capture("perf.data").samples()}
    if not cpus <= {0, 1} or len(cpus) < 2:
        raise Absent("there are not two CPUs")
    return case.rewrite(alter)


def lines_reversed(name: str) -> Callable[[Case], Changes]:
    def alter(case: Case) -> Changes:
        lines = lines_of(case, name)
        if len(lines) < 2:
            raise Absent("the case's %s has one line" % name)
        return {name: b"".join(reversed(lines))}
    return alter


harmless("capture.order", lines_reversed("capture"))
harmless("elf.index.order", lines_reversed("elf/index"))


def by_address(lines: list[bytes]) -> list[bytes]:
    """From the last address to the first; of one address the last line has the name."""
    groups: list[list[int]] = []
    reached = 0
    for start, size, at in sorted((int(parts(line)[0], 16), int(parts(line)[1], 16), at)
                                  for at, line in enumerate(lines)):
        if not groups or start >= reached:
            groups.append([])
        groups[-1].append(at)
        reached = max(reached, start + size)
    return [lines[at] for group in reversed(groups) for at in sorted(group)]


harmless("perf-map.order", perf_map(by_address))
harmless("perf-map.zeros", perf_map(lambda lines: [
    joined([b"0000" + parts(line)[0], b"0" + parts(line)[1], parts(line)[2]]) for line in lines]))


@kind("harmless.injected.again", harmless=True)
def injected_again(case: Case) -> Changes:
    if not os.path.exists(case.path("injected.data")):
        raise Absent("the case injects nothing")
    return {"injected.data": case.capture("injected.data").pack()}


@kind("harmless.attr.wakeup", harmless=True)
def other_wakeup(case: Case) -> Changes:
    """When the kernel wakes the reader is in no record."""
    def change(index: int, attr: rd.Attr) -> rd.Attr:
        old = struct.unpack_from("<I", attr.raw, WAKEUP)[0]
        struct.pack_into("<I", attr.raw, WAKEUP, old + 1)
        return attr
    return case.rewrite(lambda capture: capture.with_attrs(change))


def with_records(*new: tuple[int, bytes]) -> Callable[[Case], Changes]:
    """Records of perf's own before all others."""
    return lambda case: case.rewrite(lambda capture: capture.altered(
        [*(rd.Record(number, 0, body) for number, body in new), *capture.records]))


harmless("records.finished-init", with_records((FINISHED_INIT, b"")))
harmless("records.maps", with_records(
    (THREAD_MAP, struct.pack("<Q", 1) + struct.pack("<Q16s", 1, b"workload")),
    (CPU_MAP, struct.pack("<HHHH", 0, 2, 0, 1))))


@rewriting("harmless.rounds.doubled", harmless=True)
def doubled_rounds(case: Case, capture: Capture) -> Capture:
    """Two rounds end where one did, behind all records."""
    end = rd.Record(rd.FINISHED_ROUND, 0, b"")
    return capture.altered([one for one in capture.records if one.kind != rd.FINISHED_ROUND] +
                           [end, end, end])


@kind("harmless.truth.capacity", harmless=True)
def more_room(case: Case) -> Changes:
    header = bytearray(case.truth.header)
    capacity = struct.unpack_from("<Q", header, 16)[0]
    struct.pack_into("<Q", header, 16, capacity + 1000)
    return {"truth": bytes(header) + b"".join(case.truth.slots)}


@kind("harmless.truth.order", harmless=True)
def other_order(case: Case) -> Changes:
    """Neighbouring slots of two processes in the other order: who took one first says nothing."""
    slots = [bytearray(slot) for slot in case.truth.slots]
    get, at, swapped = case.truth.get, 0, False
    while at + 1 < len(slots):
        first, second = get(at), get(at + 1)
        # Parts of one item stay together.
        if first[2] != second[2] and not first[1] and not second[1] and \
                (at + 2 >= len(slots) or not get(at + 2)[1]) and first[5] < 2**63 > second[5]:
            slots[at], slots[at + 1] = slots[at + 1], slots[at]
            swapped = True
            at += 1
        at += 1
    if not swapped:
        raise Absent("no two processes' records are neighbours")
    return packed(case.truth, slots)


@kind("harmless.truth.torn-end", harmless=True)
def torn_end(case: Case) -> Changes:
    """A killed process was about to write: slots are taken, and hold nothing."""
    return packed(case.truth, [*case.truth.slots, bytearray(64), bytearray(64)])


@kind("harmless.env.order", harmless=True)
def other_keys(case: Case) -> Changes:
    """The same object, indented, its keys in another order, and one more."""
    env = json.loads(case.read("env.json"))
    env["noted"] = "by a reader"
    return {"env.json": json.dumps(env, indent=1, sort_keys=True).encode()}


@kind("harmless.case.comment", harmless=True)
def commented(case: Case) -> Changes:
    return {"case": b"# what a reader noted\n" + case.read("case")}


@kind("harmless.maps.heap", harmless=True)
def without_data(case: Case) -> Changes:
    """The snapshot without lines of what is not executable."""
    kept = [line for line in lines_of(case, "maps")
            if not re.match(rb"\S+ rw-p .*\[heap\]", line)]
    if len(kept) == len(lines_of(case, "maps")):
        raise Absent("the case's maps show no heap")
    return {"maps": b"".join(kept)}


@kind("harmless.seconds", harmless=True)
def seconds(case: Case) -> Changes:
    case.read("seconds")
    return {"seconds": b"1.5\n"}


@kind("harmless.kernel-map.gone", harmless=True)
def no_kernel_map(case: Case) -> Changes:
    """Nothing of ours lies in the kernel's text."""
    return case.each(lambda one: one.kind in (rd.MMAP, rd.MMAP2) and
                     struct.unpack_from("<I", one.body, 0)[0] == 2**32 - 1, lambda one: None, 1.0,
                     "mapping record of the kernel")


@kind("harmless.build-id.flag", harmless=True)
def foreign_flag(case: Case) -> Changes:
    """Another profiler's event leaves the bit of a build id in the records of all."""
    def change(one: rd.Map) -> rd.Map:
        return clone(one, misc=one.misc | rd.BUILD_ID)
    return case.each(lambda one: isinstance(one, rd.Map) and bool(one.time and one.ino) and
                     not one.misc & rd.BUILD_ID and not 0 < one.maj <= 20, change, 1.0,
                     "live mapping record of a file")
