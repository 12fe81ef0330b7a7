#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make bench: compares the CPU time of jitproof and perf for reading, unwinding and injecting the
same files in the same run.

Figures are CPU seconds (user and system) of whole processes, the median of three runs, and peak
memory. The ratios are the result. The files lie on a tmpfs, so that no disk is measured."""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Callable

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, process
from ci.base.text import find_match
from ci.bench import growth, usage
from harness.selftest.support import made_jitdump as mj
from harness.selftest.support import run_directory as rd

SCRIPT = """
function leaf(x) { let s = 0; for (let i = 0; i < 50; i++) s += (i * x) % 7; return s; }
const inner = [];
for (let i = 0; i < 40; i++)
    inner.push(new Function('next', 'return function f' + i + '(x, d) {' +
               'return d ? next()(x + ' + i + ', d - 1) + 1 : 0; }')
               (() => inner[(i * 7 + 3) % 40] || inner[0]));
const end = Date.now() + 1000 * Number(process.argv[2]);
let sum = 0;
while (Date.now() < end)
    for (let i = 0; i < 1000; i++)
        sum += inner[i % 40](i, 16) + leaf(i);
console.log(sum);
"""


def measure(command: list[str], times: int = 3, **more: Any) -> tuple[float, int]:
    """Returns (CPU seconds, peak KiB), the median of @times runs."""
    return sorted(usage.measure_command(command, **more) for _ in range(times))[times // 2]


def judge_file(jitproof: str, path: str, *options: str) -> dict[str, Any]:
    return json.loads(process.run_or_raise([jitproof, "judge", "--json", *options, path]))


def record_workload(perf: str, node: str, folder: str, name: str, seconds: int,
                    *options: str) -> str:
    path = os.path.join(folder, name)
    script = os.path.join(folder, "work.js")
    files.write(script, SCRIPT)
    process.run_or_raise([perf, "record", "-q", "-k", "mono", "-e", "cpu-clock", *options, "-o",
                          path, "--",
                          node, script, str(seconds)])
    return path


def print_row(name: str, seconds: float, samples: int, memory: int, jitproof_time: float) -> None:
    print(f"  {name:<58} {seconds:8.3f} s {1e9 * seconds / samples:10.0f} ns/sample "
          f"{memory / 1024:8.1f} MB {seconds / jitproof_time:8.1f} x ours")


def bench_explaining(jitproof: str, path: str, samples: int) -> float:
    """Checks that explaining a file takes at most three times as long as judging it, which unwinds
    no dump. Runs both in pairs, so that a slow phase of the machine affects both. Returns the CPU
    seconds of judging."""
    pairs = [(usage.measure_command([jitproof, "judge", path]),
              usage.measure_command([jitproof, "explain", "--fail-if", "older-code>100%", path]))
             for _ in range(5)]
    (judged, memory), (explained, peak) = sorted(pairs, key=lambda pair: pair[1][0] / pair[0][0])[2]
    print_row("jitproof judge", judged, samples, memory, judged)
    print_row("jitproof explain (at most 3)", explained, samples, peak, judged)
    if explained > 3 * judged:
        sys.exit("bench: explain takes more than three times as long as judge")
    return judged


def bench_reading(jitproof: str, perf: str, node: str, folder: str, expected: int) -> None:
    seconds = 12
    while True:
        path = record_workload(perf, node, folder, "chains.data", seconds, "-g", "-F", "49999",
                               "-m", "4096")
        samples = judge_file(jitproof, path)["samples"]
        if samples >= expected:
            break
        if seconds > 60:
            sys.exit(f"bench: only {samples} samples in {seconds} s; need {expected}")
        seconds = 1 + seconds * expected * 5 // (samples * 4 or 1)
    print(f"reading {os.path.getsize(path) / 1e6:.0f} MB, {samples} samples with chains:")
    judged = bench_explaining(jitproof, path, samples)
    for name, command in (
            ("perf script --no-inline -F comm,pid,tid,time,ip (aim: 50)",
             [perf, "script", "--no-inline", "-F", "comm,pid,tid,time,ip", "-i", path]),
            ("perf report --no-children -g none (for comparison)",
             [perf, "report", "--stdio", "--no-children", "-g", "none", "-i", path]),
            ("cat (lower bound)", ["cat", path])):
        cpu, memory = measure(command)
        print_row(name, cpu, samples, memory, judged)
    os.unlink(path)


def bench_dumps(jitproof: str, perf: str, node: str, folder: str) -> None:
    path = record_workload(perf, node, folder, "short.data", 12, "--call-graph", "dwarf,1024", "-F",
                           "24999",
                           "-m", "16384")
    samples = judge_file(jitproof, path)["samples"]
    print(f"reading {os.path.getsize(path) / 1e6:.0f} MB, {samples} samples with dumps of 1 KB:")
    bench_explaining(jitproof, path, samples)
    os.unlink(path)


def count_perf_frames(perf: str, path: str) -> tuple[int, int]:
    """Returns the number of frames that perf script prints, and of samples with at least one
    frame."""
    frames = stacks = 0
    with subprocess.Popen([perf, "script", "--no-inline", "-F", "ip", "-i", path],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        before = ""
        assert child.stdout
        for line in child.stdout:
            line = line.strip()
            frames += bool(line)
            stacks += bool(line) and not before
            before = line
    return frames, stacks


def bench_unwinding(jitproof: str, perf: str, node: str, folder: str) -> None:
    path = record_workload(perf, node, folder, "dumps.data", 3, "--call-graph", "dwarf,8192", "-F",
                           "997",
                           "-m", "4096")
    # perf also follows frame pointers where a file has no call frame information.
    judged = judge_file(jitproof, path, "--frame-pointers")
    samples = judged["samples"]
    print(f"unwinding {os.path.getsize(path) / 1e6:.0f} MB, {samples} samples with stack dumps:")
    jitproof_time, memory = measure([jitproof, "judge", "--frame-pointers", path])
    print_row("jitproof judge --frame-pointers", jitproof_time, samples, memory, jitproof_time)
    cpu, memory = measure([perf, "script", "--no-inline", "-i", path])
    print_row("perf script --no-inline", cpu, samples, memory, jitproof_time)
    frames, stacks = count_perf_frames(perf, path)
    # perf ends a stack where emitted code begins, so its stacks are shorter: compare the time per
    # frame.
    faster = cpu / frames / (jitproof_time / judged["unwind"]["frames"])
    print(f"  frames: jitproof {judged['unwind']['frames']}, perf {frames} in {stacks} stacks; "
          f"perf takes {faster:.1f} x as long per frame (aim: 10)")
    if faster < 10:
        sys.exit("bench: perf script is less than 10 times slower per frame")
    if judged["unwind"]["frames"] < frames:
        sys.exit("bench: perf script finds more frames than jitproof")


DEEP = """
#include <stdlib.h>
#include <time.h>

