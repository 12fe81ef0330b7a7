# SPDX-License-Identifier: GPL-2.0-only
"""Activations whose threads stayed on their CPU, as the truth's two clocks say: the CPU of their
samples."""

import bisect
import collections
import struct
from typing import Any, NamedTuple

from ci.tamper.activations import key, replaced
from ci.tamper.case import Case, clone
from ci.tamper.kinds import Absent, Changes, Unobservable, kind
from harness.selftest.support import run_directory as rd

STAYED_NS = 1000


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
