# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of the CPU of samples in pinned activations, whose threads did not leave their CPU:
the CPU time in the truth equals the elapsed time."""

import bisect
import collections

from ci.tamper.activations import make_key, replace_samples
from ci.tamper.case import Case, clone
from ci.tamper.kinds import Absent, Changes, kind, require
from harness.selftest.support import run_directory as rd

PINNED_NS = 1000  # most difference of CPU time and elapsed time


def find_pinned(case: Case) -> list[list[rd.Sample]]:
    """Returns the samples of each pinned activation in the window, by their begin."""
    truth, entered = case.truth, {}
    threads: dict[int, list[rd.Sample]] = collections.defaultdict(list)
    for sample in sorted(case.capture("perf.data").samples(), key=lambda one: one.time):
        threads[sample.tid].append(sample)
    found = []
    slack = int(case.facts.get("slack", 0))
    for slot in sorted(case.acts(truth.ENTER, truth.LEAVE), key=lambda slot: slot[4]):
        if slot[0] == truth.ENTER:
            entered[slot[3]] = slot[4]
            continue
        begin, end, cpu = entered.pop(slot[3], 0), slot[5], slot[7] >> 8
        if not case.is_in_window(begin) or not case.is_in_window(end) or \
                abs(end - begin - cpu) >= PINNED_NS:
            continue
        mine = threads[slot[3]]
        found.append(mine[bisect.bisect_right(mine, begin + slack, key=lambda one: one.time):
                          bisect.bisect_left(mine, end - slack, key=lambda one: one.time)])
    require(any(found), "no pinned activation has samples")
    return found


@kind("stayed.cpu.other")
def move_one_sample(case: Case) -> Changes:
    """Moves a sample to another CPU than that of the sample before, with the event's id there."""
    ids = {(one.tid, one.cpu): one.id for one in case.capture("perf.data").samples()}
    for samples in find_pinned(case):
        if len(samples) < 2 or not samples[0].attr.sample_type & rd.CPU:
            continue
        first, second = samples[:2]
        for tid, cpu in sorted(ids):
            if tid == first.tid and cpu != first.cpu:
                return replace_samples(case, {make_key(second): lambda sample: [
                    clone(sample, cpu=cpu, id=ids[tid, cpu])]})
    raise Absent("no thread with events on two CPUs has two samples in a pinned activation")
