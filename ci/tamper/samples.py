# SPDX-License-Identifier: GPL-2.0-only
"""Alterations that move or delete samples in emitted code, or change their thread, mode or CPU."""

import bisect
import collections
import math
from functools import partial
from typing import Any, Callable

from ci.tamper.case import ALL_SOME, CODE, Case, Change, clone, set_to
from ci.tamper.kinds import Absent, Changes, Unobservable, add, kind, require
from harness.selftest.support import run_directory as rd

X86_IP = rd.X86_IP
HYPERVISOR, GUEST_KERNEL, GUEST_USER = 3, 4, 5
CPUMODE = 7
FAR = 0xffffffff81000010  # in the kernel's text
NOBODY = 4000000          # a pid above the pid_max of the machines that captured


def move_sample(case: Case, sample: rd.Sample, to: Callable[[Case, rd.Sample], int], regs: bool,
                chain: bool) -> rd.Sample:
    moved, ip = clone(sample), to(case, sample)
    if regs and X86_IP in moved.regs:
        moved.regs[X86_IP] = ip
    if chain:
        moved.chain = [ip if entry == sample.ip else entry for entry in moved.chain]
    moved.ip = ip
    return moved


def find_libc(case: Case, sample: rd.Sample) -> int:
    for mapping in case.capture("perf.data").maps():
        if "/libc.so" in mapping.name and mapping.prot & rd.EXECUTE:
            return mapping.start + 0x100
    raise Absent("no mapping of libc is in the capture")


def list_starts(case: Case) -> list[int]:
    return sorted({act[6] for act in case.acts(rd.Truth.CODE_LOAD)})


def find_next_function(case: Case, sample: rd.Sample) -> int:
    starts = list_starts(case)
    require(len(starts) >= 2, "the case emits one function alone")
    return next((start for start in starts if start > sample.ip), starts[0])


for to_name, to in (("0x1234", lambda case, sample: 0x1234), ("libc", find_libc),
                    ("function", find_next_function)):
    CODE.add([""], {"sample.ip.%s%s" % (to_name, how): partial(move_sample, to=to, regs=regs,
                                                               chain=chain)
                    for how, regs, chain in (("", False, False), (".regs", True, False),
                                             (".all", True, True))})


def choose_other(values: set[int], current: int) -> int:
    candidates = require(sorted(values - {current}), "the case has no other value to replace it by")
    return candidates[current % len(candidates)]


def find_other_thread(case: Case, sample: rd.Sample) -> tuple[int, int]:
    """Returns pid and tid of another thread with samples in emitted code."""
    threads = {(record.pid, record.tid) for record
               in case.code_samples} - {(sample.pid, sample.tid)}
    require(threads, "one thread alone has samples in emitted code")
    return sorted(threads)[sample.tid % len(threads)]


def remove_registers(sample: rd.Sample) -> rd.Sample:
    require(sample.regs, "samples have no registers")
    return clone(sample, abi=0, regs={}, stack=bytearray(),
                 asked=0 if sample.asked == len(sample.stack) else sample.asked)


def move_to_kernel(sample: rd.Sample) -> rd.Sample:
    moved = clone(sample, misc=sample.misc & ~CPUMODE | rd.KERNEL)
    moved.ip = FAR
    return moved


def multiply_period(_: Case, sample: rd.Sample, factor: int) -> rd.Sample:
    require(sample.attr.sample_type & rd.PERIOD, "samples hold no period")
    changed = clone(sample)
    changed.one[rd.PERIOD] = sample.one[rd.PERIOD] * factor
    return changed


def change_cpu(number: Callable[[int], int]) -> Change:
    def change(_: Case, sample: rd.Sample) -> rd.Sample:
        require(sample.attr.sample_type & rd.CPU, "samples hold no CPU")
        return clone(sample, cpu=number(sample.cpu))
    return change


def delay_sample(by: int) -> Change:
    return lambda _, record: clone(record, time=record.time + by)


