# SPDX-License-Identifier: GPL-2.0-only
"""Activations whose threads stayed on their CPU, as the truth's two clocks say: how many samples
they have, and where."""

import bisect
import collections
import struct
from typing import Any, NamedTuple

from ci.tamper.activations import key, replaced
from ci.tamper.balanced import told
from ci.tamper.case import Case, clone
from ci.tamper.events import calm
from ci.tamper.kinds import Absent, Changes, Unobservable, kind
from ci.tamper.samples import CPUMODE
from harness.selftest import run_directory as rd

STAYED_NS = 1000
TENTH = 10
FIFTH = 5
# Of validators/cpu_sum.c: so many in a row, and of all, lack a sample by chance.
IN_A_ROW, RARE, SIGMAS = 4, 0.005, 4.5
# And so many gaps are of whole periods, by this share of one.
COINCIDENCES, ON_TIME = 2, 1 / 32
EXCLUDE_KERNEL = 1 << 5


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


def demand_kernel(sample: rd.Sample) -> None:
    if sample.attr.flags & EXCLUDE_KERNEL:
        raise Absent("a timer that expires in the kernel gives no sample")


@kind("stayed.deleted.tenth")
def deleted(case: Case) -> Changes:
    """In one of ten a sample is gone, and the capture counts what is left."""
    gone = [one.samples[0] for one in of_whole_periods(case)[::TENTH]]
    demand_kernel(gone[0])
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


def on_time(case: Case) -> tuple[list[rd.Sample], float]:
    """Those whose activation stayed, with one before and one behind, each a period apart; and how
    many of such may be gone by chance."""
    if int(case.facts.get("breakpoints", 0)):
        raise Absent("breakpoints sample, and no clock")
    found, late = [], 0
    for one in stayed(case):
        period = one.samples[0].one[rd.PERIOD]
        demand_kernel(one.samples[0])
        gaps = [(other.time - sample.time) / max(period, 1)
                for sample, other in zip(one.samples, one.samples[1:])]
        late += sum(gap > 1.5 and abs(gap - round(gap)) > ON_TIME for gap in gaps)
        found += [sample for sample, before, behind in zip(one.samples[1:], gaps, gaps[1:])
                  if abs(before - 1) < ON_TIME / 2 > abs(behind - 1)]
    return found, COINCIDENCES + late / 15 + SIGMAS * (late / 15) ** 0.5


def deleted_on_time(case: Case, gone: list[rd.Sample], chance: float) -> Changes:
    # Of several activations more are late than of each, and two in a row make one gap.
    if len(gone) <= 2 * chance + 2:
        raise Unobservable("as few timers may have expired while a host kept the CPU")
    changes = replaced(case, {key(one): lambda sample: [] for one in gone})
    return calm(case, told(case, changes, samples=-len(gone)))


@kind("stayed.deleted.function")
def of_function(case: Case) -> Changes:
    """Each fifth sample of the function that has the most."""
    found, chance = on_time(case)
    truth = case.truth
    starts = sorted({truth.get(index)[6] for index in truth.of(truth.CODE_LOAD)})
    functions: dict[int, list[rd.Sample]] = collections.defaultdict(list)
    for sample in filter(case.in_code, found):
        ip = sample.regs.get(rd.X86_IP, sample.ip)
        functions[bisect.bisect_right(starts, ip)].append(sample)
    most = sorted(functions.values(), key=len)[-1:]
    return deleted_on_time(case, most[0][::FIFTH] if most else [], chance)


@kind("stayed.deleted.kernel")
def of_kernel(case: Case) -> Changes:
    """All of the kernel."""
    found, chance = on_time(case)
    return deleted_on_time(
        case, [one for one in found if one.misc & CPUMODE == rd.KERNEL], chance)


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


@kind("stayed.cpu.sideband")
def sideband_cpu(case: Case) -> Changes:
    """Each record of what threads did as on the other of two CPUs, and no sample."""
    capture = case.capture("perf.data")
    if {one.cpu for one in capture.samples()} - {0, 1} or "first_enabled" not in case.facts:
        raise Absent("the capture is not ours, or of more than two CPUs")

    def place(one: Any) -> int | None:
        """Where the CPU stands in a record of a live event."""
        tail = one.tail() if isinstance(one, rd.Side) and \
            one.kind in (rd.MMAP2, rd.COMM, rd.FORK, rd.EXIT) else {}
        known = {rd.CPU, rd.TID, rd.IDENTIFIER} <= set(tail) and \
            one.time > int(case.facts["first_enabled"])
        return tail[rd.CPU] if known and number(one, tail[rd.IDENTIFIER], "<Q") else None

    def other(one: Any) -> Any:
        at = place(one)
        if at is None:
            return one
        made = clone(one)
        struct.pack_into("<I", made.body, at, number(one, at) ^ 1)
        return made
    live = [one for one in capture.records if place(one) is not None]
    if not live:
        raise Absent("no record tells live what a thread did")
    slack = int(case.facts.get("slack", 0))
    if not any(one.begin + slack < record.time < one.end - slack and
               number(record, record.tail()[rd.TID] + 4) != one.tid and
               number(record, record.tail()[rd.CPU]) != one.samples[0].cpu
               for one in stayed(case) for record in live) or case.read("maps") or \
            b" : gated " in case.read("case"):
        raise Unobservable("no thread is known to have stayed on the CPU that another's record "
                           "then names")
    return case.rewrite(lambda one: one.altered(map(other, one.records)))


def number(one: rd.Side, at: int, layout: str = "<I") -> int:
    value: int = struct.unpack_from(layout, one.body, at)[0]
    return value