static __attribute__((noinline)) unsigned long down(int depth, unsigned long turns)
{
	volatile unsigned char room[96];
	unsigned long x = turns | 1;

	room[depth % sizeof(room)] = 1;
	if (depth)
		return down(depth - 1, turns) + room[depth % sizeof(room)];
	while (turns--)
		x ^= x << 13 ^ x >> 7;
	return x + room[0];
}

int main(int argc, char **argv)
{
	unsigned long sum = 0;

	while (clock() < 2 * CLOCKS_PER_SEC)
		sum += down(atoi(argv[1]), 200000);
	return sum == 1;
}
"""
# (callers, samples per second in Hz): the rates keep the files of similar size.
DEPTHS = ((10, 9999), (50, 4999), (100, 2999), (250, 1999))


def bench_depth(jitproof: str, folder: str, rounds: int = 9) -> None:
    """Measures the CPU ns per frame by stack depth, in rounds over all depths. The spread between
    rounds of one depth is noise; the deepest stacks may exceed the shallowest only by that."""
    files: dict[int, tuple[str, int, float]] = {}
    seconds_by_depth: dict[int, list[float]] = {depth: [] for depth, _ in DEPTHS}
    # Not on the tmpfs: a program that runs from /dev/shm looks like a JIT's memory.
    with tempfile.TemporaryDirectory() as home:
        program = os.path.join(home, "deep")
        process.compile_c(DEEP, program, "-O2", "-fomit-frame-pointer",
                          "-fno-optimize-sibling-calls")
        for depth, frequency in DEPTHS:
            path = os.path.join(folder, f"deep-{depth}.data")
            process.run_or_raise([jitproof, "record", "--no-chain", "--stack",
                                  str(4096 + 160 * depth),
                                  "-F", str(frequency), "-o", path, "--", program, str(depth)])
            found = judge_file(jitproof, path, "--unwind")["unwind"]
            rooted = found["stops"]["root"] / found["samples"]
            if rooted < 0.95 or found["frames_per_sample"] < depth:
                sys.exit(f"bench: {found['frames_per_sample']:.1f} frames per stack, {rooted:.2f} "
                         f"of them complete; expected at least {depth} frames")
            files[depth] = path, found["frames"], found["frames_per_sample"]
        for _ in range(rounds):
            for depth, (path, frames, _) in files.items():
                read, _ = measure([jitproof, "judge", path], times=1)
                rooted, _ = measure([jitproof, "judge", "--unwind", path], times=1)
                seconds_by_depth[depth].append(1e9 * (rooted - read) / frames)
        for path, frames, deep in files.values():
            print(f"explaining dumps of {deep:.1f} frames:")
            bench_explaining(jitproof, path, round(frames / deep))
    print(f"unwinding by depth: CPU ns per frame in {rounds} rounds (minimum, median, maximum):")
    for depth, (path, frames, deep) in files.items():
        values = sorted(seconds_by_depth[depth])
        print(f"  {deep:6.1f} frames per stack, {frames:8} in all: {values[0]:7.1f} "
              f"{values[rounds // 2]:7.1f} {values[-1]:7.1f} ns")
        os.unlink(path)
    middle = {depth: sorted(values)[rounds // 2] for depth, values in seconds_by_depth.items()}
    shallow, deep = DEPTHS[0][0], DEPTHS[-1][0]
    noise = max(sorted(values)[-2] / sorted(values)[1] for values in seconds_by_depth.values())
    growth = middle[deep] / middle[shallow]
    print(f"  deepest / shallowest: {growth:.2f}; rounds of one depth differ by up to "
          f"{noise:.2f} (without minimum and maximum)")
    if growth > noise:
        sys.exit("bench: unwinding a frame takes longer in a deeper stack")


def bench_storm(jitproof: str, folder: str) -> None:
    """Finds the rate of mapping records that the default rings hold: doubles it until records are
    lost or the workload cannot go faster."""
    rate, made_rate, sustained_rate = 10000, 0.0, 0.0
    while True:
        truth = os.path.join(folder, "storm.truth")
        output, errors = usage.run_workload(
            [jitproof, "record", "-o", os.path.join(folder, "storm.data"), "--", jitproof,
             "workload", "storm", f"--acts={rate}", "--threads=2", "--forks=100", "--truth", truth],
            2)
        os.unlink(truth)
        acts, seconds = find_match(r"(\d+) mappings, \d+ forks in ([\d.]+) s", output).groups()
        lost = int(find_match(r"(\d+) mapping records lost", errors).group(1))
        before, made_rate = made_rate, int(acts) / float(seconds)
        print(f"  {made_rate:8.0f} records/s, 100 forks/s: {lost} lost")
        if lost:
            break
        sustained_rate = max(sustained_rate, made_rate)
        if made_rate < 1.1 * before:
            print("  (two threads cannot go faster on this machine)")
            break
        rate *= 2
    print(f"storm: the default rings hold {sustained_rate:.0f} mapping records per second")


PID, HEAP = 1000, 0x7f0000000000
LOADS = 100000
BYTES = 144  # size of a function: the average of V8's baseline code


def make_jitdump(folder: str, loads: int, build_ids: bool = True) -> str:
    """Writes a capture and its jitdump: a heap that grows by 64 KiB at a time, recorded each time
    as one merged mapping, and a sample in every fifth function. Returns the path of the capture."""
    chance, perf, dump = random.Random(1), mj.capture(), mj.Made(PID)
    if build_ids:  # perf record writes this section unless -B is given; perf inject adds to it
        perf.features[2] = b""
    path = os.path.join(folder, f"jit-{PID}.dump")
    dump.save(path)
    perf.records.append(perf.map(PID, 0x1000, 0x1000, path, 1, ino=os.stat(path).st_ino))
    code, size, time = b"\x90" * BYTES, 0, 10
    for i in range(loads):
        address = HEAP + i * BYTES
        if address + BYTES > HEAP + size:
            size += 65536
            perf.records.append(perf.map(PID, HEAP, size, "//anon", time, prot=7))
        dump.load(time + 1, address, code, i, f"function_{i:06}")
        if i % 5 == 0:
            sample = rd.Sample.make(perf.attrs[0], pid=PID, tid=PID)
            sample.ip, sample.time, sample.id = address + chance.randrange(BYTES), time + 2, 7
            sample.misc = rd.USER
            perf.records.append(sample)
        time += 10
    dump.save(path)
    perf.save(os.path.join(folder, "perf.data"))
    return os.path.join(folder, "perf.data")


def run_perf_report(perf: str, path: str) -> list[str]:
    """Returns the lines of perf report: symbol and number of samples."""
    text = process.run_or_raise([perf, "report", "--stdio", "--no-children", "-g", "none", "-s",
                                 "sym",
                                 "-F", "sample,sym", "-i", path])
    return sorted(line.strip() for line in text.splitlines()
                  if line.strip() and not line.startswith("#"))


def bench_inject(jitproof: str, perf: str, folder: str, loads: int) -> None:
    path = make_jitdump(folder, loads)
    judged, theirs = (os.path.join(folder, name) for name in ("ours.data", "theirs.data"))
    cpu_ours, memory = measure([jitproof, "inject", "--anon=cut", "-i", path, "-o", judged])
    print(f"injecting a jitdump of {loads} loads into a capture of "
          f"{os.path.getsize(path) / 1e6:.0f} MB:")

    def format_line(name: str, cpu: float, kilobytes: int) -> None:
        print(f"  {name:<58} {cpu:8.3f} s {1e9 * cpu / loads:10.0f} ns/load   "
              f"{kilobytes / 1024:8.1f} MB {cpu / cpu_ours:8.1f} x ours")
    format_line("jitproof inject --anon=cut", cpu_ours, memory)
    # perf inject writes each of its files next to the jitdump and again below its home directory;
    # the second copy only if the capture has build ids.
    def run_perf(name: str) -> None:
        format_line(name, *measure([perf, "inject", "--jit", "-i", path, "-o", theirs], times=1,
                                   env={**os.environ, "HOME": folder}))
    run_perf("perf inject --jit (aim: 100)")
    make_jitdump(folder, loads, False)
    run_perf("perf inject --jit, for a capture without build ids")
    names, peer_names = run_perf_report(perf, judged), run_perf_report(perf, theirs)
    print(f"  perf report: {len(names)} lines after jitproof inject, {len(peer_names)} after perf "
          f"inject, {'the same' if names == peer_names else 'NOT the same'}")
    if names != peer_names:
        sys.exit("bench: perf report shows different functions after jitproof inject")


BENCHES: dict[str, Callable[[argparse.Namespace, str], None]] = {
    "reading": lambda args, folder: bench_reading(args.jitproof, args.perf, args.node, folder,
                                                  args.samples),
    "dumps": lambda args, folder: bench_dumps(args.jitproof, args.perf, args.node, folder),
    "unwinding": lambda args, folder: bench_unwinding(args.jitproof, args.perf, args.node, folder),
    "depth": lambda args, folder: bench_depth(args.jitproof, folder),
    "inject": lambda args, folder: bench_inject(args.jitproof, args.perf, folder, LOADS),
    "storm": lambda args, folder: bench_storm(args.jitproof, folder),
    "growth": lambda args, folder: growth.bench(args.jitproof, args.perf, folder),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jitproof", default="build/jitproof",
                        help="the program to measure (default: build/jitproof)")
    parser.add_argument("--perf", default=shutil.which("perf"))
    parser.add_argument("--node", default=shutil.which("node") or shutil.which("nodejs"))
    parser.add_argument("--samples", type=int, default=500000)
    parser.add_argument("--only", choices=tuple(BENCHES))
    parser.add_argument("--folder", default="/dev/shm", help="a tmpfs with room for 2 GB")
    args = parser.parse_args()
    missing = [name for name in ("perf", "node") if not getattr(args, name)]
    if missing:
        sys.exit(f"bench needs {' and '.join(missing)} (see ci/setup)")
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for name in [args.only] if args.only else BENCHES:
            BENCHES[name](args, folder)


if __name__ == "__main__":
    main()
