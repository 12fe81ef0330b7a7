#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for bpftrace: ustack() of each sample, as addresses with bpftrace's names for them.

$JITPROOF_BPFTRACE is the program; the default is ci/peers' or bpftrace in PATH.
"""

import os
import re
import sys
import time
from typing import IO, Iterator, Sequence

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from adapting.observations import Frame
from adapting.program import Program
from adapting.protocol import TIMEOUT_S, main

# bpftrace attaches the last probe first, so when the interval fires, both are attached.
PROGRAM = """interval:ms:50 { printf("T %%llu\\n", nsecs); }
profile:hz:%d /%s/ {
	printf("S %%llu %%d %%d\\n%%s\\n", nsecs, pid, tid, ustack(perf, %d));
}"""
TICK = re.compile(rb"^T (\d+)$", re.M)
FRAME = re.compile(r"\s+([0-9a-f]+) (.*) \((.*)\)$")
LOST = re.compile(r"Lost (\d+) events")


def measure_clock_difference() -> int:
    """Returns bpftrace's `nsecs` (CLOCK_BOOTTIME) minus CLOCK_MONOTONIC in ns: the time that the
    machine was suspended."""
    best = None
    for _ in range(16):
        before = time.monotonic_ns()
        boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        after = time.monotonic_ns()
        if best is None or after - before < best[0]:
            best = (after - before, boot - (before + after) // 2)
    assert best
    # A difference below 1 ms is the cost of reading the clocks: the machine never slept.
    return best[1] if abs(best[1]) > 1_000_000 else 0


def format_predicate(pid: int) -> str:
    """Returns a predicate that selects a process and its descendants to the third generation."""
    parents = ("curtask->" + "real_parent->" * level + "tgid" for level in range(1, 4))
    return " || ".join("%s == %d" % (field, pid) for field in ("pid", *parents))


def parse_frame(line: str) -> tuple[int, str | None, str] | None:
    """Returns (address, name or None, file) of a stack's line, or None for any other line."""
    match = FRAME.match(line)
    if not match:
        return None
    name = re.sub(r"\+(0x[0-9a-f]+|\d+)$", "", match[2])
    values = name != "0x" + match[1].lstrip("0") and match[3] != "[unknown]"
    return int(match[1], 16), name if values else None, match[3]


class Bpftrace(Program):
    name = peer = "bpftrace"
    version_from = (r"^bpftrace v?(\d\S*)", "--version")
    needs_root = True
    output_file = "bpftrace.txt"
    program_text = PROGRAM

    def command(self) -> Sequence[str]:
        return (self.program(), "-B", "none", "-e", self.program_text % (
            self.options.freq, format_predicate(self.pid), min(self.options.max_stack, 127)))

    def environment(self) -> dict[str, str]:
        # Use the cache of symbols that is the default of later versions: without it, bpftrace 0.17
        # reads all symbols for each sample.
        return {**os.environ, "BPFTRACE_PERF_RB_PAGES": "1024", "BPFTRACE_CACHE_USER_SYMBOLS": "1"}

    def begin(self) -> None:
        self.spawn()
        self.await_ticks("begin", 0, 1)

    def await_ticks(self, action: str, after: int, count: int) -> None:
        """Waits until bpftrace has printed @count ticks later than @after (ns of its clock), and so
        all earlier samples. Raises Failed if it does not; @what: what failed, for the message."""
        deadline = time.monotonic() + TIMEOUT_S
        while sum(int(time_ns) > after for time_ns in TICK.findall(self.output())) < count:
            self.wait(deadline, action)

    def output(self) -> bytes:
        with open(self.path(self.output_file), "rb") as file:
            return file.read()

    def samples(self) -> int:
        return self.output().count(b"\nS ")

    def end(self) -> None:
        # On SIGINT bpftrace drops the content of its rings, so wait until it has read them. It
        # reads all rings in turn, so the second tick comes after all that they held at the first
        # tick.
        self.await_ticks("print its samples", self.stopped + measure_clock_difference(), 2)
        super().end()

    def stacks(self) -> Iterator[tuple[int, int, int, list[Frame]]]:
        sample: tuple[int, int, int, list[Frame]] | None = None
        for line in self.output().decode("utf-8", "surrogateescape").split("\n"):
            words = line.split(" ")
            if words[0] == "S" and len(words) == 4:
                if sample:
                    yield sample
                sample = (int(words[1]), int(words[2]), int(words[3]), [])
            elif sample and (frame := parse_frame(line)):
                sample[3].append(frame[:2])
            elif lost := LOST.search(line):
                self.lost += int(lost[1])
        if sample:
            yield sample

    def write(self, file: IO[str]) -> None:
        difference = measure_clock_difference()
        stream = self.stream(file, ["no-mappings", "no-tasks"],
                             period=10**9 // self.options.freq)
        for time_ns, pid, tid, frames in self.stacks():
            stream.sample(time_ns - difference, pid, tid, frames)
        self.lost += sum(map(int, LOST.findall(self.words())))
        if self.lost:
            stream.lost(self.stopped, "samples", self.lost)


if __name__ == "__main__":
    main(Bpftrace)
