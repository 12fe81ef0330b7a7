#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make cost: measures what complete stacks cost, by strategy.

* capture: a fixed amount of work, alternately watched and unwatched. The interrupts that take
  samples count as CPU time of the watched program. Wall time is meaningful only on an idle
  machine;
* file: bytes per sample, and the CPU time of the process that drains the rings;
* unwinding: samples per second that jitproof and perf unwind on one core.

Ratios are those of pairs that ran in succession: minimum, median and maximum.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from typing import Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import process
from ci.base.text import find_match
from ci.bench import usage

PAIRS = 7  # number of pairs of compared runs

# Calls 40 functions deep in less than 8 KiB, all with frame pointers. The environment lies above
# them on the stack, so that the largest dump is full. Prints the wall and CPU time of the work, in
# ns.
WORK = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static __attribute__((noinline)) unsigned long down(int depth, unsigned long turns)
{
	volatile unsigned char room[96];
	unsigned long x = turns | 1;

	room[depth] = 1;
	if (depth)
		return down(depth - 1, turns) + room[depth];
	while (turns--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x + room[depth];
}

static unsigned long long now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long long wall, cpu;
	unsigned long sum = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(atoi(argv[2]), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return 1;
	wall = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < 1000; i++)
		sum += down(38, atol(argv[1]));
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	wall = now(CLOCK_MONOTONIC) - wall;
	fprintf(stderr, "work: %llu %llu %lu\n", wall, cpu, sum & 1);
	return 0;
}
"""
TURNS = 200000  # in each of 1000 rounds: about 0.4 s in total
PADDING = {"JITPROOF_PADDING": "x" * 70000}

# Options of `jitproof record`.
STRATEGIES: dict[str, list[str]] = {
    "kernel frame pointers": [],
    "dump of 8 KiB": ["--no-chain", "--stack", "8192"],
    "dump of 64 KiB": ["--no-chain", "--stack", "65520"],
    "both, dump of 8 KiB": ["--stack", "8192"],
}


# Methods that unwind the dumped stack (docs/methods.md).
METHODS = ("dump", "dump_fp", "dump_cfi")


def format_spread(values: Sequence[float], form: str = "%.2f") -> str:
    """Returns the minimum, median and maximum, separated by blanks."""
    return " ".join(form % value for value in (min(values), statistics.median(values), max(values)))


class Bench:
    def __init__(self, options: argparse.Namespace, folder: str, home: str) -> None:
        self.options, self.folder = options, folder
        # Not on the tmpfs: a program that runs from /dev/shm looks like a JIT's memory.
        self.program = os.path.join(home, "work")
        cpus = sorted(os.sched_getaffinity(0))
        # Keep the reader off the CPU of the work if there is another CPU.
        self.cpu, self.rest = cpus[-1], set(cpus[:-1]) or set(cpus)
        process.compile_c(WORK, self.program, "-O2", "-g", "-fno-omit-frame-pointer",
                          "-fno-optimize-sibling-calls")

    def run(self, before: Sequence[str] = (), turns: int = TURNS) -> tuple[int, int, float, str]:
        """Runs the work. Returns (wall ns, CPU ns of the work; CPU seconds of all other processes;
        standard error)."""
        with tempfile.TemporaryFile("w+", dir=self.folder) as errors:
            with subprocess.Popen([*before, self.program, str(turns), str(self.cpu)],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=errors, env={**os.environ, **PADDING}) as child:
                os.sched_setaffinity(child.pid, self.rest)
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            errors.seek(0)
            text = errors.read()
        if child.returncode:
            sys.exit("%s: exit %d: %s" % (" ".join(before), child.returncode, text.strip()))
        wall, cpu = map(int, find_match(r"work: (\d+) (\d+)", text).groups())
        return wall, cpu, usage.ru_utime + usage.ru_stime - cpu / 1e9, text

    def record_work(self, name: str, frequency: int,
                    turns: int = TURNS) -> tuple[int, int, float, int, int, str]:
        """Records the work. Returns the first three values of run(), then (samples, lost, path)."""
        path = os.path.join(self.folder, "perf.data")
        wall, cpu, reader, errors = self.run([self.options.jitproof, "record", "-F", str(frequency),
                                            *STRATEGIES[name], "-o", path, "--"], turns)
        counts = find_match(r"(\d+) samples, (\d+) lost", errors)
        return wall, cpu, reader, int(counts[1]), int(counts[2]), path

    def measure_capture(self, name: str, frequency: int) -> None:
        rows, lost = [], 0
        # Do not charge the cost of starting and stopping the capture to samples.
        start = statistics.median(self.record_work(name, frequency, 1)[2] for _ in range(3))
        for _ in range(PAIRS):
            wall, cpu, _, _ = self.run()
            watched, watched_cpu, reader, samples, gone, path = self.record_work(name, frequency)
            lost += gone
            rows.append((watched / wall, watched_cpu / cpu, (watched_cpu - cpu) / 1e3 / samples,
                         1e9 * samples / watched_cpu, os.path.getsize(path) / samples,
                         1e6 * (reader - start) / samples))
        walls, cpus, each, rates, sizes, readers = zip(*rows)
        print("  %-22s %5d | %7.0f | %s | %s | %s | %6.0f | %s | %d" % (
            name, frequency, statistics.median(rates), format_spread(cpus, "%.3f"),
            format_spread(walls, "%.3f"), format_spread(each, "%6.1f"), statistics.median(sizes),
            format_spread(readers, "%6.1f"), lost), flush=True)

    def measure_unwinding(self, name: str) -> None:
        """Measures unwinding with six times the work and subtracts the cost of plain reading."""
        _, _, _, samples, _, path = self.record_work(name, 1999, 6 * TURNS)
        perf = samples / usage.measure_command([self.options.perf, "script", "--no-inline", "-i",
                                          path])[0] if self.options.perf else None
        dumps = "--stack" in STRATEGIES[name]
        for method in METHODS if dumps else ["dump"]:
            self.measure_method(method, name if method == "dump" else "  by " + method, path,
                                samples, perf if method == "dump" else None, dumps)
        os.unlink(path)

    def measure_method(self, method: str, name: str, path: str, samples: int, perf: float | None,
                       dumps: bool) -> None:
        read, whole = [], []
        judge = [self.options.jitproof, "judge", "--method", method]
        frames = json.loads(process.run_or_raise([*judge, "--json",
                                                  path]))["unwind"]["frames_per_sample"]
        for _ in range(PAIRS):
            read.append(usage.measure_command([self.options.jitproof, "judge", path])[0])
            whole.append(usage.measure_command([*judge, path])[0])
        each = [1e6 * (unwound - plain) / samples for unwound, plain in zip(whole, read)]
        print("  %-22s | %7d | %6.1f | %s | %s | %9.0f | %9s" % (
            name, samples, frames, format_spread([1e6 * seconds / samples for seconds in read]),
            format_spread(each) if dumps else "no dumps        ",
            samples / statistics.median(whole),
            "%.0f" % perf if perf else "-"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jitproof", default="build/jitproof")
    parser.add_argument("--perf", default="perf")
    parser.add_argument("--folder", default="/dev/shm", help="a tmpfs with room for 1 GB")
    options = parser.parse_args()
    if options.perf and not shutil.which(options.perf):
        options.perf = None
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, \
            tempfile.TemporaryDirectory() as home:
        bench = Bench(options, folder, home)
        print("capture: %d pairs of watched / unwatched: minimum, median, maximum" % PAIRS)
        print("  %-22s %5s | %7s | %-17s | %-17s | %-20s | %6s | %-20s | lost" % (
            "strategy", "asked", "per CPU", "CPU time", "wall time", "CPU us / sample", "bytes",
            "reader us / sample"))
        for frequency in (999, 9999):
            for name in STRATEGIES:
                bench.measure_capture(name, frequency)
        print("unwinding: CPU us per sample")
        print("  %-22s | %7s | %6s | %-14s | %-16s | %9s | %9s" % (
            "strategy", "samples", "frames", "reading", "unwinding", "jitproof/s", "perf/s"))
        for name in STRATEGIES:
            bench.measure_unwinding(name)


if __name__ == "__main__":
    main()
