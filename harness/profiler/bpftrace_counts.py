#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""bpftrace as most people use it: @[ustack] = count(), names and no times. See bpftrace.py."""

import os
import re
import sys
from typing import IO

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bpftrace
from adapting.native import name_in
from adapting.observations import Frame
from adapting.protocol import main
from adapting.sums import Estimate

# Stacks are kept in the kernel, and named when it ends: the process still lives then.
PROGRAM = """interval:ms:50 { printf("T %%llu\\n", nsecs); }
profile:hz:%d /%s/ { @[pid, tid, ustack(perf, %d)] = count(); }"""
SUM = re.compile(r"@\[(\d+), (\d+), *\n(.*?)\]: (\d+)$", re.M | re.S)


class Counts(bpftrace.Bpftrace):
    program_text = PROGRAM

    def begin(self) -> None:
        super().begin()
        self.estimate = Estimate(self.pid, self.options.freq)

    def samples(self) -> int:
        return self.estimate.samples()

    def write(self, file: IO[str]) -> None:
        stream = self.stream(file, ["no-time", "no-addresses"], period=10**9 // self.options.freq)
        text = self.output().decode("utf-8", "surrogateescape")
        for pid, tid, stack, count in SUM.findall(text):
            frames: list[Frame] = []
            for line in stack.splitlines():
                found = bpftrace.frame_of(line)
                if found:
                    frames.append(found[1] or name_in(found[2]))
            stream.sample(int(count), int(pid), int(tid), frames)


if __name__ == "__main__":
    main(Counts)