CODE.add([""], {
    "sample.pid.unknown": set_to(pid=NOBODY),
    "sample.tid.unknown": set_to(tid=NOBODY),
    "sample.pid.tid.unknown": set_to(pid=NOBODY, tid=NOBODY),
    "sample.pid.watched":
        lambda case, record: clone(record, pid=choose_other(case.watched_pids, record.pid)),
    "sample.tid.known": lambda case, record: clone(record, tid=find_other_thread(case, record)[1]),
    "sample.thread.known": lambda case, record: clone(record, **dict(zip(
        ("pid", "tid"), find_other_thread(case, record)))),
    "sample.pid.-1": set_to(pid=2**32 - 1, tid=2**32 - 1),
    "sample.pid.0": set_to(pid=0, tid=0),
    "sample.regs.gone": lambda _, record: remove_registers(record),
    "sample.regs.gone.kernel": lambda _, record: move_to_kernel(remove_registers(record)),
    "sample.regs.gone.kernel.nothing": lambda _, record: clone(
        move_to_kernel(remove_registers(record)), chain=[]),
    "sample.kernel": lambda _, record: move_to_kernel(record),
    "sample.doubled.some": lambda _, record: [record, record],
    "sample.time.later.100ms": delay_sample(100_000_000),
    "sample.time.earlier.100ms": delay_sample(-100_000_000),
    "sample.time.later.1h": delay_sample(3_600_000_000_000),
    "sample.time.zero": lambda _, record: clone(record, time=0),
    "sample.cpu.unknown": change_cpu(lambda old: 4095),
    "sample.period.zero": partial(multiply_period, factor=0),
    "sample.period.x1000": partial(multiply_period, factor=1000),
})
add("sample.deleted.fifth", CODE.alter(lambda *_: None, 0.2))
add("sample.doubled", CODE.alter(lambda _, record: [record, record], 1.0))
for mode_name, misc in (("unknown", 0), ("kernel", rd.KERNEL), ("hypervisor", HYPERVISOR),
                        ("guest-kernel", GUEST_KERNEL), ("guest-user", GUEST_USER)):
    CODE.add(ALL_SOME, {"sample.mode.%s%s" % (mode_name, end): partial(
        lambda mode, fields, _, record: clone(record, misc=record.misc & ~CPUMODE | mode,
                                              **fields), misc,
        fields) for end, fields in (("", {}), (".ip", {"ip": FAR}))})


def remove_samples(case: Case, gone: Callable[[rd.Sample], bool]) -> Changes:
    return case.rewrite(lambda capture: capture.delete_records(
        lambda record: isinstance(record, rd.Sample) and gone(record)))


def forget_records(case: Case, gone: Callable[[Any], bool], **figures: int) -> Changes:
    """Deletes records and adjusts the capture's count of samples, like a reader that loses them
    without counting them. @figures: added to other figures of the capture."""
    count = sum(map(gone, case.capture("perf.data").samples()))
    return case.adjust_facts(case.rewrite(lambda capture: capture.delete_records(gone)),
                             samples=-count, **figures)


def forget_samples(case: Case, samples: list[rd.Sample], **figures: int) -> Changes:
    """Does the same with the samples that have the times of @samples."""
    times = {sample.time for sample in samples}
    return forget_records(case, lambda record: isinstance(record, rd.Sample) and record.time
                          in times,
                          **figures)


def get_window_samples(case: Case) -> list[rd.Sample]:
    return sorted((sample for sample in case.capture("perf.data").samples()
                   if sample.pid in case.watched_pids and case.is_in_window(sample.time)),
                  key=lambda sample: sample.time)


def get_witnessed_samples(case: Case) -> list[rd.Sample]:
    """Returns the samples covered by a witness, of the thread with most samples in emitted code."""
    case.read("witness")
    if b"user_only 1" in case.read("watched"):
        raise Absent("the kernel is not sampled")
    since = int(case.read("watched").split()[-1])
    thread = find_main_thread(case)
    return [record for record in get_window_samples(case) if record.tid == thread
            and record.time > since]


@kind("sample.deleted.2-percent")
def delete_two_percent_of_samples(case: Case) -> Changes:
    """Deletes random samples of a thread."""
    samples = get_witnessed_samples(case)
    require(len(samples) >= 400, "no thread has 400 samples")
    removed = case.choose(samples[2:-2], 1 / 50, case.capture("perf.data"))
    return forget_samples(case, require_noticeable(case, removed))


