# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of mapping records: changes, deletions and inventions."""

from functools import partial
import os
import re
import struct
from typing import Any, Callable

from ci.tamper.case import Capture, Case, clone, set_body_field
from ci.tamper.kinds import Absent, Changes, add, require
from ci.tamper.samples import CODE, NOBODY
from harness.selftest.support import run_directory as rd

PAGE = 4096
LONG = 10_000_000  # ns; a longer bracket of the truth covers thousands of acts
# Alterations that shrink a record.
PARTS = ("length.-1", "start.+1")
# Alterations that remove a record (0), or move it by this many ns.
UNTOLD = {"deleted": 0, "prot.read": 0, "prot.none": 0, "time.+100ms": 100_000_000,
          "time.-100ms": 100_000_000}
# Alterations that remove or move a record's information, if a later record from before all events
# were on repeats that information.
GROWN = ("prot.none", "time.+1ms", "time.-1ms")
Change = Callable[[Case, rd.Map], Any]
Where = Callable[[Case, rd.Map], bool]


def is_injected(record: Any) -> bool:
    """Returns whether a record was made by an injector, not by the capture."""
    return isinstance(record, rd.Map) and \
        os.path.basename(record.name).startswith(("jit-", "jitted-")) and \
        not record.name.endswith(".dump")


def is_executable(case: Case, one: rd.Map) -> bool:
    return bool(one.prot & rd.EXECUTE) and one.pid in case.watched and not is_injected(one)


def is_code(case: Case, one: rd.Map) -> bool:
    return is_executable(case, one) and case.overlaps_code(one)


def is_file(case: Case, one: rd.Map) -> bool:
    return is_executable(case, one) and one.name.startswith("/") and one.ino != 0 and \
        not case.overlaps_code(one)


TARGETS: dict[str, tuple[Where, str]] = {
    "code": (is_code, "mapping record of emitted code"),
    "file": (is_file, "executable mapping record of another file"),
    "other": (lambda case, one: is_executable(case, one) and not is_code(case, one) and
              not is_file(case, one),
              "executable mapping record without a file, but of no emitted code"),
    "data": (lambda case, one: not one.prot & rd.EXECUTE and one.pid in case.watched,
             "mapping record of data"),
}


def set_name(one: rd.Map, name: str) -> rd.Map:
    return clone(one, name=name)


def shift_map_time(one: rd.Map, by: int) -> rd.Map:
    return clone(one, time=max(0, one.time + by))


def change_build_id(one: rd.Map) -> rd.Map:
    require(one.misc & rd.BUILD_ID, "mapping records hold no build id")
    made = clone(one)
    made.body[36:56] = b"\x5a" * 20
    return made


def add_to_identity(one: rd.Map, at: int, layout: str, by: int) -> rd.Map:
    """Adds @by to a field of the file's identity. Raises Absent if a build id replaces it."""
    if one.misc & rd.BUILD_ID:
        raise Absent("mapping records hold a build id instead")
    return set_body_field(one, at, layout, struct.unpack_from("<" + layout, one.body, at)[0] + by)


CHANGES: dict[str, Change] = {
    "length.+1": lambda case, one: clone(one, size=one.size + PAGE),
    "length.+16": lambda case, one: clone(one, size=one.size + 16 * PAGE),
    "length.-1": lambda case, one: clone(one, size=max(0, one.size - PAGE)),
    "length.0": lambda case, one: clone(one, size=0),
    "start.+1": lambda case, one: clone(one, start=one.start + PAGE, size=max(0, one.size - PAGE)),
    "start.-1": lambda case, one: clone(one, start=one.start - PAGE, size=one.size + PAGE),
    "moved.1": lambda case, one: clone(one, start=one.start + PAGE),
    "moved.far": lambda case, one: clone(one, start=one.start ^ 1 << 32),
    "deleted": lambda case, one: None,
    "doubled.renamed": lambda case, one: [one, set_name(one, "/usr/lib/other.so")],
    "pgoff.+1": lambda case, one: clone(one, pgoff=one.pgoff + PAGE),
    "prot.read": lambda case, one: clone(one, prot=rd.READ),
    "prot.write": lambda case, one: clone(one, prot=one.prot ^ rd.WRITE),
    "flags.sharing": lambda case, one: set_body_field(
        one, 60, "I", struct.unpack_from("<I", one.body, 60)[0] ^ 3),
    "ino": lambda case, one: add_to_identity(one, 40, "Q", 1),
    "maj": lambda case, one: add_to_identity(one, 32, "I", 1),
    "min": lambda case, one: add_to_identity(one, 36, "I", 1),
    "build-id": lambda case, one: change_build_id(one),
    "name": lambda case, one: set_name(one, "/usr/lib/other.so"),
    "name.anon": lambda case, one: set_name(one, "//anon"),
    "name.empty": lambda case, one: set_name(one, ""),
    "pid": lambda case, one: clone(one, pid=NOBODY, tid=NOBODY),
    "tid": lambda case, one: clone(one, tid=NOBODY),
    "mode.kernel": lambda case, one: clone(one, misc=one.misc & ~7 | rd.KERNEL),
    "time.+100ms": lambda case, one: shift_map_time(one, 100_000_000),
    "time.-100ms": lambda case, one: shift_map_time(one, -100_000_000),
    "time.0": lambda case, one: shift_map_time(one, -one.time),
}


