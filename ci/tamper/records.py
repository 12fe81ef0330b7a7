# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of records of mappings and tasks so that each record is still possible."""

from functools import partial
import struct
from typing import Any, Callable

from ci.tamper.case import Capture, Case, clone, set_body_field
from ci.tamper.kinds import Absent, Changes, add, require
from ci.tamper.mappings import PAGE, TARGETS, alter_maps, insert_record, shift_map_time
from ci.tamper.tasks import set_field, read_head, match_tasks, set_comm
from harness.selftest.support import run_directory as rd

MS = 1_000_000


def move_to_other_process(case: Case, one: rd.Map) -> rd.Map:
    others = require(sorted(case.watched - {one.pid}), "the case watches one process")
    pid = others[one.start // PAGE % len(others)]
    return clone(one, pid=pid, tid=pid)


def swap_device(case: Case, one: rd.Map) -> rd.Map:
    if one.misc & rd.BUILD_ID:
        raise Absent("mapping records hold a build id instead")
    return set_body_field(set_body_field(one, 32, "I", one.min), 36, "I", one.maj)


def split_map(case: Case, one: rd.Map) -> Any:
    half = one.size // 2 // PAGE * PAGE
    if not half:
        return one
    return [clone(one, size=half),
            clone(one, start=one.start + half, size=one.size - half,
                  pgoff=one.pgoff + half if one.ino else one.pgoff)]


def require_live(one: Any) -> Any:
    """Returns a record of the kernel. Raises Absent if it was read from /proc."""
    require(one.time, "the record is of a reading of /proc")
    return one


CHANGES: dict[str, Callable[[Case, rd.Map], Any]] = {
    "pid.watched": move_to_other_process,
    "device.swapped": swap_device,
    "split": split_map,
    "doubled": lambda case, one: [require_live(one), one],
    "prot.execute": lambda case, one: clone(one, prot=rd.EXECUTE),
    "prot.none": lambda case, one: clone(one, prot=0),
    "pgoff.zero": lambda case, one: clone(one, pgoff=0),
    "time.+1ms": lambda case, one: shift_map_time(require_live(one), MS),
    "time.-1ms": lambda case, one: shift_map_time(require_live(one), -MS),
    "tail.pid": lambda case, one: change_tail(require_live(one), 0),
    "tail.tid": lambda case, one: change_tail(require_live(one), 4),
    "name.case": lambda case, one: change_last_letter(one),
}


def change_tail(one: Any, at: int) -> Any:
    """Changes the pid (@at 0) or tid (@at 4) in the record's sample_id: the acting thread."""
    require(rd.TID in one.tail(), "records hold no pid and tid in their sample_id")
    place = one.tail()[rd.TID] + at
    return set_body_field(one, place, "I", struct.unpack_from("<I", one.body, place)[0] + 1)


def change_last_letter(one: rd.Map) -> rd.Map:
    if not one.name.strip():
        return one
    return clone(one, name=one.name[:-1] + chr(ord(one.name[-1]) ^ 1))


for target in ("code", "file", "other"):
    where, what = TARGETS[target]
    for name, change in CHANGES.items():
        # The truth has no such precise times of mappings that a program's start makes.
        if name.startswith("time") and target != "code":
            continue
        for share_name, share in (("some", 0.3), ("one", 0.0)):
            add("map.%s.%s.%s" % (target, name, share_name),
                alter_maps(where, what, change, share, name))


def set_known_task(case: Case, one: rd.Side, index: int) -> rd.Side:
    """Stores the number of another thread or process of the workload in a FORK or EXIT."""
    tids = {sample.tid for sample in case.capture("perf.data").samples()} | case.watched
    pids = sorted(case.watched if index < 2 else tids)
    others = [number for number in pids if number not in read_head(one, 4)]
    require(others, "the case has no other task")
    return set_field(one, index, others[0])


def change_body_time(one: rd.Side) -> rd.Side:
    return set_body_field(one, 16, "Q", struct.unpack_from("<Q", one.body, 16)[0] + 1000 * MS)


TASKS: dict[str, Callable[[Case, rd.Side], Any]] = {
    "pid.known": lambda case, one: set_known_task(case, one, 0),
    "ppid.known": lambda case, one: set_known_task(case, one, 1),
    "tid.known": lambda case, one: set_known_task(case, one, 2),
    "ptid.known": lambda case, one: set_known_task(case, one, 3),
    "body-time": lambda case, one: change_body_time(require_live(one)),
    "tail.pid": lambda case, one: change_tail(require_live(one), 0),
    "tail.tid": lambda case, one: change_tail(require_live(one), 4),
}


def alter_tasks(case: Case, number: int, whom: str,
                change: Callable[[Case, rd.Side], Any]) -> Changes:
    where = match_tasks(number, whom == "process")
    return case.alter_records(lambda one: where(case, one), lambda one: change(case, one), 0.3,
                              "FORK or EXIT record of a " + whom)


for record_name, number in (("fork", rd.FORK), ("exit", rd.EXIT)):
    for whom in ("process", "thread"):
        for name, task_change in TASKS.items():
            add("%s.%s.%s" % (record_name, whom, name), partial(
                alter_tasks, number=number, whom=whom, change=task_change))


def get_comm(one: rd.Side) -> bytes:
    return bytes(one.body[8:one.tail()[0]]).split(b"\0")[0]


def alter_comms(change: Callable[[Any], Any]) -> Callable[[Case], Changes]:
    return lambda case: case.alter_records(
        lambda one: one.kind == rd.COMM and read_head(one, 1)[0] in case.watched, change, 0.3,
        "COMM record of a watched process")


add("comm.doubled", alter_comms(lambda one: [require_live(one), one]))
add("comm.text.longer", alter_comms(lambda one: set_comm(one, get_comm(one) + b"x")))
add("comm.tail.tid", alter_comms(lambda one: change_tail(require_live(one), 4)))


# Types of records that our events do not request: (number, body).
UNASKED = {"switch": (14, b""), "switch-cpu-wide": (15, bytes(8)), "namespaces": (16, bytes(32)),
           "ksymbol": (17, struct.pack("<QIHH", 0xffffffffc0000000, 64, 1, 0) + b"invented"),
           "bpf": (18, bytes(16)), "cgroup": (19, bytes(8) + b"/invented" + bytes(7)),
           "text-poke": (20, bytes(16)), "read": (8, bytes(24)), "aux": (11, bytes(24))}


# Type of record: bit of an attr's flags that requests it. perf sets these bits.
ASKED = {17: 1 << 29, 18: 1 << 30}


def make_unasked(number: int, body: bytes, case: Case, capture: Capture, pid: int,
                 time: int) -> Any:
    if any(attr.flags & ASKED.get(number, 0) for attr in capture.attrs):
        raise Absent("an event asks for such records")
    return capture.side(number, body, time, 0, pid, pid)


for name, (number, body) in UNASKED.items():
    add("unasked." + name, insert_record(partial(make_unasked, number, body)))


add("lost.doubled", lambda case: case.alter_records(
    lambda one: one.kind in (rd.LOST, rd.LOST_SAMPLES), lambda one: [one, one], 1.0,
    "LOST record"))
