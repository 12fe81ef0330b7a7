# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of COMM, FORK and EXIT records; invented processes and threads; records that no event
requests."""

from functools import partial
import struct
from typing import Any, Callable

from ci.tamper.case import (ALL_ONE, CODE, Capture, Case, Change, Target, clone, set_body_field)
from ci.tamper.kinds import Absent, Changes, add, kind, require
from ci.tamper.mappings import (TAILS, change_number_in_body, change_tail, find_busiest_process,
                                insert_record, make_map, require_live)
from ci.tamper.samples import NOBODY
from harness.selftest.support import run_directory as rd

def read_head(record: rd.Side, count: int) -> tuple[int, ...]:
    return struct.unpack_from("<%dI" % count, record.body, 0)


def get_owner(record: Any) -> tuple[int, int]:
    """Returns the pid and tid of the thread that a record describes, or (0, 0)."""
    if isinstance(record, rd.Sample):
        return record.pid, record.tid
    if isinstance(record, rd.Side) and record.kind in (rd.MMAP2, rd.COMM, rd.FORK, rd.EXIT):
        numbers = read_head(record, 3)
        return numbers[0], numbers[2 if record.kind in (rd.FORK, rd.EXIT) else 1]
    return 0, 0


def set_field(record: rd.Side, index: int, value: int) -> rd.Side:
    return set_body_field(record, 4 * index, "I", value)


def prove_exit_before(case: Case, record: Any, tid: int) -> str | None:
    """Returns a proof that a record of the thread is not required: according to the truth it ended,
    or its process exec'ed, before sampling, and /proc may have been read later. Returns None
    otherwise."""
    pid = read_head(record, 1)[0]
    ends, execs = case.acts(rd.Truth.THREAD_EXIT), case.acts(rd.Truth.PROCESS_START)
    sampling = case.window[0]
    if any(act.tid == tid for act in case.capture("perf.data").samples()):
        return None
    if any(end[3] == tid and end[4] < sampling for end in ends) or \
            any(act[2] == pid and tid != pid and sampling > act[5] > record.time for act in execs):
        return "the thread ended before samples were taken, and has none"
    return None


def prove_recorded_again(case: Case, record: Any) -> str | None:
    """Returns a proof that another record repeats the information, or None: when a capture
    attaches, live records and readings of /proc may describe the same thread."""
    if any(other is not record and other.kind in (rd.FORK, record.kind) and
           (other.time == 0) != (record.time == 0) and get_owner(other) == get_owner(record)
           for other in case.capture("perf.data").records):
        return "another record of the thread has the same content"
    return None


def prove_deleted(case: Case, record: rd.Side) -> str | None:
    tid = read_head(record, 3)[2 if record.kind in (rd.FORK, rd.EXIT) else 1]
    return prove_exit_before(case, record, tid)


def prove_one_deleted(case: Case, record: rd.Side) -> str | None:
    return prove_deleted(case, record) or (
        None if record.kind == rd.EXIT else prove_recorded_again(case, record))


COMM = Target(lambda case, record: record.kind == rd.COMM and read_head(record, 1)[0]
              in case.watched_pids,
              "COMM record of a watched process")


def match_tasks(kind_of: int, processes: bool) -> Callable[[Case, Any], bool]:
    """Returns a function that matches FORK or EXIT records of processes, or of threads."""
    def is_wanted(case: Case, record: Any) -> bool:
        if record.kind != kind_of or read_head(record, 1)[0] not in case.watched_pids:
            return False
        pid, _, tid, _ = read_head(record, 4)
        of_process = pid != read_head(record, 2)[1] if kind_of == rd.FORK else pid == tid
        return of_process == processes
    return is_wanted


TASKS = {"%s.%s" % (record_name, whom): Target(
    match_tasks(number, whom == "process"), "%s record of a %s" % (record_name.upper(), whom))
         for record_name, number in (("fork", rd.FORK), ("exit", rd.EXIT))
         for whom in ("process", "thread")}


def shift_time(by: int) -> Change:
    def change(_: Case, record: rd.Side) -> rd.Side:
        time = max(0, record.time + by)
        return clone(set_body_field(record, 16, "Q", time), time=time)
    return change


def set_known_task(index: int) -> Change:
    """Stores the number of another thread or process of the workload in a FORK or EXIT."""
    def change(case: Case, record: rd.Side) -> rd.Side:
        tids = {sample.tid for sample in case.capture("perf.data").samples()} | case.watched_pids
        pids = sorted(case.watched_pids if index < 2 else tids)
        other_numbers = [number for number in pids if number not in read_head(record, 4)]
        require(other_numbers, "the case has no other task")
        return set_field(record, index, other_numbers[0])
    return change


def set_task(index: int) -> Change:
    return lambda _, record: set_field(record, index, NOBODY)


def set_comm(name: Callable[[bytes], bytes]) -> Change:
    """Changes a COMM's text. @name: returns the new one for the old one."""
    def change(_: Case, record: rd.Side) -> rd.Side:
        changed, end = clone(record), record.tail()[0]
        raw = name(bytes(record.body[8:end]).split(b"\0")[0]) + b"\0"
        changed.body[8:end] = raw + bytes(-len(raw) % 8)
        return changed
    return change


