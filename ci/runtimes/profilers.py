#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests profilers of one language each (harness/profiler/runtimes) on programs that measure the
time of their own functions (ci/runtimes/programs). Each stack must be one that the program has, and
its share of the samples must agree with the program's measurement by the profiler's clock.

Prints TAP; skips a profiler that is not installed and prints how to install it. Exit status: 0 all
are right, 1 a profiler is wrong, 4 none is installed.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from typing import Iterator, Mapping, Sequence
from urllib.parse import unquote

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, process
from ci.base.status import Missing

ADAPTERS = os.path.abspath(__file__ + "/../../../harness/profiler/runtimes")
PROGRAMS = os.path.abspath(__file__ + "/../programs")
SECONDS = 3  # CPU time for which the program is recorded
# Largest difference of a share in standard deviations. Chance exceeds it once in a million.
DEVIATIONS = 5
# Largest share of samples outside of main(): the runtime's own threads.
MAX_OFF_PATH = 0.05
FREQ = 199

Shares = dict[str, float]


def make_python_command(_: str) -> list[str]:
    return [sys.executable, "-S", os.path.join(PROGRAMS, "shares.py")]


def make_java_command(scratch: str) -> list[str]:
    for program in ("javac", "java"):
        process.find_program(program)
    process.run_or_raise(["javac", "-d", scratch, os.path.join(PROGRAMS, "Shares.java")],
                         timeout=120)
    return ["java", "-cp", scratch, "Shares"]


# Clocks by which profilers sample: wall clock, or CPU time of threads. Each profiler has (command
# of the test program, clock).
WALL, CPU = 0, 1
PROFILERS = {"py_spy": (make_python_command, WALL), "austin": (make_python_command, WALL),
             "async_profiler": (make_java_command, CPU)}


def read_cpu_ns(pid: int) -> int:
    """Returns the CPU time of a process. The clock id is that of clock_getcpuclockid(3)."""
    return time.clock_gettime_ns(~pid << 3 | 2)


