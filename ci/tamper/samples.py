# SPDX-License-Identifier: GPL-2.0-only
"""Samples inside emitted code: where they say to be, of whom, and whether they are there."""

import bisect
import collections
from functools import partial
from typing import Any, Callable

from ci.tamper.case import Capture, Case, capture_file, clone
from ci.tamper.kinds import Absent, Changes, Unobservable, add, kind
from harness.selftest.support import run_directory as rd

CODE = "sample in emitted code within the window"
SHARE = 0.3
X86_IP, X86_SP = rd.X86_IP, rd.X86_SP
HYPERVISOR, GUEST_KERNEL, GUEST_USER = 3, 4, 5
CPUMODE = 7
FAR = 0xffffffff81000010  # in the kernel's text
NOBODY = 4000000          # above any pid_max that a capture of ours was made with
Change = Callable[[Case, rd.Sample], Any]


def of_code(change: Change, share: float = SHARE) -> Callable[[Case], Changes]:
    """A share of the samples in emitted code, each as @change returns it."""
    return lambda case: case.each(
        lambda record: isinstance(record, rd.Sample) and case.in_code(record),
        lambda sample: change(case, sample), share, CODE)


def moved(case: Case, sample: rd.Sample, to: Callable[[Case, rd.Sample], int], regs: bool,
          chain: bool) -> rd.Sample:
    made, ip = clone(sample), to(case, sample)
    if regs and X86_IP in made.regs:
        made.regs[X86_IP] = ip
    if chain:
        made.chain = [ip if entry == sample.ip else entry for entry in made.chain]
    made.ip = ip
    return made


def nowhere(case: Case, sample: rd.Sample) -> int:
    return 0x1234


def libc(case: Case, sample: rd.Sample) -> int:
    for one in case.capture("perf.data").maps():
        if "/libc.so" in one.name and one.prot & rd.EXECUTE:
            return one.start + 0x100
    raise Absent("no mapping of libc is in the capture")


def elsewhere(case: Case, sample: rd.Sample) -> int:
    """Into another emitted function: the next one's first instruction."""
    starts = sorted({case.truth.get(index)[6] for index in case.truth.of(case.truth.CODE_LOAD)})
    if len(starts) < 2:
        raise Absent("the case emits one function alone")
    return next((start for start in starts if start > sample.ip), starts[0])


for to_name, to in (("0x1234", nowhere), ("libc", libc), ("function", elsewhere)):
    for how, regs, chain in (("", False, False), (".regs", True, False), (".all", True, True)):
        add("sample.ip.%s%s" % (to_name, how), of_code(
            partial(moved, to=to, regs=regs, chain=chain)))


def other(values: set[int], mine: int) -> int:
    left = sorted(values - {mine})
    if not left:
        raise Absent("there is no other to name")
    return left[mine % len(left)]


def someone(case: Case, sample: rd.Sample) -> tuple[int, int]:
    """pid and tid of another thread that has samples in emitted code."""
    threads = {(one.pid, one.tid) for one in case.code_samples} - {(sample.pid, sample.tid)}
    if not threads:
        raise Absent("one thread alone has samples in emitted code")
    return sorted(threads)[sample.tid % len(threads)]


add("sample.pid.unknown", of_code(lambda case, one: clone(one, pid=NOBODY)))
add("sample.tid.unknown", of_code(lambda case, one: clone(one, tid=NOBODY)))
add("sample.pid.tid.unknown", of_code(lambda case, one: clone(one, pid=NOBODY, tid=NOBODY)))
add("sample.pid.watched", of_code(lambda case, one: clone(one, pid=other(case.watched, one.pid))))
add("sample.tid.known", of_code(lambda case, one: clone(one, tid=someone(case, one)[1])))
add("sample.thread.known", of_code(
    lambda case, one: clone(one, pid=someone(case, one)[0], tid=someone(case, one)[1])))
add("sample.pid.-1", of_code(lambda case, one: clone(one, pid=2**32 - 1, tid=2**32 - 1)))
add("sample.pid.0", of_code(lambda case, one: clone(one, pid=0, tid=0)))


def without_regs(sample: rd.Sample) -> rd.Sample:
    if not sample.regs:
        raise Absent("samples have no registers")
    return clone(sample, abi=0, regs={}, stack=bytearray(),
                 asked=0 if sample.asked == len(sample.stack) else sample.asked)