COMM.add(ALL_ONE, {
    "comm.text": set_comm(lambda old: b"tampered"),
    "comm.text.empty": set_comm(lambda old: b""),
    "comm.exec": lambda _, record: clone(record, misc=record.misc ^ rd.COMM_EXEC),
    "comm.pid": lambda _, record: set_field(set_field(record, 0, NOBODY), 1, NOBODY),
    "comm.tid": set_task(1),
})
COMM.add([""], {
    "comm.doubled": lambda _, record: [require_live(record), record],
    "comm.text.longer": set_comm(lambda old: old + b"x"),
    "comm.tail.tid": change_tail(4),
})
for prefix, target in (("comm.deleted", COMM), *((name + ".removed", target)
                                                 for name, target in TASKS.items())):
    target.add([".all"], {prefix: lambda *_: None}, prove_deleted)
    target.add([".one"], {prefix: lambda *_: None}, prove_one_deleted)
for name, target in TASKS.items():
    target.add(ALL_ONE, {"%s.%s" % (name, end): change for end, change in (
        ("doubled", lambda _, record: [record, record]),
        ("pid", set_task(0)), ("ppid", set_task(1)), ("tid", set_task(2)), ("ptid", set_task(3)),
        ("time.+10s", shift_time(10_000_000_000)), ("time.-10s", shift_time(-10_000_000_000)))})
    Target(target.where, "FORK or EXIT record of a " + name.partition(".")[2]).add([""], {
        "%s.%s" % (name, end): change for end, change in (
            ("pid.known", set_known_task(0)), ("ppid.known", set_known_task(1)),
            ("tid.known", set_known_task(2)), ("ptid.known", set_known_task(3)),
            ("body-time", lambda _, record: change_number_in_body(
                require_live(record), 16, "Q", 1_000_000_000)), *TAILS.items())})


def make_thread_exit(case: Case, capture: Capture, pid: int, time: int) -> rd.Side:
    tid = next(record.tid for record in case.code_samples if record.pid == pid
               and record.time > time)
    return clone(capture.fork(pid, pid, time, tid, pid), kind=rd.EXIT)


add("comm.invented", insert_record(
    lambda case, capture, pid, time: capture.comm(pid, pid, "invented", time)))
add("comm.invented.exec", insert_record(
    lambda case, capture, pid, time: capture.comm(pid, pid, "invented", time, True)))
add("exit.invented.process", insert_record(
    lambda case, capture, pid, time: clone(capture.fork(pid, pid, time), kind=rd.EXIT)))
add("exit.invented.thread", insert_record(make_thread_exit))
add("fork.invented.process", insert_record(
    lambda case, capture, pid, time: capture.fork(NOBODY, pid, time)))
# A second FORK of a running process, from another parent.
add("fork.invented.known", insert_record(
    lambda case, capture, pid, time: capture.fork(pid, NOBODY, time)))


def copy_samples(case: Case, count: int, pid: int, tid: int) -> list[rd.Sample]:
    """Returns copies of samples in emitted code, with another pid and tid."""
    require(case.code_samples, "the case holds no " + CODE.what)
    return [clone(code_sample, pid=pid, tid=tid) for code_sample in case.code_samples[:count]]


def invent_process(case: Case, forked: bool) -> Changes:
    """Inserts COMM, MMAP2, 300 samples and, if @forked, a FORK of an invented process."""
    pid = find_busiest_process(case)[0]
    samples = copy_samples(case, 300, NOBODY, NOBODY)
    time = samples[0].time
    return case.rewrite(lambda capture: capture.insert_records(
        *([capture.fork(NOBODY, pid, time - 3000)] if forked else []),
        capture.comm(NOBODY, NOBODY, "invented", time - 2000),
        make_map(case, samples[0].ip & -4096, 4096, "//anon", time - 1000, NOBODY), *samples))


add("process.invented", partial(invent_process, forked=True))
add("process.invented.strange", partial(invent_process, forked=False))


@kind("thread.invented")
def invent_thread(case: Case) -> Changes:
    """Inserts a FORK and 100 samples of an invented thread."""
    pid = find_busiest_process(case)[0]
    samples = copy_samples(case, 100, pid, NOBODY)
    return case.rewrite(lambda capture: capture.insert_records(
        capture.fork(pid, pid, samples[0].time - 3000, NOBODY, pid), *samples))


add("thread.invented.idle", insert_record(
    lambda case, capture, pid, time: capture.fork(pid, pid, time, NOBODY, pid)))


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
