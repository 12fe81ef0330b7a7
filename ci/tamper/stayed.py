# SPDX-License-Identifier: GPL-2.0-only
"""Activations whose threads stayed on their CPU, as the truth's two clocks say: how many samples
they have, and where."""

import bisect
import collections
from typing import Any, NamedTuple

from ci.tamper.activations import key, replaced
from ci.tamper.balanced import told
from ci.tamper.case import Case, clone
from ci.tamper.events import calm
from ci.tamper.kinds import Absent, Changes, Unobservable, kind
from harness.selftest import run_directory as rd

STAYED_NS = 1000
TENTH = 10
# Of validators/cpu_sum.c: so many in a row, and of all, lack a sample by chance.
IN_A_ROW, RARE, SIGMAS = 4, 0.005, 4.5


class Stayed(NamedTuple):
    tid: int
    begin: int
    end: int
    cpu: int
    samples: list[rd.Sample]


def stayed(case: Case) -> list[Stayed]:
    """Those in the window that hold samples, by when they begin."""
    truth, entered = case.truth, {}
    threads: dict[int, list[rd.Sample]] = collections.defaultdict(list)
    for sample in sorted(case.capture("perf.data").samples(), key=lambda one: one.time):
        threads[sample.tid].append(sample)
    found = []
    slack = int(case.facts.get("slack", 0))
    for index in sorted(truth.of(truth.ENTER) + truth.of(truth.LEAVE),
                        key=lambda index: truth.get(index)[4]):
        slot = truth.get(index)
        if slot[0] == truth.ENTER:
            entered[slot[3]] = slot[4]
            continue
        begin, end, cpu = entered.pop(slot[3], 0), slot[5], slot[7] >> 8
        if not case.in_window(begin) or not case.in_window(end) or \
                abs(end - begin - cpu) >= STAYED_NS:
            continue
        mine = threads[slot[3]]
        inner = mine[bisect.bisect_right(mine, begin + slack, key=lambda one: one.time):
                     bisect.bisect_left(mine, end - slack, key=lambda one: one.time)]
        if inner:
            found.append(Stayed(slot[3], begin, end, cpu, inner))
    if not found:
        raise Absent("nobody stayed on a CPU and has samples there")
    return sorted(found, key=lambda one: one.begin)


def of_whole_periods(case: Case) -> list[Stayed]:
    """Those that have no sample too many, and would lack one."""
    if int(case.facts.get("breakpoints", 0)):
        raise Absent("breakpoints sample, and no clock")
    found = [one for one in stayed(case)
             if len(one.samples) <= one.cpu // max(one.samples[0].one[rd.PERIOD], 1)]
    usual = RARE * len(stayed(case))
    if len(found) // TENTH <= IN_A_ROW + 1 + usual + SIGMAS * usual ** 0.5:
        raise Unobservable("as few activations that stayed may lack a sample each by chance")
    return found


@kind("stayed.deleted.tenth")
def deleted(case: Case) -> Changes:
    """In one of ten a sample is gone, and the capture counts what is left."""
    gone = [one.samples[0] for one in of_whole_periods(case)[::TENTH]]
    changes = replaced(case, {key(one): lambda sample: [] for one in gone})
    return calm(case, told(case, changes, samples=-len(gone)))


@kind("stayed.moved.tenth")
def moved(case: Case) -> Changes:
    """In one of ten a sample is in the next activation of its thread: the thread's count stays."""
    threads: dict[int, list[Stayed]] = collections.defaultdict(list)
    for one in of_whole_periods(case):
        threads[one.tid].append(one)
    new: dict[int, Any] = {}
    for mine in threads.values():
        for one, other in list(zip(mine, mine[1:]))[::TENTH]:
            time = other.samples[0].time + 1000
            new[key(one.samples[0])] = lambda sample, time=time: [clone(sample, time=time)]
    return calm(case, replaced(case, new))


def events(case: Case) -> dict[tuple[int, int], int]:
    """Of each thread and CPU the id."""
    return {(one.tid, one.cpu): one.id for one in case.capture("perf.data").samples()}


def on(sample: rd.Sample, cpu: int, ids: dict[tuple[int, int], int]) -> rd.Sample:
    made = clone(sample, cpu=cpu)
    made.id = ids.get((sample.tid, cpu), sample.id)
    return made


@kind("stayed.cpu.other")
def other_cpu(case: Case) -> Changes:
    """One sample is on another CPU than the one before it, by its thread's event there."""
    ids = events(case)
    for one in stayed(case):
        cpus = sorted(cpu for tid, cpu in ids if tid == one.tid and cpu != one.samples[0].cpu)
        if len(one.samples) > 1 and cpus and one.samples[0].attr.sample_type & rd.CPU:
            return replaced(case, {key(one.samples[1]):
                                   lambda sample: [on(sample, cpus[0], ids)]})
    raise Absent("nobody who was on two CPUs stayed on one for two samples")


@kind("stayed.cpu.shared")
def shared_cpu(case: Case) -> Changes:
    """One sample is on the CPU of another thread, which was there all the time."""
    ids, samples = events(case), sorted(case.code_samples, key=lambda one: one.time)
    slack = int(case.facts.get("slack", 0))
    for one in stayed(case):
        first, cpu = bisect.bisect_right(samples, one.begin + slack, key=lambda it: it.time), \
            one.samples[0].cpu
        for sample in samples[first:]:
            if sample.time >= one.end - slack:
                break
            if sample.tid != one.tid and sample.cpu != cpu and (sample.tid, cpu) in ids:
                return replaced(case, {key(sample): lambda sample: [on(sample, cpu, ids)]})
    raise Absent("no thread has a sample while another stayed on its CPU")
