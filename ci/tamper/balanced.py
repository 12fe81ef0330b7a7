# SPDX-License-Identifier: GPL-2.0-only
"""Two faults at once, of which each hides the other's figure."""

import struct
from typing import Any, Callable

from ci.tamper.activations import MS, sorted_by_time
from ci.tamper.case import Capture, Case, capture_file, clone
from ci.tamper.events import PERIOD, sampling
from ci.tamper.kinds import Absent, Changes, add, kind
from ci.tamper.samples import CODE, main_thread
from ci.tamper.tasks import head
from harness.selftest.support import run_directory as rd


def told(case: Case, changes: Changes, **values: int) -> Changes:
    """And the file `capture` says the new figures."""
    facts = dict(case.facts)
    for key, by in values.items():
        if key in facts:
            facts[key] = str(max(0, int(facts[key]) + by))
    return {**changes, **capture_file(facts)}


def in_window(case: Case) -> list[rd.Sample]:
    found = [one for one in case.capture("perf.data").samples()
             if one.pid in case.watched and case.in_window(one.time)]
    if len(found) < 50:
        raise Absent("fewer than 50 samples are in the window")
    return found


def without(case: Case, gone: Callable[[Any], bool]) -> Changes:
    return case.rewrite(lambda capture: capture.altered(
        one for one in capture.records if not gone(one)))


def deleted(case: Case, gone: Callable[[rd.Sample], bool], counted: int = 0) -> Changes:
    """Samples are gone, and the capture counts what is left."""
    count = sum(map(gone, case.capture("perf.data").samples()))
    return told(case, without(case, lambda one: isinstance(one, rd.Sample) and gone(one)),
                samples=-count, counted=counted)


