# SPDX-License-Identifier: GPL-2.0-only
"""Findings about what perf itself shows of the files that it injected into; see __main__.py."""

import glob
import os
import re
import shutil

from ci.base import process
from ci.findings import files, inject, perf as recording
from ci.findings.context import Context, perf_finding
from ci.perf.perf_tools import Perf

UNWINDING = "jitdump --publish-with=unwinding-apart --publish-dir="


def shown_after_inject(context: Context, perf: Perf, place: str,
                       workload: str = "anon_exec") -> tuple[int, int]:
    """Returns (samples, those without any address) after inject --jit of a jitdump in @place."""
    folder, pids = files.record_workloads(context, perf, UNWINDING + place, graph="dwarf",
                                          workload=workload)
    try:
        inject.run_inject(perf, folder)
        return recording.count_stacks(perf, os.path.join(folder, "injected"))
    finally:
        for path in glob.glob("/tmp/jit*-%d[-.]*" % pids[0]):
            os.unlink(path)


@perf_finding("perf.inject-outside-tmp")
def show_dump_outside_tmp(context: Context, perf: Perf) -> tuple[bool, str]:
    nr_inside = shown_after_inject(context, perf, "/tmp")
    outside = shown_after_inject(context, perf, ".")
    return outside[1] > outside[0] // 2 and nr_inside[1] <= nr_inside[0] // 2, \
        "jitdump outside of /tmp: %d of %d samples without any address; in /tmp: %d of %d" % (
            outside[1], outside[0], nr_inside[1], nr_inside[0])


@perf_finding("perf.unwind-reused")
def show_reused(context: Context, perf: Perf) -> tuple[bool, str]:
    shown_names = shown_after_inject(context, perf, "/tmp", "address_reuse --period=0")
    reused = shown_after_inject(context, perf, "/tmp", "address_reuse --period=100")
    return reused[1] > reused[0] // 10 > shown_names[1], \
        "code at addresses of older code: %d of %d samples without any address; code that " \
        "stays: %d of %d" % (reused[1], reused[0], shown_names[1], shown_names[0])


@perf_finding("perf.unwind-no-elf")
def show_no_jit_elf(context: Context, perf: Perf) -> tuple[bool, str]:
    folder, _ = files.record_workloads(context, perf, "none", graph="dwarf")
    samples, bare = recording.count_stacks(perf, os.path.join(folder, "perf.data"))
    return bare > samples // 2, \
        "JIT code that nobody published: %d of %d samples without any address" % (bare, samples)


def find_jitted_addresses(perf: Perf, path: str) -> set[str]:
    """Returns the addresses of the mappings that inject --jit added."""
    return set(re.findall(r" PERF_RECORD_MMAP2 .*\[(0x\w+)\(.*/jitted-",
                          perf.run("script", "-D", "-i", path).stdout))


@perf_finding("perf.inject-aslr")
def show_aslr(context: Context, perf: Perf) -> tuple[bool, str]:
    folder, _ = files.record_workloads(context, perf, "jitdump --publish-dir=.")
    path = os.path.join(folder, "injected")
    inject.run_inject(perf, folder)
    real = find_jitted_addresses(perf, path)
    os.unlink(path)
    result = inject.run_inject(perf, folder, "--aslr")[1]
    if "unknown option" in result.stderr:
        return False, "inject has no --aslr"
    addresses = find_jitted_addresses(perf, path) & real
    judged = recording.judge_file(context, path)
    return bool(addresses), \
        "%d of %d injected records keep their real address; %d of %d samples in no mapping" % (
            len(addresses), len(real), judged["sampled"]["unmapped"], judged["samples"])


@perf_finding("perf.inject-threads")
def show_threads_folder(context: Context, perf: Perf) -> tuple[bool, str]:
    path, injected = context.path("threads.data"), context.path("threads.injected")
    for file in (path, injected):
        shutil.rmtree(file, ignore_errors=True)
    result = perf.run("record", "-q", "--threads", "-e", "cpu-clock:u", "-g", "-o", path, "--",
                      context.program, "200")
    if "unknown option" in result.stderr:
        return False, "record has no --threads"
    before = recording.count_stacks(perf, path)[0]
    result = perf.run("inject", "-i", path, "-o", injected)
    after = recording.count_stacks(perf, injected)[0]
    return result.returncode == 0 and after < before, \
        "%d samples; inject ends with %d, then %d" % (before, result.returncode, after)


@perf_finding("perf.inject-convert")
def show_convert_refused(context: Context, perf: Perf) -> tuple[bool, str]:
    path, converted = context.path("plain.data"), context.path("converted.data")
    recording.run_record(perf, "-e", "cpu-clock:u", "-g", "-o", path, "--", context.program,
                         "100")
    result = perf.run("inject", "--convert-callchain", "-i", path, "-o", converted)
    refused = "requires DWARF call graph" in result.stderr
    return refused and result.returncode == 0, \
        "inject --convert-callchain of frame pointer chains ends with %d, message: %s%s" % (
            result.returncode, (result.stderr.strip() or "nothing").splitlines()[0],
            ", leaves %d bytes" % os.path.getsize(converted) if refused else "")


def count_frames(perf: Perf, path: str) -> int:
    """Returns how many frames of stacks perf script shows; the address of a sample without a stack
    is on the sample's own line."""
    return len(re.findall(r"^\s+[0-9a-f]+", perf.run("script", "-F", "comm,ip", "-i", path).stdout,
                          re.MULTILINE))


@perf_finding("perf.unwind-no-chain")
def show_dump_alone(context: Context, perf: Perf) -> tuple[bool, str]:
    alone, both = context.path("alone.data"), context.path("both.data")
    for path, *options in ((alone, "--no-chain"), (both,)):
        process.run_or_raise([context.jitproof, "record", "--stack=8192", *options, "-o", path,
                              "--",
                              context.program, "200"], timeout=60)
    counts = count_frames(perf, alone), count_frames(perf, both)
    return counts[0] < counts[1] // 10, \
        "%d frames of the dumps without callchains, %d of those with" % counts