def filter_unbroken(samples: list[rd.Sample]) -> list[rd.Sample]:
    """Returns the samples whose thread also has a sample one period before and one period after, on
    the same CPU."""
    return [sample for before, sample, behind in zip(samples, samples[1:], samples[2:])
            if before.cpu == sample.cpu == behind.cpu and
            all(0.95 < gap / sample.one[rd.PERIOD] < 1.05
                for gap in (sample.time - before.time, behind.time - sample.time))]


def require_noticeable(case: Case, gone: list[rd.Sample]) -> list[rd.Sample]:
    """Raises Unobservable if the kernel skipped samples of the witness too, and so many that chance
    explains as many missing samples of the capture as @gone (Chernoff's bound of a binomial
    distribution: jp_witness_is_beyond_chance() in the harness)."""
    skipped, all_due = case.find_skipped()
    odds = len(get_witnessed_samples(case)) / max(all_due, 1)
    nr_gone, total, share = len(gone), len(gone) + skipped, odds / (1 + odds)
    if skipped and (nr_gone <= odds * skipped or
                    nr_gone * math.log(nr_gone / (total * share)) +
                    skipped * math.log(skipped / (total * (1 - share))) < 5.39 ** 2 / 2):
        raise Unobservable("the kernel skipped %d of %d samples of the witness" % (
            skipped, all_due))
    return gone


def require_enough(case: Case, gone: list[rd.Sample]) -> list[rd.Sample]:
    """Raises Unobservable for fewer than five samples. Two missing samples may be context switches,
    and for 1 in 25 three samples of the witness enclose the gap instead of four."""
    if len(gone) < 5:
        raise Unobservable("fewer than five samples in stretches without a gap")
    return require_noticeable(case, gone)


@kind("sample.deleted.function")
def delete_function(case: Case) -> Changes:
    starts = list_starts(case)
    functions: dict[int, list[rd.Sample]] = collections.defaultdict(list)
    samples = get_witnessed_samples(case)
    for sample in filter(case.is_in_code, filter_unbroken(samples)):
        functions[bisect.bisect_right(starts, sample.regs.get(rd.X86_IP, sample.ip))].append(sample)
    require(len(functions) >= 2, "fewer than two functions have samples")
    return forget_samples(case, require_enough(case, max(functions.values(), key=len)))


@kind("sample.deleted.kernel")
def delete_kernel_samples(case: Case) -> Changes:
    samples = [sample for sample in filter_unbroken(get_witnessed_samples(case))
             if sample.misc & CPUMODE == rd.KERNEL]
    return forget_samples(case, require_enough(case, samples))


@kind("sample.deleted.3-in-a-row")
def delete_three_in_a_row(case: Case) -> Changes:
    """Deletes three samples of a thread while it stays on a CPU without a break."""
    samples = get_witnessed_samples(case)
    period = samples[0].one[rd.PERIOD] if samples else 0
    places = [place for place in range(len(samples) - 6)
             if len({sample.cpu for sample in samples[place:place + 7]}) == 1 and all(
                 0.95 < (late.time - early.time) / period < 1.05
                 for early, late in zip(samples[place:place + 6], samples[place + 1:]))]
    require(places, "no seven samples of a thread are a period apart")
    place = places[case.seed % len(places)]
    return forget_samples(case, samples[place + 2:place + 5])


def find_main_thread(case: Case) -> int:
    """Returns the tid of the thread with most samples in emitted code."""
    count = collections.Counter(code_sample.tid for code_sample in case.code_samples)
    require(count, "the case holds no " + CODE.what)
    return max(sorted(count), key=lambda tid: count[tid])


@kind("sample.deleted.thread")
def delete_thread(case: Case) -> Changes:
    thread = find_main_thread(case)
    return remove_samples(case, lambda sample: sample.tid == thread)


@kind("sample.deleted.cpu")
def delete_cpu(case: Case) -> Changes:
    """Deletes all samples of one of several CPUs, like a lost ring."""
    cpus = sorted({code_sample.cpu for code_sample in case.code_samples})
    require(len(cpus) >= 2, "all samples in emitted code are of one CPU")
    return remove_samples(case, lambda sample: sample.cpu == cpus[0])
