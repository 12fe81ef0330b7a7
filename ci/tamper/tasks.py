# SPDX-License-Identifier: GPL-2.0-only
"""Records of processes and threads: COMM, FORK, EXIT, and processes that never were."""

from functools import partial
import struct
from typing import Any, Callable

from ci.tamper.case import Capture, Case, clone
from ci.tamper.kinds import Absent, Changes, add, kind
from ci.tamper.mappings import busiest, inserted, invented
from ci.tamper.samples import CODE, NOBODY
from harness.selftest.support import run_directory as rd

COMM_WHAT = "COMM record of a watched process"


def head(one: rd.Side, count: int) -> tuple[int, ...]:
    return struct.unpack_from("<%dI" % count, one.body, 0)


def field(one: rd.Side, index: int, value: int) -> rd.Side:
    made = clone(one)
    struct.pack_into("<I", made.body, 4 * index, value)
    return made


def text(one: rd.Side, name: bytes) -> rd.Side:
    made = clone(one)
    raw = name + b"\0"
    made.body[8:made.tail()[0]] = raw + bytes(-len(raw) % 8)
    return made


def is_comm(case: Case, record: Any) -> bool:
    return record.kind == rd.COMM and head(record, 1)[0] in case.watched


def gone_before(case: Case, record: Any, tid: int) -> str | None:
    """The proof that nobody can demand a record of the thread: by the truth it ended, or its
    process exec'ed, before samples were taken, and whoever read /proc may have come later."""
    truth, pid = case.truth, head(record, 1)[0]
    ends = [truth.get(index) for index in truth.of(truth.THREAD_EXIT)]
    execs = [truth.get(index) for index in truth.of(truth.PROCESS_START)]
    sampling = case.window[0]
    if any(one.tid == tid for one in case.capture("perf.data").samples()):
        return None
    if any(one[3] == tid and one[4] < sampling for one in ends) or \
            any(one[2] == pid and tid != pid and sampling > one[5] > record.time for one in execs):
        return "the thread ended before samples were taken, and has none"
    return None


def told_again(case: Case, record: Any) -> str | None:
    """The proof that another record tells the same: what is there when a capture attaches is told
    live, and again from /proc."""
    pid, tid = head(record, 2) if record.kind == rd.COMM else (head(record, 1)[0],
                                                               head(record, 3)[2])
    for one in case.capture("perf.data").records:
        if one is record or one.kind not in (rd.FORK, rd.COMM) or \
                one.kind not in (rd.FORK, record.kind) or (one.time == 0) == (record.time == 0):
            continue
        if tid in (head(one, 3)[2] if one.kind == rd.FORK else head(one, 2)[1],) and \
                head(one, 1)[0] == pid:
            return "another record of the thread tells the same, live or from /proc"
    return None


def comms(change: Callable[[rd.Side], Any], share: float, deletes: bool = False) \
        -> Callable[[Case], Changes]:
    return lambda case: case.each(
        lambda record: is_comm(case, record), change, share, COMM_WHAT,
        proof=(lambda record: gone_before(case, record, head(record, 2)[1]) or (
            told_again(case, record) if not share else None)) if deletes else None)


for share_name, share in (("all", 1.0), ("one", 0.0)):
    add("comm.text." + share_name, comms(lambda one: text(one, b"tampered"), share))
    add("comm.text.empty." + share_name, comms(lambda one: text(one, b""), share))
    add("comm.exec." + share_name, comms(
        lambda one: clone(one, misc=one.misc ^ rd.COMM_EXEC), share))
    add("comm.deleted." + share_name, comms(lambda one: None, share, True))
    add("comm.pid." + share_name, comms(lambda one: field(field(one, 0, NOBODY), 1, NOBODY), share))
    add("comm.tid." + share_name, comms(lambda one: field(one, 1, NOBODY), share))


add("comm.invented", inserted(
    lambda case, capture, pid, time: capture.comm(pid, pid, "invented", time)))
add("comm.invented.exec", inserted(
    lambda case, capture, pid, time: capture.comm(pid, pid, "invented", time, True)))


