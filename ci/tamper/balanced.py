# SPDX-License-Identifier: GPL-2.0-only
"""Alterations that make two faults at once; each hides the other's effect on a figure."""

import struct
from typing import Any, Callable

from ci.tamper.activations import MS, sort_by_time
from ci.tamper.case import Capture, Case, make_capture_file, clone
from ci.tamper.events import PERIOD, find_sampling_attr
from ci.tamper.kinds import Absent, Changes, add, kind, require
from ci.tamper.samples import CODE, find_main_thread
from ci.tamper.tasks import read_head
from harness.selftest.support import run_directory as rd


def get_window_samples(case: Case) -> list[rd.Sample]:
    found = [one for one in case.capture("perf.data").samples()
             if one.pid in case.watched and case.is_in_window(one.time)]
    require(len(found) >= 50, "fewer than 50 samples are in the window")
    return found


def remove_records(case: Case, gone: Callable[[Any], bool]) -> Changes:
    return case.rewrite(lambda capture: capture.copy_with(
        one for one in capture.records if not gone(one)))


def delete_samples(case: Case, gone: Callable[[rd.Sample], bool], counted: int = 0) -> Changes:
    """Deletes samples, and adjusts the capture's count."""
    count = sum(map(gone, case.capture("perf.data").samples()))
    return case.adjust_facts(remove_records(case,
                                             lambda one: isinstance(one, rd.Sample) and gone(one)),
                        samples=-count, counted=counted)


