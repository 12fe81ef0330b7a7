# SPDX-License-Identifier: GPL-2.0-only
"""Whose samples they are and when, so that counts stay as they were: activations, threads, CPUs."""

import bisect
import collections
from functools import partial
import struct
from typing import Any, Callable, NamedTuple

from ci.tamper.case import Capture, Case, clone
from ci.tamper.kinds import Absent, Changes, Make, Unobservable, add, kind
from ci.tamper.samples import CODE, SHARE, main_thread, of_code, on_cpu, period_of
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


def activations(case: Case) -> dict[int, list[Activation]]:
    """Of each thread in the order of time, those that were left."""
    truth, entered = case.truth, {}
    found: dict[int, list[Activation]] = collections.defaultdict(list)
    slots = sorted(truth.of(truth.ENTER) + truth.of(truth.LEAVE),
                   key=lambda index: truth.get(index)[4])
    for index in slots:
        slot = truth.get(index)
        if slot[0] == truth.ENTER:
            entered[slot[3]] = slot
        elif slot[3] in entered:
            begin = entered.pop(slot[3])
            found[slot[3]].append(Activation(slot[3], begin[5], slot[4], begin[6] & 0xffffffff,
                                             begin[7]))
    return found


def by_activation(case: Case) -> list[tuple[Activation, list[rd.Sample]]]:
    """Those with samples in emitted code, most samples first."""
    threads = activations(case)
    found: dict[Activation, list[rd.Sample]] = collections.defaultdict(list)
    for sample in case.code_samples:
        mine = threads.get(sample.tid, [])
        at = bisect.bisect_right(mine, sample.time, key=lambda one: one.begin) - 1
        if at >= 0 and sample.time < mine[at].end:
            found[mine[at]].append(sample)
    if not found:
        raise Absent("no activation holds a " + CODE)
    return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))


def replaced(case: Case, new: dict[int, Any]) -> Changes:
    """Samples by their place in time and thread, as perf.data and injected.data both have them."""
    def alter(capture: Capture) -> Capture:
        records: list[Any] = []
        for one in capture.records:
            change = new.get(key(one)) if isinstance(one, rd.Sample) else None
            records += [one] if change is None else change(one)
        return capture.altered(sorted_by_time(records))
    return case.rewrite(alter)


def key(sample: rd.Sample) -> int:
    return hash((sample.time, sample.tid, sample.ip))


def sorted_by_time(records: list[Any]) -> list[Any]:
    """In one round, behind what has no time."""
    timed = [one for one in records if isinstance(one, (rd.Sample, rd.Side)) and one.time]
    head = [one for one in records if not (isinstance(one, (rd.Sample, rd.Side)) and one.time) and
            one.kind != rd.FINISHED_ROUND]
    return head + sorted(timed, key=lambda one: one.time) + [rd.Record(rd.FINISHED_ROUND, 0, b"")]


@kind("activation.thread.other")
def to_another_thread(case: Case) -> Changes:
    """The samples of one activation, each given to another thread of the process."""
    threads: dict[int, set[int]] = collections.defaultdict(set)
    for sample in case.code_samples:
        threads[sample.pid].add(sample.tid)
    for _, samples in by_activation(case):
        others = sorted(threads[samples[0].pid] - {samples[0].tid})
        if others:
            return replaced(case, {
                key(one): lambda sample, tid=others[0]: [clone(sample, tid=tid)]
                for one in samples})
    raise Absent("no process has two threads with samples in emitted code")


@kind("activation.balanced")
def balanced(case: Case) -> Changes:
    """A third of one activation's samples is gone, and as many are added to another one of the
    same thread: the thread's count stays."""
    found = by_activation(case)
    threads = len({sample.tid for sample in case.capture("perf.data").samples()})
    if int(case.facts.get("breakpoints", 0)):
        raise Unobservable("no file tells how often an instruction ran in an activation")
    for one, samples in found:
        for other, more in found:
            if other.tid == one.tid and other != one and min(len(samples), len(more)) >= 6:
                gone = samples[::3]
                if len(gone) <= 2 + threads:
                    raise Unobservable("so many samples may be close to the next: a late one, one "
                                       "at the start, and one of each thread, as each switch "
                                       "from one to another may swap their events")
                # The next sample of the thread is not at the time of the added one.
                again = {key(sample): lambda sample: [
                    sample, clone(sample, time=sample.time + 1000)] for sample in more[:len(gone)]}
                return replaced(case, {**{key(sample): lambda sample: [] for sample in gone},
                                       **again})
    raise Absent("no thread has two activations with six samples each")


def thinned(case: Case, gone: slice) -> Changes:
    """The longest activation without some samples."""
    samples = by_activation(case)[0][1]
    if len(samples) < 40:
        raise Absent("no activation has 40 samples")
    return replaced(case, {key(one): lambda sample: [] for one in samples[gone]})


# Each other one; ten in a row, as a stall hides them.
add("activation.thinned", partial(thinned, gone=slice(None, None, 2)))
add("activation.gap", partial(thinned, gone=slice(10, 20)))