def prove_within_act(case: Case, one: rd.Map, name: str) -> str | None:
    """Returns a proof that a record may be missing or moved: the workload recorded many acts as
    one, whose bracket contains the old and the new time. Returns None otherwise."""
    by = UNTOLD.get(name)
    if by is None:
        return None
    for _, _, pid, _, before, after, addr, size, *_ in case.acts(rd.Truth.MAP):
        if pid == one.pid and addr <= one.start < addr + size and \
                after - before > LONG and before + by < one.time < after - by:
            return "the record is of an act that the truth brackets with thousands of others"
    return None


def prove_read_again(case: Case, one: rd.Map, name: str) -> str | None:
    """Returns a proof that a reading of /proc repeats the removed information: for a record from
    before all events were on, or a mapping that was merged with a neighbour. Returns None
    otherwise."""
    early = 0 < one.time < int(case.facts["enabled"])
    if name not in PARTS and not (early and (name in UNTOLD or name in ("time.0", *GROWN))):
        return None
    start, end = one.start, one.start + one.size
    if name == "length.-1":
        start = end - PAGE
    elif name == "start.+1":
        end = start + PAGE

    def repeats_identity(two: rd.Map) -> bool:
        return two is not one and two.pid == one.pid and two.prot == one.prot and \
            two.start <= start and end <= two.start + two.size
    if not any(map(repeats_identity, case.snapshot_maps)) or name in GROWN and not any(
            one.time < two.time < int(case.facts["enabled"])
            for two in filter(repeats_identity, case.capture("perf.data").maps())):
        return None
    return "a reading of /proc tells the same"


def prove_written_twice(case: Case, where: Where, share: float, name: str) -> str | None:
    """Returns a proof that perf itself may write as many records twice, or None."""
    allowed = re.search(rb"allow twice <=(\d+)", case.read("case"))
    if name != "doubled" or not allowed:
        return None
    count = round(share * sum(where(case, one) for one in case.capture("perf.data").maps()))
    return "perf itself writes as many records twice" if max(1, count) <= int(allowed[1]) else None


def alter_maps(where: Where, what: str, change: Change, share: float, name: str) \
        -> Callable[[Case], Changes]:
    return lambda case: case.alter_records(
        lambda record: isinstance(record, rd.Map) and where(case, record),
        lambda one: change(case, one), share, what,
        proof=lambda one: prove_within_act(case, one, name) or prove_read_again(case, one, name) or
        prove_written_twice(case, where, share, name))


for target, (where, what) in TARGETS.items():
    for name, change in CHANGES.items():
        # The truth has no precise times of mappings that a program's start makes.
        if name.endswith("100ms") and target != "code":
            continue
        for share_name, share in (("some", 0.3), ("one", 0.0)):
            add("map.%s.%s.%s" % (target, name, share_name),
                alter_maps(where, what, change, share, name))


def find_busiest_process(case: Case) -> tuple[int, int]:
    """Returns the process with most samples in emitted code, and a time among them."""
    times: dict[int, list[int]] = {}
    for sample in case.code_samples:
        times.setdefault(sample.pid, []).append(sample.time)
    require(times, "the case holds no " + CODE)
    pid = max(sorted(times), key=lambda one: len(times[one]))
    return pid, sorted(times[pid])[len(times[pid]) // 3]


def find_model(case: Case, pid: int) -> rd.Map:
    """Returns any mapping record of a watched process, as a model for the layout."""
    for one in case.capture("perf.data").maps():
        if one.pid == pid or one.pid in case.watched:
            return one
    raise Absent("the case holds no mapping record of a watched process")


def make_map(case: Case, start: int, size: int, name: str, time: int, pid: int) -> rd.Map:
    made = clone(find_model(case, pid), pid=pid, tid=pid, start=start, size=size, pgoff=0,
                 prot=rd.READ | rd.EXECUTE)
    made.body[32:56] = bytes(24)
    made.misc &= ~rd.BUILD_ID
    return clone(made, name=name, time=time)


def insert_record(make: Callable[[Case, Capture, int, int], Any], *names: str) \
        -> Callable[[Case], Changes]:
    """Inserts the record that @make(case, capture, pid, time) returns for the busiest process."""
    def alter_case(case: Case) -> Changes:
        pid, time = find_busiest_process(case)
        return case.rewrite(lambda capture: capture.insert_records(make(case, capture, pid, time)),
                            *names)
    return alter_case


def invent_anonymous(case: Case, capture: Capture, pid: int, time: int) -> rd.Map:
    lowest = min(one.start for one in case.capture("perf.data").maps() if one.pid in case.watched)
    return make_map(case, max(lowest - (1 << 30), 1 << 16), 1 << 20, "//anon", time, pid)


def cover_code(case: Case, capture: Capture, pid: int, time: int) -> rd.Map:
    """Makes a record of a file over a page of emitted code, in the middle of its samples."""
    ip = next(one.ip for one in case.code_samples if one.pid == pid)
    return make_map(case, ip & -PAGE, PAGE, "/usr/lib/other.so", time, pid)


add("map.invented.anon", insert_record(invent_anonymous))
add("map.invented.over-code", insert_record(cover_code))
# In a process without samples in emitted code.
add("map.invented.other-process", insert_record(
    lambda case, capture, pid, time: make_map(case, 1 << 30, 1 << 20, "//anon", time, NOBODY)))


def delete_all(case: Case, target: str) -> Changes:
    where, what = TARGETS[target]
    return case.alter_records(lambda one: isinstance(one, rd.Map) and where(case, one),
                              lambda one: None, 1.0, what)


for target in TARGETS:
    add("map.%s.deleted.all" % target, partial(delete_all, target=target))