def in_kernel(sample: rd.Sample) -> rd.Sample:
    made = clone(sample, misc=sample.misc & ~CPUMODE | rd.KERNEL)
    made.ip = FAR
    return made


add("sample.regs.gone", of_code(lambda case, one: without_regs(one)))
add("sample.regs.gone.kernel", of_code(lambda case, one: in_kernel(without_regs(one))))
add("sample.regs.gone.kernel.nothing", of_code(
    lambda case, one: clone(in_kernel(without_regs(one)), chain=[])))
add("sample.kernel", of_code(lambda case, one: in_kernel(one)))
add("sample.deleted.fifth", of_code(lambda case, one: None, 0.2))
add("sample.deleted.2-fifths", of_code(lambda case, one: None, 0.4))
add("sample.doubled", of_code(lambda case, one: [one, one], 1.0))
add("sample.doubled.some", of_code(lambda case, one: [one, one]))


def without(case: Case, gone: Callable[[rd.Sample], bool], what: str) -> Changes:
    def alter(capture: Capture) -> Capture:
        kept = [record for record in capture.records
                if not (isinstance(record, rd.Sample) and gone(record))]
        if len(kept) == len(capture.records):
            raise Absent("the case holds no " + what)
        return capture.altered(kept)
    return case.rewrite(alter)


def forgotten(case: Case, times: set[int], what: str) -> Changes:
    """Without the samples at @times, as a reader loses them that does not count them either."""
    changes = without(case, lambda sample: sample.time in times, what)
    facts = dict(case.facts)
    if "samples" in facts:
        gone = sum(one.time in times for one in case.capture("perf.data").samples())
        facts["samples"] = str(int(facts["samples"]) - gone)
    return {**changes, **capture_file(facts)}


def in_windows(case: Case) -> list[rd.Sample]:
    return sorted((one for one in case.capture("perf.data").samples()
                   if one.pid in case.watched and case.in_window(one.time)),
                  key=lambda one: one.time)


@kind("sample.deleted.every-5th")
def every_fifth(case: Case) -> Changes:
    return forgotten(case, {one.time for one in in_windows(case)[4::5]}, "five samples")


def of_main_thread(case: Case) -> list[rd.Sample]:
    """The samples that a witness covers, of the thread that has most in emitted code."""
    case.read("witness")
    if b"user_only 1" in case.read("watched"):
        raise Absent("the kernel is not sampled")
    since = int(case.read("watched").split()[-1])
    most = main_thread(case)
    return [one for one in in_windows(case) if one.tid == most and one.time > since]


@kind("sample.deleted.2-percent")
def two_percent(case: Case) -> Changes:
    """At random, of one thread."""
    samples = of_main_thread(case)
    if len(samples) < 400:
        raise Absent("no thread has 400 samples")
    gone = case.chosen(samples[2:-2], 1 / 50, case.capture("perf.data"))
    return forgotten(case, {one.time for one in gone}, CODE)


def in_stretches(samples: list[rd.Sample]) -> list[rd.Sample]:
    """Those with a sample of their thread a period before them, and another a period behind, on
    the same CPU."""
    return [one for before, one, behind in zip(samples, samples[1:], samples[2:])
            if before.cpu == one.cpu == behind.cpu and
            all(0.95 < gap / one.one[rd.PERIOD] < 1.05
                for gap in (one.time - before.time, behind.time - one.time))]


def demand_many(gone: list[rd.Sample]) -> list[rd.Sample]:
    """Two samples that are missing one by one may be a switch of contexts, and 1 in 25 is where
    three samples of the witness enclose it instead of four."""
    if len(gone) < 5:
        raise Unobservable("fewer than five samples in stretches without a gap")
    return gone


@kind("sample.deleted.function")
def of_function(case: Case) -> Changes:
    """All of one function among others."""
    truth = case.truth
    starts = sorted({truth.get(index)[6] for index in truth.of(truth.CODE_LOAD)})
    functions: dict[int, list[rd.Sample]] = collections.defaultdict(list)
    samples = of_main_thread(case)
    for sample in filter(case.in_code, in_stretches(samples)):
        functions[bisect.bisect_right(starts, sample.regs.get(rd.X86_IP, sample.ip))].append(sample)
    if len(functions) < 2:
        raise Absent("fewer than two functions have samples")
    gone = demand_many(max(functions.values(), key=len))
    return forgotten(case, {one.time for one in gone}, CODE)


