# SPDX-License-Identifier: GPL-2.0-only
"""Alterations that make two faults at once; each hides the other's effect on a figure."""

import struct
from typing import Any

from ci.tamper.case import Capture, Case, clone
from ci.tamper.events import find_sampling_attr
from ci.tamper.kinds import Changes, add, kind, require
from ci.tamper.samples import forget_records, forget_samples, get_window_samples
from ci.tamper.tasks import get_owner
from harness.selftest.support import run_directory as rd


def require_samples(case: Case) -> list[rd.Sample]:
    samples = get_window_samples(case)
    require(len(samples) >= 50, "fewer than 50 samples are in the window")
    return samples


def find_threads(case: Case) -> list[tuple[int, int]]:
    """Returns pid and tid of the threads with samples in emitted code, sorted."""
    return sorted({(record.pid, record.tid) for record in require_samples(case)
                   if case.is_in_code(record)})


@kind("balanced.deleted.counted")
def delete_and_count(case: Case) -> Changes:
    """Deletes every fifth sample, and adjusts the capture's counts."""
    return forget_samples(case, require_samples(case)[4::5],
                          counted=-(int(case.facts.get("counted", 0)) // 5))


@kind("balanced.deleted.lost")
def delete_and_report_lost(case: Case) -> Changes:
    """Deletes a fifth of the samples, and inserts a LOST record with their number."""
    samples = require_samples(case)
    times = {sample.time for sample in samples[4::5]}
    removed = sum(record.time in times for record in case.capture("perf.data").samples())

    def alter_capture(capture: Capture) -> Capture:
        attr = capture.attrs[find_sampling_attr(capture)]
        body = struct.pack("<QQ", attr.ids[0] if attr.ids else 0, removed)
        return capture.delete_records(
            lambda record: isinstance(record, rd.Sample) and record.time in times).insert_records(
                rd.PerfData([attr]).side(rd.LOST, body, samples[-1].time, 0))
    return case.adjust_facts(case.rewrite(alter_capture), samples=-removed, lost_samples=removed)


def shrink_window(case: Case, early: bool) -> Changes:
    """Deletes the samples of half of the window, and moves the window's begin or end."""
    begin, end = case.window
    half = begin + (end - begin) // 2
    removed = [sample for sample in require_samples(case) if (sample.time < half) == early]
    require(removed, "half of the window has no samples")
    return forget_samples(case, removed, **{
        key: half - int(case.facts.get(key, 0))
        for key in (("enabled", "sampling", "first_enabled") if early else ("stopped",))})


add("balanced.window.later", lambda case: shrink_window(case, True))
add("balanced.window.shorter", lambda case: shrink_window(case, False))


@kind("balanced.process.vanished")
def remove_process(case: Case) -> Changes:
    """Deletes all records of one of several processes."""
    pids = sorted({pid for pid, _ in find_threads(case)})
    require(len(pids) >= 2, "one process alone has samples in emitted code")
    return forget_records(case, lambda record: get_owner(record)[0] == pids[-1])


@kind("balanced.thread.vanished")
def remove_thread(case: Case) -> Changes:
    """Deletes all records of one of several threads."""
    tids = sorted(tid for pid, tid in find_threads(case) if tid != pid)
    require(tids, "no second thread has samples in emitted code")
    return forget_records(
        case, lambda record: get_owner(record)[1] == tids[-1] and record.kind != rd.MMAP2)


def rename_samples(case: Case, names: dict[tuple[int, int], tuple[int, int]]) -> Changes:
    """Replaces pid and tid of samples. @names: {the old ones: the new ones}."""
    def change(record: Any) -> Any:
        pid, tid = names.get(get_owner(record), (0, 0)) if isinstance(record, rd.Sample) else (0, 0)
        return clone(record, pid=pid, tid=tid) if pid else record
    return case.rewrite(lambda capture: capture.map_records(change))


@kind("balanced.processes.swapped")
def swap_processes(case: Case) -> Changes:
    """Swaps the pids of two processes, only in samples of their main threads."""
    pairs = [(pid, pid) for pid in sorted({pid for pid, _ in find_threads(case)})]
    require(len(pairs) >= 2, "one process alone has samples in emitted code")
    return rename_samples(case, {pairs[0]: pairs[1], pairs[1]: pairs[0]})
