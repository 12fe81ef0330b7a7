#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""bpftrace as most people use it: @[ustack] = count(), names and no times. See bpftrace.py."""

import os
import re
import sys
from typing import IO

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bpftrace
from adapting.observations import Frame
from adapting.protocol import main

# Stacks are kept in the kernel, and named when it ends: the process still lives then.
PROGRAM = """interval:ms:50 { printf("T %%llu\\n", nsecs); }
profile:hz:%d /pid == %d/ { @[pid, tid, ustack(perf, %d)] = count(); }"""
SUM = re.compile(r"@\[(\d+), (\d+), *\n(.*?)\]: (\d+)$", re.M | re.S)


class Counts(bpftrace.Bpftrace):
    program_text = PROGRAM

    before: float | None = None

    def cpu(self) -> float:
        """Seconds of CPU time that the process took so far."""
        try:
            with open("/proc/%d/stat" % self.pid, encoding="utf-8", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            return 0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def samples(self) -> int:
        """It tells none before its end: as many as the CPU time says."""
        if self.before is None:
            self.before = self.cpu()
        return max(0, int((self.cpu() - self.before) * self.options.freq))

    def write(self, file: IO[str]) -> None:
        stream = self.stream(file, ["no-time", "no-addresses"], period=10**9 // self.options.freq)
        text = self.output().decode("utf-8", "surrogateescape")
        for pid, tid, stack, count in SUM.findall(text):
            frames: list[Frame] = []
            for line in stack.splitlines():
                found = bpftrace.frame_of(line)
                if found:
                    frames.append(found[1] or "?")
            stream.sample(int(count), int(pid), int(tid), frames)


if __name__ == "__main__":
    main(Counts)
