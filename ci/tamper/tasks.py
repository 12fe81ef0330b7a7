# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of COMM, FORK and EXIT records, and invented processes and threads."""

from functools import partial
import struct
from typing import Any, Callable

from ci.tamper.case import Capture, Case, clone, set_body_field
from ci.tamper.kinds import Changes, add, kind, require
from ci.tamper.mappings import find_busiest_process, insert_record, make_map
from ci.tamper.samples import CODE, NOBODY
from harness.selftest.support import run_directory as rd

COMM_WHAT = "COMM record of a watched process"


def read_head(one: rd.Side, count: int) -> tuple[int, ...]:
    return struct.unpack_from("<%dI" % count, one.body, 0)


def get_owner(record: Any) -> tuple[int, int]:
    """Returns the pid and tid of the thread that a record describes, or (0, 0)."""
    if isinstance(record, rd.Sample):
        return record.pid, record.tid
    if isinstance(record, rd.Side) and record.kind in (rd.MMAP2, rd.COMM, rd.FORK, rd.EXIT):
        numbers = read_head(record, 3)
        return numbers[0], numbers[2 if record.kind in (rd.FORK, rd.EXIT) else 1]
    return 0, 0


def set_field(one: rd.Side, index: int, value: int) -> rd.Side:
    return set_body_field(one, 4 * index, "I", value)


def set_comm(one: rd.Side, name: bytes) -> rd.Side:
    made = clone(one)
    raw = name + b"\0"
    made.body[8:made.tail()[0]] = raw + bytes(-len(raw) % 8)
    return made


def is_comm(case: Case, record: Any) -> bool:
    return record.kind == rd.COMM and read_head(record, 1)[0] in case.watched


def prove_exit_before(case: Case, record: Any, tid: int) -> str | None:
    """Returns a proof that a record of the thread is not required: according to the truth it ended,
    or its process exec'ed, before sampling, and /proc may have been read later. Returns None
    otherwise."""
    pid = read_head(record, 1)[0]
    ends, execs = case.acts(rd.Truth.THREAD_EXIT), case.acts(rd.Truth.PROCESS_START)
    sampling = case.window[0]
    if any(one.tid == tid for one in case.capture("perf.data").samples()):
        return None
    if any(one[3] == tid and one[4] < sampling for one in ends) or \
            any(one[2] == pid and tid != pid and sampling > one[5] > record.time for one in execs):
        return "the thread ended before samples were taken, and has none"
    return None


def prove_recorded_again(case: Case, record: Any) -> str | None:
    """Returns a proof that another record repeats the information, or None: when a capture
    attaches, live records and readings of /proc may describe the same thread."""
    if any(one is not record and one.kind in (rd.FORK, record.kind) and
           (one.time == 0) != (record.time == 0) and get_owner(one) == get_owner(record)
           for one in case.capture("perf.data").records):
        return "another record of the thread has the same content, live or from /proc"
    return None


def alter_comms(change: Callable[[rd.Side], Any], share: float, deletes: bool = False) \
        -> Callable[[Case], Changes]:
    return lambda case: case.alter_records(
        lambda record: is_comm(case, record), change, share, COMM_WHAT,
        proof=(lambda record: prove_exit_before(case, record, read_head(record, 2)[1]) or (
            prove_recorded_again(case, record) if not share else None)) if deletes else None)


for share_name, share in (("all", 1.0), ("one", 0.0)):
    add("comm.text." + share_name, alter_comms(lambda one: set_comm(one, b"tampered"), share))
    add("comm.text.empty." + share_name, alter_comms(lambda one: set_comm(one, b""), share))
    add("comm.exec." + share_name, alter_comms(
        lambda one: clone(one, misc=one.misc ^ rd.COMM_EXEC), share))
    add("comm.deleted." + share_name, alter_comms(lambda one: None, share, True))
    add("comm.pid." + share_name, alter_comms(
        lambda one: set_field(set_field(one, 0, NOBODY), 1, NOBODY), share))
    add("comm.tid." + share_name, alter_comms(lambda one: set_field(one, 1, NOBODY), share))


add("comm.invented", insert_record(
    lambda case, capture, pid, time: capture.comm(pid, pid, "invented", time)))
add("comm.invented.exec", insert_record(
    lambda case, capture, pid, time: capture.comm(pid, pid, "invented", time, True)))


def match_tasks(kind_of: int, processes: bool) -> Callable[[Case, Any], bool]:
    """Returns a function that matches FORK or EXIT records of processes, or of threads."""
    def is_wanted(case: Case, record: Any) -> bool:
        if record.kind != kind_of or read_head(record, 1)[0] not in case.watched:
            return False
        pid, _, tid, _ = read_head(record, 4)
        of_process = pid != read_head(record, 2)[1] if kind_of == rd.FORK else pid == tid
        return of_process == processes
    return is_wanted


def shift_time(one: rd.Side, by: int) -> rd.Side:
    made = clone(one)
    made.time = max(0, one.time + by)
    struct.pack_into("<Q", made.body, 16, made.time)
    return made


def alter_tasks(where: Callable[[Case, Any], bool], change: Callable[[rd.Side], Any], share: float,
                what: str, deletes: bool) -> Callable[[Case], Changes]:
    return lambda case: case.alter_records(
        lambda one: where(case, one), change, share, what,
        proof=(lambda one: prove_exit_before(case, one, read_head(one, 3)[2]) or (
            prove_recorded_again(case, one) if not share and one.kind == rd.FORK else None))
        if deletes else None)


TASKS: dict[str, Callable[[rd.Side], Any]] = {
    "removed": lambda one: None,
    "doubled": lambda one: [one, one],
    "pid": lambda one: set_field(one, 0, NOBODY),
    "ppid": lambda one: set_field(one, 1, NOBODY),
    "tid": lambda one: set_field(one, 2, NOBODY),
    "ptid": lambda one: set_field(one, 3, NOBODY),
    "time.+10s": lambda one: shift_time(one, 10_000_000_000),
    "time.-10s": lambda one: shift_time(one, -10_000_000_000),
}

for record_name, number in (("fork", rd.FORK), ("exit", rd.EXIT)):
    for whom, processes in (("process", True), ("thread", False)):
        for name, change in TASKS.items():
            for share_name, share in (("all", 1.0), ("one", 0.0)):
                add("%s.%s.%s.%s" % (record_name, whom, name, share_name), alter_tasks(
                    match_tasks(number, processes), change, share,
                    "%s record of a %s" % (record_name.upper(), whom), name == "removed"))


def make_thread_exit(case: Case, capture: Capture, pid: int, time: int) -> rd.Side:
    tid = next(one.tid for one in case.code_samples if one.pid == pid and one.time > time)
    return clone(capture.fork(pid, pid, time, tid, pid), kind=rd.EXIT)


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
    require(case.code_samples, "the case holds no " + CODE)
    return [clone(one, pid=pid, tid=tid) for one in case.code_samples[:count]]


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
