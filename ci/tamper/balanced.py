# SPDX-License-Identifier: GPL-2.0-only
"""Alterations that make two faults at once; each hides the other's effect on a figure."""

import struct
from typing import Any

from ci.tamper.case import Capture, Case, change_field, clone
from ci.tamper.events import PERIOD, find_sampling_attr
from ci.tamper.kinds import Absent, Changes, add, kind, require
from ci.tamper.samples import CODE, forget_records, forget_samples, get_window_samples
from ci.tamper.tasks import get_owner
from harness.selftest.support import run_directory as rd


def require_samples(case: Case) -> list[rd.Sample]:
    found = get_window_samples(case)
    require(len(found) >= 50, "fewer than 50 samples are in the window")
    return found


def find_threads(case: Case) -> list[tuple[int, int]]:
    """Returns pid and tid of the threads with samples in emitted code, sorted."""
    return sorted({(one.pid, one.tid) for one in require_samples(case) if case.is_in_code(one)})


@kind("balanced.deleted.counted")
def delete_and_count(case: Case) -> Changes:
    """Deletes every fifth sample, and adjusts the capture's counts."""
    return forget_samples(case, require_samples(case)[4::5],
                          counted=-(int(case.facts.get("counted", 0)) // 5))


@kind("balanced.deleted.period")
def delete_and_double_period(case: Case) -> Changes:
    """Deletes every second sample and doubles the event's period, so that the CPU time is right."""
    gone = set(sorted({one.time for one in require_samples(case)})[::2])

    def alter_capture(capture: Capture) -> Capture:
        wanted = find_sampling_attr(capture)
        old = capture.attrs[wanted]
        frequency = bool(old.flags & 1 << 10)
        value = struct.unpack_from("<Q", old.raw, PERIOD)[0]
        value = value // 2 if frequency else value * 2

        def change(one: Any) -> Any:
            if not isinstance(one, rd.Sample) or one.attr is not old:
                return one
            made = clone(one)
            made.one[rd.PERIOD] = 10**9 // value if frequency else value
            return None if one.time in gone else made
        return capture.map_records(change).replace_attr(
            wanted, change_field(PERIOD, "Q", lambda _: value))
    if int(case.facts.get("breakpoints", 0)):
        raise Absent("the case samples by breakpoints")
    return case.adjust_facts(case.rewrite(alter_capture), samples=-sum(
        one.time in gone for one in case.capture("perf.data").samples()))


@kind("balanced.deleted.lost")
def delete_and_report_lost(case: Case) -> Changes:
    """Deletes a fifth of the samples, and inserts a LOST record with their number."""
    samples = require_samples(case)
    times = {one.time for one in samples[4::5]}
    gone = sum(one.time in times for one in case.capture("perf.data").samples())

    def alter_capture(capture: Capture) -> Capture:
        attr = capture.attrs[find_sampling_attr(capture)]
        body = struct.pack("<QQ", attr.ids[0] if attr.ids else 0, gone)
        return capture.delete_records(
            lambda one: isinstance(one, rd.Sample) and one.time in times).insert_records(
                rd.PerfData([attr]).side(rd.LOST, body, samples[-1].time, 0))
    return case.adjust_facts(case.rewrite(alter_capture), samples=-gone, lost_samples=gone)


def shrink_window(case: Case, early: bool) -> Changes:
    """Deletes the samples of half of the window, and moves the window's begin or end."""
    begin, end = case.window
    half = begin + (end - begin) // 2
    gone = [one for one in require_samples(case) if (one.time < half) == early]
    require(gone, "that half of the window has no samples")
    return forget_samples(case, gone, **{
        key: half - int(case.facts.get(key, 0))
        for key in (("enabled", "sampling", "first_enabled") if early else ("stopped",))})


add("balanced.window.later", lambda case: shrink_window(case, True))
add("balanced.window.shorter", lambda case: shrink_window(case, False))


@kind("balanced.process.vanished")
def remove_process(case: Case) -> Changes:
    """Deletes all records of one of several processes."""
    pids = sorted({pid for pid, _ in find_threads(case)})
    require(len(pids) >= 2, "one process alone has samples in emitted code")
    return forget_records(case, lambda one: get_owner(one)[0] == pids[-1])


@kind("balanced.thread.vanished")
def remove_thread(case: Case) -> Changes:
    """Deletes all records of one of several threads."""
    tids = sorted(tid for pid, tid in find_threads(case) if tid != pid)
    require(tids, "no second thread has samples in emitted code")
    return forget_records(
        case, lambda one: get_owner(one)[1] == tids[-1] and one.kind != rd.MMAP2)


def rename_samples(case: Case, names: dict[tuple[int, int], tuple[int, int]]) -> Changes:
    """Replaces pid and tid of samples. @names: {the old ones: the new ones}."""
    def change(one: Any) -> Any:
        pid, tid = names.get(get_owner(one), (0, 0)) if isinstance(one, rd.Sample) else (0, 0)
        return clone(one, pid=pid, tid=tid) if pid else one
    return case.rewrite(lambda capture: capture.map_records(change))


@kind("balanced.threads.swapped")
def swap_threads(case: Case) -> Changes:
    """Swaps the tids of two threads of a process, only in samples."""
    found = find_threads(case)
    for first, second in zip(found, found[1:]):
        if first[0] == second[0]:
            return rename_samples(case, {first: second, second: first})
    raise Absent("no process has two threads with samples in emitted code")


@kind("balanced.processes.swapped")
def swap_processes(case: Case) -> Changes:
    """Swaps the pids of two processes, only in samples of their main threads."""
    found = [(pid, pid) for pid in sorted({pid for pid, _ in find_threads(case)})]
    require(len(found) >= 2, "one process alone has samples in emitted code")
    return rename_samples(case, {found[0]: found[1], found[1]: found[0]})


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
        made = clone(sample)
        made.chain[begin + 1] = old + 1
        struct.pack_into("<Q", made.stack, at, old + 1)
        return made
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
    return case.rewrite(lambda capture: capture.map_records(change))