@kind("sample.deleted.kernel")
def of_kernel(case: Case) -> Changes:
    """All of the kernel, in one thread."""
    found = [one for one in in_stretches(of_main_thread(case)) if one.misc & CPUMODE == rd.KERNEL]
    return forgotten(case, {one.time for one in demand_many(found)}, "samples of the kernel")


@kind("sample.deleted.3-in-a-row")
def three_in_a_row(case: Case) -> Changes:
    """Of one thread that was on one CPU without a break."""
    samples = of_main_thread(case)
    period = samples[0].one[rd.PERIOD] if samples else 0
    found = [place for place in range(len(samples) - 6)
             if len({one.cpu for one in samples[place:place + 7]}) == 1 and all(
                 0.95 < (late.time - early.time) / period < 1.05
                 for early, late in zip(samples[place:place + 6], samples[place + 1:]))]
    if not found:
        raise Absent("no seven samples of a thread are a period apart")
    place = found[case.seed % len(found)]
    return forgotten(case, {one.time for one in samples[place + 2:place + 5]}, CODE)


def main_thread(case: Case) -> int:
    """The one that has most samples in emitted code."""
    count = collections.Counter(one.tid for one in case.code_samples)
    if not count:
        raise Absent("the case holds no " + CODE)
    return max(sorted(count), key=lambda tid: count[tid])


@kind("sample.deleted.thread")
def whole_thread(case: Case) -> Changes:
    most = main_thread(case)
    return without(case, lambda sample: sample.tid == most, CODE)


@kind("sample.deleted.time")
def part_of_the_time(case: Case) -> Changes:
    """A fifth of the time in which there are samples in emitted code."""
    times = sorted(one.time for one in case.code_samples)
    if len(times) < 10:
        raise Absent("fewer than ten samples in emitted code")
    begin = times[0] + (times[-1] - times[0]) * 2 // 5
    end = times[0] + (times[-1] - times[0]) * 3 // 5
    return without(case, lambda sample: begin <= sample.time < end, "samples in that time")


@kind("sample.deleted.cpu")
def whole_cpu(case: Case) -> Changes:
    """All samples of one of several CPUs, as a lost ring."""
    cpus = sorted({one.cpu for one in case.code_samples})
    if len(cpus) < 2:
        raise Absent("samples in emitted code are of one CPU")
    return without(case, lambda sample: sample.cpu == cpus[0], CODE)


def mode(misc: int, ip: int | None) -> Change:
    def change(case: Case, sample: rd.Sample) -> rd.Sample:
        made = clone(sample, misc=sample.misc & ~CPUMODE | misc)
        if ip is not None:
            made.ip = ip
        return made
    return change


for mode_name, misc in (("unknown", 0), ("kernel", rd.KERNEL), ("hypervisor", HYPERVISOR),
                        ("guest-kernel", GUEST_KERNEL), ("guest-user", GUEST_USER)):
    for share_name, share in (("all", 1.0), ("some", SHARE)):
        add("sample.mode.%s.%s" % (mode_name, share_name), of_code(mode(misc, None), share))
        add("sample.mode.%s.ip.%s" % (mode_name, share_name), of_code(mode(misc, FAR), share))


def later(case: Case, sample: rd.Sample, by: int) -> rd.Sample:
    return clone(sample, time=sample.time + by)


add("sample.time.later.100ms", of_code(lambda case, one: later(case, one, 100_000_000)))
add("sample.time.earlier.100ms", of_code(lambda case, one: later(case, one, -100_000_000)))
add("sample.time.later.1h", of_code(lambda case, one: later(case, one, 3_600_000_000_000)))
add("sample.time.zero", of_code(lambda case, one: later(case, one, -one.time)))


def on_cpu(number: Callable[[int], int]) -> Change:
    def change(case: Case, sample: rd.Sample) -> rd.Sample:
        if not sample.attr.sample_type & rd.CPU:
            raise Absent("samples hold no CPU")
        return clone(sample, cpu=number(sample.cpu))
    return change


def period_of(case: Case, sample: rd.Sample, factor: int) -> rd.Sample:
    if not sample.attr.sample_type & rd.PERIOD:
        raise Absent("samples hold no period")
    made = clone(sample)
    made.one[rd.PERIOD] = sample.one[rd.PERIOD] * factor
    return made


add("sample.cpu.unknown", of_code(on_cpu(lambda old: 4095)))
add("sample.period.zero", of_code(lambda case, one: period_of(case, one, 0)))
add("sample.period.x1000", of_code(lambda case, one: period_of(case, one, 1000)))
