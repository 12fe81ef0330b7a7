# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of mapping records: changes, deletions and inventions."""

from functools import partial
import os
import re
import struct
from typing import Any, Callable, Iterable, Mapping

from ci.tamper.case import (CODE, SHARES, SOME_ONE, Capture, Case, Change, Target, clone,
                            set_body_field, set_to)
from ci.tamper.kinds import Absent, Changes, add, require
from ci.tamper.samples import NOBODY
from harness.selftest.support import run_directory as rd

PAGE, MS = 4096, 1_000_000
LONG_BRACKET = 10_000_000  # ns; a longer bracket of the truth covers thousands of acts
# Alterations that shrink a record.
PARTS = ("length.-1", "start.+1")
# Alterations that remove a record (0), or move it by a number of ns.
REMOVING = {"deleted": 0, "prot.read": 0, "prot.none": 0, "time.+100ms": 100_000_000,
          "time.-100ms": 100_000_000}
# Alterations that remove or move a record's information, if a later record from before all events
# were on repeats that information.
GROWN = ("prot.none", "time.+1ms", "time.-1ms")


def is_injected(record: Any) -> bool:
    """Returns whether a record was made by an injector, not by the capture."""
    return isinstance(record, rd.Map) and \
        os.path.basename(record.name).startswith(("jit-", "jitted-")) and \
        not record.name.endswith(".dump")


def is_executable(case: Case, record: Any) -> bool:
    return isinstance(record, rd.Map) and bool(record.prot & rd.EXECUTE) and \
        record.pid in case.watched_pids and not is_injected(record)


def is_code(case: Case, record: Any) -> bool:
    return is_executable(case, record) and case.overlaps_code(record)


def is_file(case: Case, record: Any) -> bool:
    return is_executable(case, record) and record.name.startswith("/") and record.ino != 0 and \
        not case.overlaps_code(record)


TARGETS = {
    "code": Target(is_code, "mapping record of emitted code"),
    "file": Target(is_file, "executable mapping record of another file"),
    "other": Target(lambda case, record: is_executable(case, record)
                    and not is_code(case, record) and
                    not is_file(case, record),
                    "executable mapping record without a file, but of no emitted code"),
    "data": Target(lambda case, record: isinstance(record, rd.Map)
                   and not record.prot & rd.EXECUTE and
                   record.pid in case.watched_pids, "mapping record of data"),
}


def shift_map_time(record: rd.Map, by: int) -> rd.Map:
    return clone(record, time=max(0, record.time + by))


def change_build_id(record: rd.Map) -> rd.Map:
    require(record.misc & rd.BUILD_ID, "mapping records hold no build id")
    made = clone(record)
    made.body[36:56] = b"\x5a" * 20
    return made


def add_to_identity(record: rd.Map, at: int, layout: str, by: int) -> rd.Map:
    """Adds @by to a field of the file's identity. Raises Absent if a build id replaces it."""
    if record.misc & rd.BUILD_ID:
        raise Absent("mapping records hold a build id instead")
    return change_number_in_body(record, at, layout, by)


CHANGES: dict[str, Change] = {
    "length.+1": lambda case, record: clone(record, size=record.size + PAGE),
    "length.+16": lambda case, record: clone(record, size=record.size + 16 * PAGE),
    "length.-1": lambda case, record: clone(record, size=max(0, record.size - PAGE)),
    "length.0": set_to(size=0),
    "start.+1": lambda case, record: clone(record, start=record.start + PAGE,
                                           size=max(0, record.size - PAGE)),
    "start.-1": lambda case, record: clone(record, start=record.start - PAGE, size=record.size
                                           + PAGE),
    "moved.1": lambda case, record: clone(record, start=record.start + PAGE),
    "moved.far": lambda case, record: clone(record, start=record.start ^ 1 << 32),
    "deleted": lambda case, record: None,
    "doubled.renamed": lambda case, record: [record, clone(record, name="/usr/lib/other.so")],
    "pgoff.+1": lambda case, record: clone(record, pgoff=record.pgoff + PAGE),
    "prot.read": set_to(prot=rd.READ),
    "prot.write": lambda case, record: clone(record, prot=record.prot ^ rd.WRITE),
    "flags.sharing": lambda case, record: set_body_field(
        record, 60, "I", struct.unpack_from("<I", record.body, 60)[0] ^ 3),
    "ino": lambda case, record: add_to_identity(record, 40, "Q", 1),
    "maj": lambda case, record: add_to_identity(record, 32, "I", 1),
    "min": lambda case, record: add_to_identity(record, 36, "I", 1),
    "build-id": lambda case, record: change_build_id(record),
    "name": set_to(name="/usr/lib/other.so"),
    "name.anon": set_to(name="//anon"),
    "name.empty": set_to(name=""),
    "pid": set_to(pid=NOBODY, tid=NOBODY),
    "tid": set_to(tid=NOBODY),
    "mode.kernel": lambda case, record: clone(record, misc=record.misc & ~7 | rd.KERNEL),
    "time.+100ms": lambda case, record: shift_map_time(record, 100_000_000),
    "time.-100ms": lambda case, record: shift_map_time(record, -100_000_000),
    "time.0": lambda case, record: shift_map_time(record, -record.time),
}


