#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""bpftrace: ustack() of each sample, addresses with the names that it gives them.

$JITPROOF_BPFTRACE is the bpftrace to use; else the one that PATH leads to.
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

# The last probe is attached first: once the other one fires, both are.
PROGRAM = """interval:ms:50 { printf("T %%llu\\n", nsecs); }
profile:hz:%d /%s/ {
	printf("S %%llu %%d %%d\\n%%s\\n", nsecs, pid, tid, ustack(perf, %d));
}"""
TICK = re.compile(rb"^T (\d+)$", re.M)
FRAME = re.compile(r"\s+([0-9a-f]+) (.*) \((.*)\)$")
LOST = re.compile(r"Lost (\d+) events")


def clock_difference() -> int:
    """`nsecs` is CLOCK_BOOTTIME, which goes on while the machine sleeps."""
    best = None
    for _ in range(16):
        before = time.monotonic_ns()
        boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        after = time.monotonic_ns()
        if best is None or after - before < best[0]:
            best = (after - before, boot - (before + after) // 2)
    assert best
    # Within the time that reading both takes they are the same: never suspended.
    return best[1] if abs(best[1]) > 1_000_000 else 0


def watched(pid: int) -> str:
    """A process with its children, to the third generation."""
    parents = ("curtask->" + "real_parent->" * up + "tgid" for up in range(1, 4))
    return " || ".join("%s == %d" % (what, pid) for what in ("pid", *parents))


def frame_of(line: str) -> tuple[int, str | None, str] | None:
    """The address, the name and the file in a line of a stack, if it is one."""
    found = FRAME.match(line)
    if not found:
        return None
    name = re.sub(r"\+(0x[0-9a-f]+|\d+)$", "", found[2])
    known = name != "0x" + found[1].lstrip("0") and found[3] != "[unknown]"
    return int(found[1], 16), name if known else None, found[3]


class Bpftrace(Program):
    name = peer = "bpftrace"
    tells = (r"^bpftrace v?(\d\S*)", "--version")
    needs_root = True
    told = "bpftrace.txt"
    program_text = PROGRAM

    def command(self) -> Sequence[str]:
        return (self.program(), "-B", "none", "-e", self.program_text % (
            self.options.freq, watched(self.pid), min(self.options.max_stack, 127)))

    def environment(self) -> dict[str, str]:
        # As its later versions do: without the cache it reads all symbols again for each sample,
        # 24 ms of it.
        return {**os.environ, "BPFTRACE_PERF_RB_PAGES": "1024", "BPFTRACE_CACHE_USER_SYMBOLS": "1"}

    def begin(self) -> None:
        self.spawn()
        self.await_ticks("begin", 0, 1)

    def await_ticks(self, what: str, after: int, count: int) -> None:
        """Until bpftrace printed @count ticks of later than @after, and all that was before."""
        until = time.monotonic() + TIMEOUT_S
        while sum(int(when) > after for when in TICK.findall(self.output())) < count:
            self.wait(until, what)

    def output(self) -> bytes:
        with open(self.path(self.told), "rb") as file:
            return file.read()

    def samples(self) -> int:
        return self.output().count(b"\nS ")

    def end(self) -> None:
        # It ends without printing what its rings still hold: each round of it reads all of them,
        # and what was there before a tick is printed with the one after it.
        self.await_ticks("print what it sampled", self.stopped + clock_difference(), 2)
        super().end()

    def stacks(self) -> Iterator[tuple[int, int, int, list[Frame]]]:
        sample: tuple[int, int, int, list[Frame]] | None = None
        for line in self.output().decode("utf-8", "surrogateescape").split("\n"):
            words = line.split(" ")
            if words[0] == "S" and len(words) == 4:
                if sample:
                    yield sample
                sample = (int(words[1]), int(words[2]), int(words[3]), [])
            elif sample and (found := frame_of(line)):
                sample[3].append(found[:2])
            elif lost := LOST.search(line):
                self.lost += int(lost[1])
        if sample:
            yield sample

    def write(self, file: IO[str]) -> None:
        difference = clock_difference()
        stream = self.stream(file, ["no-mappings", "no-tasks"],
                             period=10**9 // self.options.freq)
        for when, pid, tid, frames in self.stacks():
            stream.sample(when - difference, pid, tid, frames)
        self.lost += sum(map(int, LOST.findall(self.words())))
        if self.lost:
            stream.lost(self.stopped, "samples", self.lost)


if __name__ == "__main__":
    main(Bpftrace)