def task(kind_of: int, processes: bool) -> Callable[[Case, Any], bool]:
    """FORK or EXIT of processes, or of threads, of the workload."""
    def where(case: Case, record: Any) -> bool:
        if record.kind != kind_of or head(record, 1)[0] not in case.watched:
            return False
        pid, _, tid, _ = head(record, 4)
        of_process = pid != head(record, 2)[1] if kind_of == rd.FORK else pid == tid
        return of_process == processes
    return where


def put_time(one: rd.Side, by: int) -> rd.Side:
    made = clone(one)
    made.time = max(0, one.time + by)
    struct.pack_into("<Q", made.body, 16, made.time)
    return made


def of_task(where: Callable[[Case, Any], bool], change: Callable[[rd.Side], Any], share: float,
            what: str, deletes: bool) -> Callable[[Case], Changes]:
    return lambda case: case.each(
        lambda one: where(case, one), change, share, what,
        proof=(lambda one: gone_before(case, one, head(one, 3)[2]) or (
            told_again(case, one) if not share and one.kind == rd.FORK else None))
        if deletes else None)


TASKS: dict[str, Callable[[rd.Side], Any]] = {
    "removed": lambda one: None,
    "doubled": lambda one: [one, one],
    "pid": lambda one: field(one, 0, NOBODY),
    "ppid": lambda one: field(one, 1, NOBODY),
    "tid": lambda one: field(one, 2, NOBODY),
    "ptid": lambda one: field(one, 3, NOBODY),
    "time.+100ms": lambda one: put_time(one, 100_000_000),
    "time.-100ms": lambda one: put_time(one, -100_000_000),
}

for record_name, number in (("fork", rd.FORK), ("exit", rd.EXIT)):
    for whom, processes in (("process", True), ("thread", False)):
        for name, change in TASKS.items():
            for share_name, share in (("all", 1.0), ("one", 0.0)):
                add("%s.%s.%s.%s" % (record_name, whom, name, share_name), of_task(
                    task(number, processes), change, share,
                    "%s record of a %s" % (record_name.upper(), whom), name == "removed"))


def thread_exit(case: Case, capture: Capture, pid: int, time: int) -> rd.Side:
    tid = next(one.tid for one in case.code_samples if one.pid == pid and one.time > time)
    return clone(capture.fork(pid, pid, time, tid, pid), kind=rd.EXIT)


add("exit.invented.process", inserted(
    lambda case, capture, pid, time: clone(capture.fork(pid, pid, time), kind=rd.EXIT)))
add("exit.invented.thread", inserted(thread_exit))
add("fork.invented.process", inserted(
    lambda case, capture, pid, time: capture.fork(NOBODY, pid, time)))
# A process that lives is born again, of another.
add("fork.invented.known", inserted(
    lambda case, capture, pid, time: capture.fork(pid, NOBODY, time)))


def samples_of(case: Case, count: int, pid: int, tid: int) -> list[rd.Sample]:
    """Copies of samples in emitted code, of somebody else."""
    if not case.code_samples:
        raise Absent("the case holds no " + CODE)
    return [clone(one, pid=pid, tid=tid) for one in case.code_samples[:count]]


def invent_process(case: Case, forked: bool) -> Changes:
    """FORK, if it is somebody's child, COMM, MMAP2 and 300 samples of a process that never was."""
    pid = busiest(case)[0]
    samples = samples_of(case, 300, NOBODY, NOBODY)
    time = samples[0].time
    return case.rewrite(lambda capture: capture.inserted(
        *([capture.fork(NOBODY, pid, time - 3000)] if forked else []),
        capture.comm(NOBODY, NOBODY, "invented", time - 2000),
        invented(case, samples[0].ip & -4096, 4096, "//anon", time - 1000, NOBODY), *samples))


add("process.invented", partial(invent_process, forked=True))
add("process.invented.strange", partial(invent_process, forked=False))


@kind("thread.invented")
def invent_thread(case: Case) -> Changes:
    """A thread that never was, with its FORK and 100 samples."""
    pid = busiest(case)[0]
    samples = samples_of(case, 100, pid, NOBODY)
    return case.rewrite(lambda capture: capture.inserted(
        capture.fork(pid, pid, samples[0].time - 3000, NOBODY, pid), *samples))


add("thread.invented.idle", inserted(
    lambda case, capture, pid, time: capture.fork(pid, pid, time, NOBODY, pid)))
