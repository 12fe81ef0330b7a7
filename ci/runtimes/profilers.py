#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Profilers of one language each (harness/profiler/runtimes) against programs that know how much
time went into which functions (ci/runtimes/programs): is every stack one that there was, and is the
share of each what the program measured, by the clock that the profiler samples by?

Prints TAP; a profiler that is not here is skipped with what installs it. Exit status: 0 all are
right, 1 one is not, 4 none could be tried.
"""

import argparse
import json
import math
import os
import shutil
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
SECONDS = 3  # of CPU time, in which the program is watched
# A share may be off by five standard deviations: once in a million.
DEVIATIONS = 5
# What may stand outside of main(): the runtime's own threads.
ELSEWHERE = 0.05
FREQ = 199

Shares = dict[str, float]


def python(_: str) -> list[str]:
    return [sys.executable, "-S", os.path.join(PROGRAMS, "shares.py")]


def java(scratch: str) -> list[str]:
    for program in ("javac", "java"):
        if not shutil.which(program):
            raise Missing("%s is not installed" % program)
    process.must(["javac", "-d", scratch, os.path.join(PROGRAMS, "Shares.java")], timeout=120)
    return ["java", "-cp", scratch, "Shares"]


# What is profiled, and by which clock: that of the wall, or the CPU time of threads.
WALL, CPU = 0, 1
PROFILERS = {"py_spy": (python, WALL), "austin": (python, WALL), "async_profiler": (java, CPU)}


def cpu_ns(pid: int) -> int:
    """CPU time of a process: its clock, as clock_getcpuclockid(3) names it."""
    return time.clock_gettime_ns(~pid << 3 | 2)


class Talk:
    """With an adapter or a program: lines."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def hear(self, wanted: str) -> None:
        """Until it says @wanted."""
        assert self.process.stdout
        for line in self.process.stdout:
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == wanted:
                return
            if word == "skip":
                raise Missing(rest)
            if word in ("error", "crash"):
                raise RuntimeError(rest)
        raise RuntimeError("it ended before it said '%s'" % wanted)

    def say(self, word: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def last(self) -> str:
        """Its last line."""
        assert self.process.stdout
        return self.process.stdout.read().strip().rsplit("\n", 1)[-1]

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def shares(weights: Mapping[str, int]) -> Shares:
    whole = sum(weights.values())
    return {path: weight / whole for path, weight in weights.items()} if whole else {}


def stacks(observations: str) -> Iterator[tuple[str, int]]:
    """(path from main on, outermost first; weight) of a stream of sums."""
    for line in observations.splitlines():
        words = line.split(" ")
        if words[0] != "sample":
            continue
        names = [unquote(word).rsplit(".", 1)[-1] for word in reversed(words[4:])]
        start = names.index("main") if "main" in names else len(names)
        yield ";".join(names[start:]), int(words[1])


def path_of(path: str, truth: Mapping[str, float]) -> str | None:
    """Which of the truth's paths a stack is: what it called there itself belongs to it."""
    for known in sorted(truth, key=len, reverse=True):
        if path == known or path.startswith(known + ";"):
            return known
    return None


def judge(truth: Shares, found: Mapping[str, int], evidence: float) -> list[str]:
    """What is wrong; @evidence: how many independent samples stand behind @found."""
    told, weights = [], dict.fromkeys(truth, 0)
    elsewhere = 0
    for path, weight in found.items():
        known = path_of(path, truth)
        if known:
            weights[known] += weight
        else:
            elsewhere += weight
    whole = sum(weights.values()) + elsewhere
    if not whole or evidence < 100:
        return ["%.0f samples" % evidence]
    if elsewhere > ELSEWHERE * whole:
        worst = max((path for path in found if not path_of(path, truth)), key=found.__getitem__)
        told.append("%.1f %% in no path of the program, most in '%s'" % (100 * elsewhere / whole,
                                                                       worst))
    for path, share in truth.items():
        seen = weights[path] / whole
        bound = DEVIATIONS * math.sqrt(share * (1 - share) / evidence)
        if abs(seen - share) > bound:
            told.append("%s: %.1f %%, is %.1f %% (+- %.1f)" % (path, 100 * seen, 100 * share,
                                                           100 * bound))
    return told


def watch(name: str, program: Talk, home: str) -> float:
    """Records the program for some rounds; how many independent samples that can be: what is seen
    again while another process has the CPU is none."""
    adapter = Talk([sys.executable, "-B", "-I", "-S", os.path.join(ADAPTERS, name + ".py"),
                    "attach", "--dir", home, "--freq", str(FREQ), "--pid",
                    str(program.process.pid)])
    try:
        adapter.hear("sampling")
        before = cpu_ns(program.process.pid)
        spent = 0
        while spent < SECONDS * 10**9:
            program.hear("round")
            spent = cpu_ns(program.process.pid) - before
        adapter.say("stop")
        adapter.hear("stopped")
        adapter.say("finish")
        adapter.hear("done")
    finally:
        adapter.close()
    return FREQ * spent / 1e9


def version(name: str) -> str:
    said = process.run([sys.executable, "-B", "-I", "-S", os.path.join(ADAPTERS, name + ".py"),
                        "version"], timeout=60).stdout.strip()
    if not said.startswith("version "):
        raise Missing(said.removeprefix("skip "))
    return said.removeprefix("version ")


def study(name: str, scratch: str) -> str:
    """One profiler: what it says that is right; RuntimeError: what is not."""
    said = "%s %s" % (name, version(name))
    home = os.path.join(scratch, name)
    os.mkdir(home)
    make, clock = PROFILERS[name]
    program = Talk(make(home))
    try:
        program.hear("ready")
        program.hear("round")
        evidence = watch(name, program, home)
        program.say("end")
        truth = shares({path: clocks[clock] for path, clocks in
                        json.loads(program.last()).items()})
    finally:
        program.close()
    found: dict[str, int] = {}
    for path, weight in stacks(files.read(os.path.join(home, "observations"))):
        found[path] = found.get(path, 0) + weight
    wrong = judge(truth, found, evidence)
    if wrong:
        raise RuntimeError("%s: %s" % (said, "; ".join(wrong)))
    return "%s: %d paths, %.0f samples by CPU time" % (said, len(truth), evidence)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("name", nargs="*", default=list(PROFILERS), help="default: all")
    parser.add_argument("--peers", default=os.path.join(os.environ.get("O", "build"), "peers"))
    options = parser.parse_args()
    os.environ["JITPROOF_PEERS"] = os.path.abspath(options.peers)
    failed = tried = 0
    print("1..%d" % len(options.name))
    with tempfile.TemporaryDirectory() as scratch:
        for number, name in enumerate(options.name, 1):
            try:
                print("ok %d %s" % (number, study(name, scratch)), flush=True)
                tried += 1
            except Missing as reason:
                print("ok %d %s # SKIP %s" % (number, name, reason), flush=True)
            except (OSError, RuntimeError, ValueError) as error:
                print("not ok %d %s # %s" % (number, name, error), flush=True)
                failed += 1
    return 1 if failed else 0 if tried else 4


if __name__ == "__main__":
    sys.exit(main())