@kind("balanced.deleted.counted")
def deleted_and_counted(case: Case) -> Changes:
    """Every fifth sample is gone, and the capture counts what is left."""
    times = {one.time for one in in_window(case)[4::5]}
    return deleted(case, lambda one: one.time in times, -int(case.facts.get("counted", 0)) // 5)


@kind("balanced.deleted.period")
def deleted_and_slower(case: Case) -> Changes:
    """Each other sample is gone, and the event's period is twice as long: the CPU time is right."""
    times = sorted({one.time for one in in_window(case)})[::2]
    gone_times = set(times)
    gone = sum(one.time in gone_times for one in case.capture("perf.data").samples())

    def alter(capture: Capture) -> Capture:
        wanted = sampling(capture)
        old = capture.attrs[wanted]
        new = rd.Attr(bytes(old.raw), old.ids)
        frequency = bool(old.flags & 1 << 10)
        value = struct.unpack_from("<Q", new.raw, PERIOD)[0]
        struct.pack_into("<Q", new.raw, PERIOD, value // 2 if frequency else value * 2)
        period = 10**9 // (value // 2) if frequency else value * 2
        records: list[Any] = []
        for one in capture.records:
            if isinstance(one, rd.Sample) and one.attr is old:
                if one.time in gone_times:
                    continue
                one = clone(one, attr=new)
                one.one[rd.PERIOD] = period
            elif isinstance(one, rd.Side) and one.attr is old:
                one = clone(one, attr=new)
            records.append(one)
        return capture.altered(records, [new if attr is old else attr for attr in capture.attrs])
    if "breakpoints" in case.facts and int(case.facts["breakpoints"]):
        raise Absent("the case samples by breakpoints")
    return told(case, case.rewrite(alter), samples=-gone)


@kind("balanced.deleted.lost")
def deleted_and_lost(case: Case) -> Changes:
    """A fifth of the samples is gone, and the kernel says that it lost as many."""
    times = {one.time for one in in_window(case)[4::5]}
    gone = sum(one.time in times for one in case.capture("perf.data").samples())
    time = in_window(case)[-1].time

    def alter(capture: Capture) -> Capture:
        kept = capture.altered(one for one in capture.records
                               if not (isinstance(one, rd.Sample) and one.time in times))
        attr = capture.attrs[sampling(capture)]
        body = struct.pack("<QQ", attr.ids[0] if attr.ids else 0, gone)
        return kept.inserted(rd.PerfData([attr]).side(rd.LOST, body, time, 0))
    return told(case, case.rewrite(alter), samples=-gone, lost_samples=gone)


def shrunk(case: Case, early: bool) -> Changes:
    """Half of the window has no samples, and the capture says that it was off then."""
    begin, end = case.window
    half = begin + (end - begin) // 2
    times = {one.time for one in in_window(case) if (one.time < half) == early}
    if not times:
        raise Absent("that half of the window has no samples")
    gone = sum(one.time in times for one in case.capture("perf.data").samples())
    changes = without(case, lambda one: isinstance(one, rd.Sample) and one.time in times)
    facts = dict(case.facts)
    if "samples" in facts:
        facts["samples"] = str(int(facts["samples"]) - gone)
    for key in ("enabled", "sampling", "first_enabled") if early else ("stopped",):
        if key in facts:
            facts[key] = str(half)
    return {**changes, **capture_file(facts)}


add("balanced.window.later", lambda case: shrunk(case, True))
add("balanced.window.shorter", lambda case: shrunk(case, False))


def owner(record: Any) -> tuple[int, int]:
    """pid and tid of whom a record tells."""
    if isinstance(record, rd.Sample):
        return record.pid, record.tid
    if isinstance(record, rd.Side) and record.kind in (rd.MMAP2, rd.COMM):
        pid, tid = head(record, 2)
        return pid, tid
    if isinstance(record, rd.Side) and record.kind in (rd.FORK, rd.EXIT):
        pid, _, tid, _ = head(record, 4)
        return pid, tid
    return 0, 0


@kind("balanced.process.vanished")
def no_process(case: Case) -> Changes:
    """One of several processes leaves no record at all."""
    pids = sorted({one.pid for one in in_window(case) if case.in_code(one)})
    if len(pids) < 2:
        raise Absent("one process alone has samples in emitted code")
    count = sum(one.pid == pids[-1] for one in case.capture("perf.data").samples())
    return told(case, without(case, lambda one: owner(one)[0] == pids[-1]), samples=-count)


@kind("balanced.thread.vanished")
def no_thread(case: Case) -> Changes:
    """One of several threads leaves no record at all."""
    tids = sorted({one.tid for one in in_window(case) if one.tid != one.pid and case.in_code(one)})
    if not tids:
        raise Absent("no second thread has samples in emitted code")
    count = sum(one.tid == tids[-1] for one in case.capture("perf.data").samples())
    return told(case, without(case, lambda one: owner(one)[1] == tids[-1] and
                              one.kind != rd.MMAP2), samples=-count)


@kind("balanced.threads.swapped")
def swapped_threads(case: Case) -> Changes:
    """Two threads of a process have each other's number, in samples alone."""
    found = sorted({(one.pid, one.tid) for one in in_window(case) if case.in_code(one)})
    for first, second in zip(found, found[1:]):
        if first[0] == second[0]:
            other = {first[1]: second[1], second[1]: first[1]}
            return case.rewrite(lambda capture: capture.altered(
                clone(one, tid=other[one.tid]) if isinstance(one, rd.Sample) and
                one.tid in other else one for one in capture.records))
    raise Absent("no process has two threads with samples in emitted code")


@kind("balanced.processes.swapped")
def swapped_processes(case: Case) -> Changes:
    """Two processes have each other's number, in samples alone."""
    found = sorted({one.pid for one in in_window(case) if case.in_code(one)})
    if len(found) < 2:
        raise Absent("one process alone has samples in emitted code")
    other = {found[0]: found[1], found[1]: found[0]}
    return case.rewrite(lambda capture: capture.altered(
        clone(one, pid=other[one.pid], tid=other[one.pid]) if isinstance(one, rd.Sample) and
        one.pid in other and one.tid == one.pid else one for one in capture.records))


@kind("balanced.chain.dump")
def both_methods(case: Case) -> Changes:
    """Callchain and dump show the same wrong caller."""
    def change(sample: rd.Sample) -> rd.Sample:
        begin = sample.user()
        if begin is None or not sample.stack or len(sample.chain) < begin + 2:
            return sample
        old = sample.chain[begin + 1]
        at = bytes(sample.stack).find(struct.pack("<Q", old))
        if at < 0 or not case.is_code(old):
            return sample
        new = old + 1
        chain = [*sample.chain]
        chain[begin + 1] = new
        stack = bytearray(sample.stack)
        struct.pack_into("<Q", stack, at, new)
        return clone(sample, chain=chain, stack=stack)
    return case.each(lambda one: isinstance(one, rd.Sample) and case.in_code(one), change, 0.3,
                     CODE)


@kind("balanced.moved.map")
def moved_with_map(case: Case) -> Changes:
    """Emitted code lies 1 MiB higher: in its mappings, its samples and their callchains."""
    by = 1 << 20

    def moved(address: int) -> int:
        return address + by if case.is_code(address) else address

    def change(one: Any) -> Any:
        if isinstance(one, rd.Map) and one.pid in case.watched and case.overlaps_code(one):
            return clone(one, start=one.start + by)
        if isinstance(one, rd.Sample) and one.pid in case.watched:
            made = clone(one, chain=[moved(address) for address in one.chain])
            made.ip = moved(one.ip)
            if rd.X86_IP in made.regs:
                made.regs[rd.X86_IP] = moved(made.regs[rd.X86_IP])
            return made
        return one
    return case.rewrite(lambda capture: capture.altered(map(change, capture.records)))


@kind("balanced.thread.earlier")
def whole_thread_earlier(case: Case) -> Changes:
    """One thread's samples and records, all 1 ms earlier."""
    tid = main_thread(case)

    def alter(capture: Capture) -> Capture:
        records: list[Any] = []
        for one in capture.records:
            if isinstance(one, (rd.Sample, rd.Side)) and one.time and owner(one)[1] == tid:
                one = clone(one, time=one.time - MS)
            records.append(one)
        return capture.altered(sorted_by_time(records))
    return case.rewrite(alter)


@kind("balanced.copied")
def copied(case: Case) -> Changes:
    """A tenth of the samples is gone; as many copies of others stand at their times."""
    samples = [one for one in in_window(case) if case.in_code(one)]
    by_thread: dict[int, list[rd.Sample]] = {}
    for one in samples:
        by_thread.setdefault(one.tid, []).append(one)
    new: dict[int, rd.Sample] = {}
    for thread in by_thread.values():
        for first, second in zip(thread[0::10], thread[9::10]):
            if first.chain != second.chain:
                new[id(second)] = clone(first, time=second.time)
    if not new:
        raise Absent("no thread has ten samples with different callchains")

    def alter(capture: Capture) -> Capture:
        times = {samples_of.time: copy for samples_of, copy in
                 ((one, new[id(one)]) for one in samples if id(one) in new)}
        return capture.altered(
            times[one.time] if isinstance(one, rd.Sample) and one.time in times and
            one.tid == times[one.time].tid else one for one in capture.records)
    return case.rewrite(alter)
