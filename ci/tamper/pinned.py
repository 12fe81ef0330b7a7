# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of the CPU of samples in pinned activations, whose threads did not leave their CPU:
the CPU time in the truth equals the elapsed time."""

import bisect
import collections
from typing import NamedTuple

from ci.tamper.activations import make_key, replace_samples
from ci.tamper.case import Case, clone
from ci.tamper.kinds import Absent, Changes, kind, require
from harness.selftest.support import run_directory as rd

PINNED_NS = 1000  # most difference of CPU time and elapsed time


class Pinned(NamedTuple):
    tid: int
    begin: int
    end: int
    cpu: int
    samples: list[rd.Sample]


def find_pinned(case: Case) -> list[Pinned]:
    """Returns the pinned activations in the window that have samples, by their begin."""
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
        inner = mine[bisect.bisect_right(mine, begin + slack, key=lambda one: one.time):
                     bisect.bisect_left(mine, end - slack, key=lambda one: one.time)]
        if inner:
            found.append(Pinned(slot[3], begin, end, cpu, inner))
    require(found, "no pinned activation has samples")
    return sorted(found, key=lambda one: one.begin)


def map_event_ids(case: Case) -> dict[tuple[int, int], int]:
    return {(one.tid, one.cpu): one.id for one in case.capture("perf.data").samples()}


def move_to_cpu(sample: rd.Sample, cpu: int, ids: dict[tuple[int, int], int]) -> rd.Sample:
    made = clone(sample, cpu=cpu)
    made.id = ids.get((sample.tid, cpu), sample.id)
    return made


@kind("stayed.cpu.other")
def move_one_sample(case: Case) -> Changes:
    """Moves a sample to another CPU than that of the sample before, with the event's id there."""
    ids = map_event_ids(case)
    for one in find_pinned(case):
        cpus = sorted(cpu for tid, cpu in ids if tid == one.tid and cpu != one.samples[0].cpu)
        if len(one.samples) > 1 and cpus and one.samples[0].attr.sample_type & rd.CPU:
            return replace_samples(case, {make_key(one.samples[1]):
                                          lambda sample: [move_to_cpu(sample, cpus[0], ids)]})
    raise Absent("no thread with events on two CPUs has two samples in a pinned activation")


@kind("stayed.cpu.shared")
def move_to_busy_cpu(case: Case) -> Changes:
    """Moves a sample to the CPU of another thread's pinned activation."""
    ids, samples = map_event_ids(case), sorted(case.code_samples, key=lambda one: one.time)
    slack = int(case.facts.get("slack", 0))
    for one in find_pinned(case):
        first, cpu = bisect.bisect_right(samples, one.begin + slack, key=lambda it: it.time), \
            one.samples[0].cpu
        for sample in samples[first:]:
            if sample.time >= one.end - slack:
                break
            if sample.tid != one.tid and sample.cpu != cpu and (sample.tid, cpu) in ids:
                return replace_samples(
                    case, {make_key(sample): lambda sample: [move_to_cpu(sample, cpu, ids)]})
    raise Absent("no thread has a sample during another thread's pinned activation")
