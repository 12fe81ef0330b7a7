# SPDX-License-Identifier: GPL-2.0-only
"""Alterations that move samples between activations, threads, CPUs and times; counts stay the
same."""

import bisect
import collections
from functools import partial
import struct
from typing import Any, Callable, NamedTuple

from ci.tamper.case import CODE, SHARE, Case, clone
from ci.tamper.kinds import Absent, Changes, Make, Unobservable, add, kind, require
from ci.tamper.samples import change_cpu, find_main_thread, multiply_period
from harness.selftest.support import run_directory as rd

MS = 1_000_000
BREAKPOINT = 5  # PERF_TYPE_BREAKPOINT
Where = Callable[[Any], bool]


class Activation(NamedTuple):
    tid: int
    begin: int
    end: int
    path: int
    sp: int


def find_activations(case: Case) -> dict[int, list[Activation]]:
    """Returns the activations of each thread that the truth records as left, in time order."""
    truth, entered = case.truth, {}
    by_thread: dict[int, list[Activation]] = collections.defaultdict(list)
    for slot in sorted(case.acts(truth.ENTER, truth.LEAVE), key=lambda slot: slot[4]):
        if slot[0] == truth.ENTER:
            entered[slot[3]] = slot
        elif slot[3] in entered:
            begin = entered.pop(slot[3])
            by_thread[slot[3]].append(Activation(slot[3], begin[5], slot[4], begin[6] & 0xffffffff,
                                             begin[7]))
    return by_thread


def group_by_activation(case: Case) -> list[tuple[Activation, list[rd.Sample]]]:
    """Returns the activations with samples in emitted code, most samples first."""
    threads = find_activations(case)
    groups: dict[Activation, list[rd.Sample]] = collections.defaultdict(list)
    for sample in case.code_samples:
        own_samples = threads.get(sample.tid, [])
        index = bisect.bisect_right(own_samples, sample.time, key=lambda record: record.begin) - 1
        if index >= 0 and sample.time < own_samples[index].end:
            groups[own_samples[index]].append(sample)
    require(groups, "no activation holds a " + CODE.what)
    return sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))


def replace_samples(case: Case, new: dict[int, Any]) -> Changes:
    """Replaces samples in perf.data and injected.data. @new: {make_key() of a sample: function that
    returns its replacements}."""
    def change(record: Any) -> Any:
        replace = new.get(make_key(record)) if isinstance(record, rd.Sample) else None
        return replace(record) if replace else record
    return case.rewrite(lambda capture: capture.map_records(change).sort_by_time())


def make_key(sample: rd.Sample) -> int:
    return hash((sample.time, sample.tid, sample.ip))


@kind("activation.thread.other")
def move_to_other_thread(case: Case) -> Changes:
    """Moves the samples of an activation to another thread of the process."""
    threads: dict[int, set[int]] = collections.defaultdict(set)
    for sample in case.code_samples:
        threads[sample.pid].add(sample.tid)
    for _, samples in group_by_activation(case):
        other_tids = sorted(threads[samples[0].pid] - {samples[0].tid})
        if other_tids:
            return replace_samples(case, {
                make_key(record): lambda sample, tid=other_tids[0]: [clone(sample, tid=tid)]
                for record in samples})
    raise Absent("no process has two threads with samples in emitted code")


@kind("activation.balanced")
def balance_activations(case: Case) -> Changes:
    """Deletes a third of an activation's samples and adds as many to another activation of the
    thread, so that the thread's count stays."""
    groups = group_by_activation(case)
    threads = len({sample.tid for sample in case.capture("perf.data").samples()})
    if int(case.facts.get("breakpoints", 0)):
        raise Unobservable("no file states how often an instruction ran in an activation")
    for activation, samples in groups:
        for other, more in groups:
            if other.tid == activation.tid and other != activation and min(len(samples),
                                                                           len(more)) >= 6:
                gone = samples[::3]
                if len(gone) <= 2 + threads:
                    raise Unobservable("that many samples may come early: one after a late one, "
                                       "one at the start, and one of each thread, since a switch "
                                       "between threads may swap their events")
                # 1 us later: no other sample of the thread has that time.
                doubled = {make_key(sample): lambda sample: [
                    sample, clone(sample, time=sample.time + 1000)] for sample in more[:len(gone)]}
                return replace_samples(case, {
                    **{make_key(sample): lambda sample: [] for sample in gone}, **doubled})
    raise Absent("no thread has two activations with six samples each")


def thin_activation(case: Case, gone: slice) -> Changes:
    """Deletes some samples of the activation with most samples."""
    samples = group_by_activation(case)[0][1]
    require(len(samples) >= 40, "no activation has 40 samples")
    return replace_samples(case, {make_key(one): lambda sample: [] for one in samples[gone]})


# Two selections: every second sample, or ten in a row, as a stall would lose.
add("activation.thinned", partial(thin_activation, gone=slice(None, None, 2)))
add("activation.gap", partial(thin_activation, gone=slice(10, 20)))


@kind("threads.balanced")
def balance_threads(case: Case) -> Changes:
    """Deletes a third of a thread's samples and doubles as many of another thread, so that the
    process's count stays."""
    threads: dict[tuple[int, int], list[rd.Sample]] = collections.defaultdict(list)
    for sample in case.code_samples:
        threads[sample.pid, sample.tid].append(sample)
    ranked = sorted(threads.items(), key=lambda item: (-len(item[1]), item[0]))
    if len(ranked) < 2 or len(ranked[1][1]) < 30:
        raise Absent("no two threads have 30 samples in emitted code")
    removed = ranked[0][1][::3]
    doubled = ranked[1][1][:len(removed)]
    return replace_samples(case, {
        **{make_key(record): lambda sample: [] for record in removed},
        **{make_key(record): lambda sample: [sample, clone(sample, time=sample.time + 1000)]
           for record in doubled}})