def move_to_other_process(case: Case, record: rd.Map) -> rd.Map:
    other_pids = require(sorted(case.watched_pids - {record.pid}), "the case watches only one "
                                                                   "process")
    pid = other_pids[record.start // PAGE % len(other_pids)]
    return clone(record, pid=pid, tid=pid)


def swap_device(_: Case, record: rd.Map) -> rd.Map:
    if record.misc & rd.BUILD_ID:
        raise Absent("mapping records hold a build id instead")
    return set_body_field(set_body_field(record, 32, "I", record.min), 36, "I", record.maj)


def split_map(_: Case, record: rd.Map) -> Any:
    half = record.size // 2 // PAGE * PAGE
    if not half:
        return record
    return [clone(record, size=half),
            clone(record, start=record.start + half, size=record.size - half,
                  pgoff=record.pgoff + half if record.ino else record.pgoff)]


def require_live(record: Any) -> Any:
    """Returns a record of the kernel. Raises Absent if it was read from /proc."""
    require(record.time, "the record was made from /proc")
    return record


def change_tail(at: int) -> Change:
    """Changes the pid (@at 0) or tid (@at 4) in the sample_id of a live record: the acting
    thread."""
    def change(_: Case, record: Any) -> Any:
        require(rd.TID in require_live(record).tail(), "records hold no pid and tid in sample_id")
        return change_number_in_body(record, record.tail()[rd.TID] + at, "I", 1)
    return change


def change_number_in_body(record: Any, at: int, layout: str, by: int) -> Any:
    return set_body_field(record, at, layout, struct.unpack_from("<" + layout, record.body, at)[0]
                          + by)


def change_last_letter(_: Case, record: rd.Map) -> rd.Map:
    if not record.name.strip():
        return record
    return clone(record, name=record.name[:-1] + chr(ord(record.name[-1]) ^ 1))


TAILS: dict[str, Change] = {"tail.pid": change_tail(0), "tail.tid": change_tail(4)}
# Changes that leave a possible record.
POSSIBLE: dict[str, Change] = {
    "pid.watched": move_to_other_process,
    "device.swapped": swap_device,
    "split": split_map,
    "doubled": lambda _, record: [require_live(record), record],
    "prot.execute": set_to(prot=rd.EXECUTE),
    "prot.none": set_to(prot=0),
    "pgoff.zero": set_to(pgoff=0),
    "time.+1ms": lambda _, record: shift_map_time(require_live(record), MS),
    "time.-1ms": lambda _, record: shift_map_time(require_live(record), -MS),
    **TAILS,
    "name.case": change_last_letter,
}


def prove_within_act(case: Case, record: rd.Map, name: str) -> str | None:
    """Returns a proof that a record may be missing or moved: the workload recorded many acts as
    one, whose bracket contains the old and the new time. Returns None otherwise."""
    acts = REMOVING.get(name)
    if acts is None:
        return None
    for _, _, pid, _, before, after, addr, size, *_ in case.acts(rd.Truth.MAP):
        if pid == record.pid and addr <= record.start < addr + size and \
                after - before > LONG_BRACKET and before + acts < record.time < after - acts:
            return "the record is of an act that the truth brackets with thousands of others"
    return None


def prove_read_again(case: Case, record: rd.Map, name: str) -> str | None:
    """Returns a proof that a reading of /proc repeats the removed information: for a record from
    before all events were on, or a mapping that was merged with a neighbour. Returns None
    otherwise."""
    early = 0 < record.time < int(case.facts["enabled"])
    if name not in PARTS and not (early and (name in REMOVING or name in ("time.0", *GROWN))):
        return None
    start, end = record.start, record.start + record.size
    if name == "length.-1":
        start = end - PAGE
    elif name == "start.+1":
        end = start + PAGE

    def repeats_identity(two: rd.Map) -> bool:
        return two is not record and two.pid == record.pid and two.prot == record.prot and \
            two.start <= start and end <= two.start + two.size
    if not any(map(repeats_identity, case.snapshot_maps)) or name in GROWN and not any(
            record.time < two.time < int(case.facts["enabled"])
            for two in filter(repeats_identity, case.capture("perf.data").maps())):
        return None
    return "the mappings read from /proc are the same"


def prove_written_twice(case: Case, target: Target, share: float, name: str) -> str | None:
    """Returns a proof that perf itself may write as many records twice, or None."""
    allowed = re.search(rb"allow twice <=(\d+)", case.read("case"))
    if name != "doubled" or not allowed:
        return None
    count = round(share * sum(bool(target.where(case, record))
                              for record in case.capture("perf.data").maps()))
    return "perf itself writes as many records twice" if max(1, count) <= int(allowed[1]) else None


def add_maps(targets: Iterable[str], changes: Mapping[str, Change]) -> None:
    for target in targets:
        for name, change in changes.items():
            # The truth has no precise times of mappings that a program's start makes.
            if name.startswith(("time.+", "time.-")) and target != "code":
                continue
            for share in SOME_ONE:
                add("map.%s.%s%s" % (target, name, share), TARGETS[target].alter(
                    change, SHARES[share], partial(prove, name, TARGETS[target], SHARES[share])))


def prove(name: str, target: Target, share: float, case: Case, record: rd.Map) -> str | None:
    return prove_within_act(case, record, name) or prove_read_again(case, record, name) or \
        prove_written_twice(case, target, share, name)


add_maps(TARGETS, CHANGES)
add_maps(("code", "file", "other"), POSSIBLE)


def find_busiest_process(case: Case) -> tuple[int, int]:
    """Returns the process with most samples in emitted code, and a time among them."""
    times: dict[int, list[int]] = {}
    for sample in case.code_samples:
        times.setdefault(sample.pid, []).append(sample.time)
    require(times, "the case holds no " + CODE.what)
    pid = max(sorted(times), key=lambda record: len(times[record]))
    return pid, sorted(times[pid])[len(times[pid]) // 3]


def find_model(case: Case, pid: int) -> rd.Map:
    """Returns any mapping record of a watched process, as a model for the layout."""
    for record in case.capture("perf.data").maps():
        if record.pid == pid or record.pid in case.watched_pids:
            return record
    raise Absent("the case holds no mapping record of a watched process")


def make_map(case: Case, start: int, size: int, name: str, time: int, pid: int) -> rd.Map:
    map = clone(find_model(case, pid), pid=pid, tid=pid, start=start, size=size, pgoff=0,
                 prot=rd.READ | rd.EXECUTE)
    map.body[32:56] = bytes(24)
    map.misc &= ~rd.BUILD_ID
    return clone(map, name=name, time=time)


def insert_record(make: Callable[[Case, Capture, int, int], Any], *names: str) \
        -> Callable[[Case], Changes]:
    """Inserts the record that @make(case, capture, pid, time) returns for the busiest process."""
    def alter_case(case: Case) -> Changes:
        pid, time = find_busiest_process(case)
        return case.rewrite(lambda capture: capture.insert_records(make(case, capture, pid, time)),
                            *names)
    return alter_case


def invent_anonymous(case: Case, capture: Capture, pid: int, time: int) -> rd.Map:
    lowest = min(record.start for record in case.capture("perf.data").maps()
                 if record.pid in case.watched_pids)
    return make_map(case, max(lowest - (1 << 30), 1 << 16), 1 << 20, "//anon", time, pid)


def cover_code(case: Case, capture: Capture, pid: int, time: int) -> rd.Map:
    """Makes a record of a file over a page of emitted code, in the middle of its samples."""
    ip = next(code_sample.ip for code_sample in case.code_samples if code_sample.pid == pid)
    return make_map(case, ip & -PAGE, PAGE, "/usr/lib/other.so", time, pid)


add("map.invented.anon", insert_record(invent_anonymous))
add("map.invented.over-code", insert_record(cover_code))
# In a process without samples in emitted code.
add("map.invented.other-process", insert_record(
    lambda case, capture, pid, time: make_map(case, 1 << 30, 1 << 20, "//anon", time, NOBODY)))


for name, target in TARGETS.items():
    add("map.%s.deleted.all" % name, target.alter(lambda *_: None, 1.0))