@kind("threads.balanced")
def balanced_threads(case: Case) -> Changes:
    """A third of one thread's samples is gone, and another's are doubled in their place: the
    process's count stays."""
    threads: dict[tuple[int, int], list[rd.Sample]] = collections.defaultdict(list)
    for sample in case.code_samples:
        threads[sample.pid, sample.tid].append(sample)
    ranked = sorted(threads.items(), key=lambda item: (-len(item[1]), item[0]))
    if len(ranked) < 2 or len(ranked[1][1]) < 30:
        raise Absent("no two threads have 30 samples in emitted code")
    gone = ranked[0][1][::3]
    again = ranked[1][1][:len(gone)]
    return replaced(case, {
        **{key(one): lambda sample: [] for one in gone},
        **{key(one): lambda sample: [sample, clone(sample, time=sample.time + 1000)]
           for one in again}})


@kind("samples.times.swapped")
def swapped_times(case: Case) -> Changes:
    """Of a thread, the samples of two activations of different paths at each other's time."""
    found = by_activation(case)
    for one, samples in found:
        for other, more in found:
            if other.tid == one.tid and other.path != one.path:
                new: dict[int, Any] = {}
                for first, second in zip(samples[1:6], more[1:6]):
                    new[key(first)] = lambda sample, time=second.time: [clone(sample, time=time)]
                    new[key(second)] = lambda sample, time=first.time: [clone(sample, time=time)]
                if new:
                    return replaced(case, new)
    raise Absent("no thread has samples in two paths")


def retimed(case: Case, where: Where, time: Callable[[int], int],
            what: str) -> Changes:
    """Samples alone, or everything, at other times."""
    def alter(capture: Capture) -> Capture:
        records: list[Any] = []
        count = 0
        for one in capture.records:
            if isinstance(one, (rd.Sample, rd.Side)) and one.time and where(one):
                count += 1
                records.append(clone(one, time=time(one.time)))
            else:
                records.append(one)
        if not count:
            raise Absent("the case holds no " + what)
        return capture.altered(sorted_by_time(records))
    return case.rewrite(alter)


def later(case: Case, where: Where, by: int) -> Changes:
    return retimed(case, where, lambda time: time + by, CODE)


def thread_later(case: Case, by: int) -> Changes:
    tid = main_thread(case)
    return later(case, lambda one: isinstance(one, rd.Sample) and one.tid == tid, by)


def slower(case: Case, where: Where) -> Changes:
    begin = case.window[0]
    return retimed(case, where, lambda time: begin + (time - begin) * 101 // 100, CODE)


def is_sample(record: Any) -> bool:
    return isinstance(record, rd.Sample)


ALL: tuple[tuple[str, Where], ...] = (("samples", is_sample), ("records", lambda one: True))


for by in (1, -1, 10, -10):
    add("samples.thread.time.%+dms" % by, partial(thread_later, by=by * MS))
    for whose, where in ALL:
        add("%s.all.time.%+dms" % (whose, by), partial(later, where=where, by=by * MS))
for whose, where in ALL:
    add(whose + ".all.time.x1.01", partial(slower, where=where))
add("samples.all.time.rounded", lambda case: retimed(
    case, is_sample, lambda time: time // (4 * MS) * (4 * MS), CODE))


def contradicts_itself(perf: rd.PerfData) -> bool:
    """Whether a sample contradicts another in where its event is: each is on one CPU, a thread has
    one on each, and of breakpoints one of each address. Nothing tells which number a CPU has."""
    places: dict[int, tuple[int, int]] = {}
    events: dict[tuple[int, int, int], int] = {}
    for one in perf.samples():
        address = one.ip if struct.unpack_from("<I", one.attr.raw)[0] == BREAKPOINT else 0
        if places.setdefault(one.id, (one.cpu, address)) != (one.cpu, address) or \
                events.setdefault((one.tid, one.cpu, address), one.id) != one.id:
            return True
    return False


def of_events(make: Make) -> Make:
    """What a file tells by its events alone."""
    def alter(case: Case) -> Changes:
        changes = make(case)
        if not contradicts_itself(rd.PerfData.parse(changes["perf.data"] or b"", "perf.data")):
            raise Unobservable("each event has samples of one CPU still, and no thread two events "
                               "of one kind there")
        return changes
    return alter


for share_name, share in (("all", 1.0), ("some", SHARE)):
    add("sample.cpu.known." + share_name, of_events(of_code(on_cpu(lambda old: old ^ 1), share)))
add("sample.cpu.all-on-one", of_events(of_code(on_cpu(lambda old: 0), 1.0)))


def id_known(case: Case, sample: rd.Sample) -> rd.Sample:
    ids = sorted(set(sample.attr.ids) - {sample.id})
    if not ids:
        raise Absent("the event has one id")
    return clone(sample, id=ids[sample.time % len(ids)])


add("sample.id.known", of_events(of_code(id_known)))
for share_name, share in (("all", 1.0), ("some", SHARE), ("one", 0.0)):
    add("sample.period.x2." + share_name, of_code(lambda case, one: period_of(case, one, 2), share))