class Connection:
    """A connection to an adapter or a program that exchanges lines."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def wait_for(self, expected: str) -> None:
        """Waits for a line that begins with @wanted. Raises Missing on "skip", RuntimeError on
        "error" or "crash" or at the end."""
        assert self.process.stdout
        for line in self.process.stdout:
            word, _, remainder = line.rstrip("\n").partition(" ")
            if word == expected:
                return
            if word == "skip":
                raise Missing(remainder)
            if word in ("error", "crash"):
                raise RuntimeError(remainder)
        raise RuntimeError("the process ended before it sent '%s'" % expected)

    def send(self, word: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def read_last_line(self) -> str:
        """Returns the last line, after the end of the process."""
        assert self.process.stdout
        return self.process.stdout.read().strip().rsplit("\n", 1)[-1]

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def compute_shares(weights: Mapping[str, int]) -> Shares:
    shares = sum(weights.values())
    return {path: weight / shares for path, weight in weights.items()} if shares else {}


def parse_stacks(observations: str) -> Iterator[tuple[str, int]]:
    """Yields (path from main on, outermost first; weight) for each line of summed samples."""
    for line in observations.splitlines():
        words = line.split(" ")
        if words[0] != "sample":
            continue
        names = [unquote(word).rsplit(".", 1)[-1] for word in reversed(words[4:])]
        start = names.index("main") if "main" in names else len(names)
        yield ";".join(names[start:]), int(words[1])


def find_path(path: str, truth: Mapping[str, float]) -> str | None:
    """Returns the path of @truth to which a stack belongs, or None. Functions called from a known
    path belong to that path."""
    for known in sorted(truth, key=len, reverse=True):
        if path == known or path.startswith(known + ";"):
            return known
    return None


def find_wrong_shares(truth: Shares, found: Mapping[str, int], evidence: float) -> list[str]:
    """Returns a text for each path whose share of the samples differs from the program's
    measurement. @evidence: number of independent samples in @found."""
    problems, weights = [], dict.fromkeys(truth, 0)
    off_path = 0
    for path, weight in found.items():
        true_path = find_path(path, truth)
        if true_path:
            weights[true_path] += weight
        else:
            off_path += weight
    total = sum(weights.values()) + off_path
    if not total or evidence < 100:
        return ["%.0f samples" % evidence]
    if off_path > MAX_OFF_PATH * total:
        worst = max((path for path in found if not find_path(path, truth)), key=found.__getitem__)
        problems.append("%.1f %% in no path of the program, most in '%s'" % (
            100 * off_path / total, worst))
    for path, share in truth.items():
        measured = weights[path] / total
        bound = DEVIATIONS * math.sqrt(share * (1 - share) / evidence)
        if abs(measured - share) > bound:
            problems.append("%s: %.1f %%, is %.1f %% (+- %.1f)" % (
                path, 100 * measured, 100 * share, 100 * bound))
    return problems


def record_rounds(name: str, program: Connection, home: str) -> float:
    """Records some rounds of the program. Returns the largest possible number of independent
    samples: samples while another process has the CPU repeat the same stack."""
    adapter = Connection([sys.executable, "-B", "-I", "-S", os.path.join(ADAPTERS, name + ".py"),
                          "attach", "--dir", home, "--freq", str(FREQ), "--pid",
                          str(program.process.pid)])
    try:
        adapter.wait_for("sampling")
        cpu_before = read_cpu_ns(program.process.pid)
        spent = 0
        while spent < SECONDS * 10**9:
            program.wait_for("round")
            spent = read_cpu_ns(program.process.pid) - cpu_before
        adapter.send("stop")
        adapter.wait_for("stopped")
        adapter.send("finish")
        adapter.wait_for("done")
    finally:
        adapter.close()
    return FREQ * spent / 1e9


def read_version(name: str) -> str:
    answer = process.run([sys.executable, "-B", "-I", "-S", os.path.join(ADAPTERS, name + ".py"),
                          "version"], timeout=60).stdout.strip()
    if not answer.startswith("version "):
        raise Missing(answer.removeprefix("skip "))
    return answer.removeprefix("version ")


def check_profiler(name: str, scratch: str) -> str:
    """Tests one profiler. Returns a summary. Raises RuntimeError if the profiler is wrong."""
    title = "%s %s" % (name, read_version(name))
    home = os.path.join(scratch, name)
    os.mkdir(home)
    make, clock = PROFILERS[name]
    program = Connection(make(home))
    try:
        program.wait_for("ready")
        program.wait_for("round")
        evidence = record_rounds(name, program, home)
        program.send("end")
        truth = compute_shares({path: clocks[clock] for path, clocks in
                                json.loads(program.read_last_line()).items()})
    finally:
        program.close()
    weights: dict[str, int] = {}
    for path, weight in parse_stacks(files.read(os.path.join(home, "observations"))):
        weights[path] = weights.get(path, 0) + weight
    wrong_shares = find_wrong_shares(truth, weights, evidence)
    if wrong_shares:
        raise RuntimeError("%s: %s" % (title, "; ".join(wrong_shares)))
    return "%s: %d paths, %.0f samples by CPU time" % (title, len(truth), evidence)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("name", nargs="*", default=list(PROFILERS), help="default: all")
    parser.add_argument("--peers", default=os.path.join(os.environ.get("O", "build"), "peers"))
    options = parser.parse_args()
    os.environ["JITPROOF_PEERS"] = os.path.abspath(options.peers)
    failed = nr_tried = 0
    print("1..%d" % len(options.name))
    with tempfile.TemporaryDirectory() as scratch:
        for number, name in enumerate(options.name, 1):
            try:
                print("ok %d %s" % (number, check_profiler(name, scratch)), flush=True)
                nr_tried += 1
            except Missing as reason:
                print("ok %d %s # SKIP %s" % (number, name, reason), flush=True)
            except (OSError, RuntimeError, ValueError) as error:
                print("not ok %d %s # %s" % (number, name, error), flush=True)
                failed += 1
    return 1 if failed else 0 if nr_tried else 4


if __name__ == "__main__":
    sys.exit(main())