def change_times(case: Case, where: Where, time: Callable[[int], int]) -> Changes:
    def change(record: Any) -> Any:
        timed = isinstance(record, (rd.Sample, rd.Side)) and record.time and where(record)
        return clone(record, time=time(record.time)) if timed else record
    return case.rewrite(lambda capture: capture.map_records(change).sort_by_time())


def delay_records(case: Case, where: Where, by: int) -> Changes:
    return change_times(case, where, lambda time: time + by)


def delay_thread_samples(case: Case, by: int) -> Changes:
    tid = find_main_thread(case)
    return delay_records(case, lambda record: isinstance(record, rd.Sample) and record.tid == tid,
                         by)


def stretch_times(case: Case, where: Where) -> Changes:
    begin = case.window[0]
    return change_times(case, where, lambda time: begin + (time - begin) * 101 // 100)


def is_sample(record: Any) -> bool:
    return isinstance(record, rd.Sample)


ALL: tuple[tuple[str, Where], ...] = (("samples", is_sample), ("records", lambda record: True))


for by in (1, -1, 10, -10):
    add("samples.thread.time.%+dms" % by, partial(delay_thread_samples, by=by * MS))
    for whose, where in ALL:
        add("%s.all.time.%+dms" % (whose, by), partial(delay_records, where=where, by=by * MS))
for whose, where in ALL:
    add(whose + ".all.time.x1.01", partial(stretch_times, where=where))
add("samples.all.time.rounded", lambda case: change_times(
    case, is_sample, lambda time: time // (4 * MS) * (4 * MS)))


def has_contradicting_samples(perf: rd.PerfData) -> bool:
    """Returns whether two samples contradict each other: an event has one CPU, and a thread has one
    event for each CPU (and each breakpoint's address). The CPUs' numbers are not checked."""
    places: dict[int, tuple[int, int]] = {}
    events: dict[tuple[int, int, int], int] = {}
    for sample in perf.samples():
        address = sample.ip if struct.unpack_from("<I", sample.attr.raw)[0] == BREAKPOINT else 0
        if places.setdefault(sample.id, (sample.cpu, address)) != (sample.cpu, address) or \
                events.setdefault((sample.tid, sample.cpu, address), sample.id) != sample.id:
            return True
    return False


def require_contradiction(make: Make) -> Make:
    """Makes a kind that is unobservable unless samples contradict each other's events."""
    def alter_case(case: Case) -> Changes:
        changes = make(case)
        if not has_contradicting_samples(rd.PerfData.parse(changes["perf.data"] or b"",
                                                           "perf.data")):
            raise Unobservable("each event has samples of one CPU still, and no thread two events "
                               "of one kind there")
        return changes
    return alter_case


def change_id(case: Case, sample: rd.Sample) -> rd.Sample:
    ids = require(sorted(set(sample.attr.ids) - {sample.id}), "the event has only one id")
    return clone(sample, id=ids[sample.time % len(ids)])


for name, change, share in (("cpu.known.all", change_cpu(lambda old: old ^ 1), 1.0),
                            ("cpu.known.some", change_cpu(lambda old: old ^ 1), SHARE),
                            ("cpu.all-on-one", change_cpu(lambda old: 0), 1.0),
                            ("id.known", change_id, SHARE)):
    add("sample." + name, require_contradiction(CODE.alter(change, share)))
CODE.add((".all", ".some", ".one"), {"sample.period.x2": partial(multiply_period, factor=2)})

# Most difference of CPU time and elapsed time in a pinned activation: its thread stayed on a CPU.
PINNED_NS = 1000


def find_pinned(case: Case) -> list[list[rd.Sample]]:
    """Returns the samples of each pinned activation in the window, by their begin."""
    truth, entered = case.truth, {}
    threads: dict[int, list[rd.Sample]] = collections.defaultdict(list)
    for sample in sorted(case.capture("perf.data").samples(), key=lambda record: record.time):
        threads[sample.tid].append(sample)
    pinned = []
    slack = int(case.facts.get("slack", 0))
    for slot in sorted(case.acts(truth.ENTER, truth.LEAVE), key=lambda slot: slot[4]):
        if slot[0] == truth.ENTER:
            entered[slot[3]] = slot[4]
            continue
        begin, end, cpu = entered.pop(slot[3], 0), slot[5], slot[7] >> 8
        if not case.is_in_window(begin) or not case.is_in_window(end) or \
                abs(end - begin - cpu) >= PINNED_NS:
            continue
        own_samples = threads[slot[3]]
        pinned.append(own_samples[bisect.bisect_right(own_samples, begin + slack,
                                                      key=lambda record: record.time):
                          bisect.bisect_left(own_samples, end - slack,
                                             key=lambda record: record.time)])
    require(any(pinned), "no pinned activation has samples")
    return pinned


@kind("stayed.cpu.other")
def move_one_sample(case: Case) -> Changes:
    """Moves a sample to another CPU than that of the sample before, with the event's id there."""
    ids = {(record.tid, record.cpu): record.id for record in case.capture("perf.data").samples()}
    for samples in find_pinned(case):
        if len(samples) < 2 or not samples[0].attr.sample_type & rd.CPU:
            continue
        first, second = samples[:2]
        for tid, cpu in sorted(ids):
            if tid == first.tid and cpu != first.cpu:
                return replace_samples(case, {make_key(second): lambda sample: [
                    clone(sample, cpu=cpu, id=ids[tid, cpu])]})
    raise Absent("no thread with events on two CPUs has two samples in a pinned activation")