@kind("balanced.deleted.counted")
def delete_and_count(case: Case) -> Changes:
    """Deletes every fifth sample, and adjusts the capture's counts."""
    times = {one.time for one in get_window_samples(case)[4::5]}
    return delete_samples(case, lambda one: one.time in times,
                          -int(case.facts.get("counted", 0)) // 5)


@kind("balanced.deleted.period")
def delete_and_double_period(case: Case) -> Changes:
    """Deletes every second sample and doubles the event's period, so that the CPU time is right."""
    times = sorted({one.time for one in get_window_samples(case)})[::2]
    gone_times = set(times)
    gone = sum(one.time in gone_times for one in case.capture("perf.data").samples())

    def alter_capture(capture: Capture) -> Capture:
        wanted = find_sampling_attr(capture)
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
        return capture.copy_with(records, [new if attr is old else attr for attr in capture.attrs])
    if "breakpoints" in case.facts and int(case.facts["breakpoints"]):
        raise Absent("the case samples by breakpoints")
    return case.adjust_facts(case.rewrite(alter_capture), samples=-gone)


@kind("balanced.deleted.lost")
def delete_and_report_lost(case: Case) -> Changes:
    """Deletes a fifth of the samples, and inserts a LOST record with their number."""
    times = {one.time for one in get_window_samples(case)[4::5]}
    gone = sum(one.time in times for one in case.capture("perf.data").samples())
    time = get_window_samples(case)[-1].time

    def alter_capture(capture: Capture) -> Capture:
        kept = capture.copy_with(one for one in capture.records
                                 if not (isinstance(one, rd.Sample) and one.time in times))
        attr = capture.attrs[find_sampling_attr(capture)]
        body = struct.pack("<QQ", attr.ids[0] if attr.ids else 0, gone)
        return kept.insert_records(rd.PerfData([attr]).side(rd.LOST, body, time, 0))
    return case.adjust_facts(case.rewrite(alter_capture), samples=-gone, lost_samples=gone)


def shrink_window(case: Case, early: bool) -> Changes:
    """Deletes the samples of half of the window, and moves the window's begin or end."""
    begin, end = case.window
    half = begin + (end - begin) // 2
    times = {one.time for one in get_window_samples(case) if (one.time < half) == early}
    require(times, "that half of the window has no samples")
    gone = sum(one.time in times for one in case.capture("perf.data").samples())
    changes = remove_records(case, lambda one: isinstance(one, rd.Sample) and one.time in times)
    facts = dict(case.facts)
    if "samples" in facts:
        facts["samples"] = str(int(facts["samples"]) - gone)
    for key in ("enabled", "sampling", "first_enabled") if early else ("stopped",):
        if key in facts:
            facts[key] = str(half)
    return {**changes, **make_capture_file(facts)}


add("balanced.window.later", lambda case: shrink_window(case, True))
add("balanced.window.shorter", lambda case: shrink_window(case, False))


def get_owner(record: Any) -> tuple[int, int]:
    """Returns the pid and tid of the thread that a record describes, or (0, 0)."""
    if isinstance(record, rd.Sample):
        return record.pid, record.tid
    if isinstance(record, rd.Side) and record.kind in (rd.MMAP2, rd.COMM):
        pid, tid = read_head(record, 2)
        return pid, tid
    if isinstance(record, rd.Side) and record.kind in (rd.FORK, rd.EXIT):
        pid, _, tid, _ = read_head(record, 4)
        return pid, tid
    return 0, 0


@kind("balanced.process.vanished")
def remove_process(case: Case) -> Changes:
    """Deletes all records of one of several processes."""
    pids = sorted({one.pid for one in get_window_samples(case) if case.is_in_code(one)})
    require(len(pids) >= 2, "one process alone has samples in emitted code")
    count = sum(one.pid == pids[-1] for one in case.capture("perf.data").samples())
    return case.adjust_facts(remove_records(case, lambda one: get_owner(one)[0] == pids[-1]),
                        samples=-count)


@kind("balanced.thread.vanished")
def remove_thread(case: Case) -> Changes:
    """Deletes all records of one of several threads."""
    tids = sorted({one.tid for one in get_window_samples(case)
                   if one.tid != one.pid and case.is_in_code(one)})
    require(tids, "no second thread has samples in emitted code")
    count = sum(one.tid == tids[-1] for one in case.capture("perf.data").samples())
    return case.adjust_facts(remove_records(case, lambda one: get_owner(one)[1] == tids[-1] and
                                             one.kind != rd.MMAP2), samples=-count)


@kind("balanced.threads.swapped")
def swap_threads(case: Case) -> Changes:
    """Swaps the tids of two threads of a process, only in samples."""
    found = sorted({(one.pid, one.tid) for one in get_window_samples(case) if case.is_in_code(one)})
    for first, second in zip(found, found[1:]):
        if first[0] == second[0]:
            other = {first[1]: second[1], second[1]: first[1]}
            return case.rewrite(lambda capture: capture.copy_with(
                clone(one, tid=other[one.tid]) if isinstance(one, rd.Sample) and
                one.tid in other else one for one in capture.records))
    raise Absent("no process has two threads with samples in emitted code")


@kind("balanced.processes.swapped")
def swap_processes(case: Case) -> Changes:
    """Swaps the pids of two processes, only in samples."""
    found = sorted({one.pid for one in get_window_samples(case) if case.is_in_code(one)})
    require(len(found) >= 2, "one process alone has samples in emitted code")
    other = {found[0]: found[1], found[1]: found[0]}
    return case.rewrite(lambda capture: capture.copy_with(
        clone(one, pid=other[one.pid], tid=other[one.pid]) if isinstance(one, rd.Sample) and
        one.pid in other and one.tid == one.pid else one for one in capture.records))


@kind("balanced.chain.dump")
def change_chain_and_dump(case: Case) -> Changes:
    """Makes callchain and dump show the same wrong caller."""
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
    return case.alter_records(case.is_in_code, change, 0.3, CODE)


@kind("balanced.moved.map")
def move_code_and_maps(case: Case) -> Changes:
    """Moves emitted code 1 MiB up, in its mappings, its samples and their callchains."""
    by = 1 << 20

    def move_address(address: int) -> int:
        return address + by if case.is_code(address) else address

    def change(one: Any) -> Any:
        if isinstance(one, rd.Map) and one.pid in case.watched and case.overlaps_code(one):
            return clone(one, start=one.start + by)
        if isinstance(one, rd.Sample) and one.pid in case.watched:
            made = clone(one, chain=[move_address(address) for address in one.chain])
            made.ip = move_address(one.ip)
            if rd.X86_IP in made.regs:
                made.regs[rd.X86_IP] = move_address(made.regs[rd.X86_IP])
            return made
        return one
    return case.rewrite(lambda capture: capture.copy_with(map(change, capture.records)))


@kind("balanced.thread.earlier")
def shift_thread(case: Case) -> Changes:
    """Moves all samples and records of a thread to 1 ms earlier."""
    tid = find_main_thread(case)

    def alter_capture(capture: Capture) -> Capture:
        records: list[Any] = []
        for one in capture.records:
            if isinstance(one, (rd.Sample, rd.Side)) and one.time and get_owner(one)[1] == tid:
                one = clone(one, time=one.time - MS)
            records.append(one)
        return capture.copy_with(sort_by_time(records))
    return case.rewrite(alter_capture)


@kind("balanced.copied")
def copy_samples(case: Case) -> Changes:
    """Replaces a tenth of the samples by copies of other samples of the thread."""
    samples = [one for one in get_window_samples(case) if case.is_in_code(one)]
    by_thread: dict[int, list[rd.Sample]] = {}
    for one in samples:
        by_thread.setdefault(one.tid, []).append(one)
    new: dict[int, rd.Sample] = {}
    for thread in by_thread.values():
        for first, second in zip(thread[0::10], thread[9::10]):
            if first.chain != second.chain:
                new[id(second)] = clone(first, time=second.time)
    require(new, "no thread has ten samples with different callchains")

    def alter_capture(capture: Capture) -> Capture:
        times = {samples_of.time: copy for samples_of, copy in
                 ((one, new[id(one)]) for one in samples if id(one) in new)}
        return capture.copy_with(
            times[one.time] if isinstance(one, rd.Sample) and one.time in times and
            one.tid == times[one.time].tid else one for one in capture.records)
    return case.rewrite(alter_capture)
