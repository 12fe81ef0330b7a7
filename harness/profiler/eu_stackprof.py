#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for eu-stackprof of elfutils: addresses without times. Its histograms hold no stacks, so
the adapter reads the log of each walk.

$JITPROOF_EU_STACKPROF is the program; the default is ci/peers' or eu-stackprof in PATH.
"""

import collections
import os
import re
import sys
from typing import IO, Iterator, Sequence

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from adapting.program import Program
from adapting.protocol import main

PERIOD_NS = 1_000_000  # the period cannot be changed by an option
STACK = re.compile(r"^find_dwfl (?:newly seen )?pid (\d+) .*? pc=", re.M)
FRAME = re.compile(r"^\* frame (\d+): rel_pc=\S+ raw_pc=([0-9a-f]+) ", re.M)
RECEIVED = re.compile(r"^TOTAL -- received (\d+) samples", re.M)


class StackProf(Program):
    name, peer = "eu-stackprof", "eu_stackprof"
    version_from = (r"elfutils\) (\d\S*)", "--version")
    sampling = "Starting stack profile collection"
    log = "stackprof.txt"

    def command(self) -> Sequence[str]:
        return (self.program(), "-vvvv", "-n", str(self.options.max_stack), "-p", str(self.pid))

    def environment(self) -> dict[str, str]:
        return {**os.environ, "DEBUGINFOD_URLS": ""}

    def samples(self) -> int:
        return self.words().count("* frame 0:")

    @staticmethod
    def stacks(text: str) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yields (pid, addresses) of each sample. eu-stackprof prints return addresses minus
        one."""
        pieces = STACK.split(text)
        for pid, lines in zip(pieces[1::2], pieces[2::2]):
            yield int(pid), tuple((int(address, 16) + (number != "0")) % 2**64
                                  for number, address in FRAME.findall(lines))

    def write(self, file: IO[str]) -> None:
        text = self.words()
        stream = self.stream(file, ["no-time", "no-threads", "no-names"],
                             "cfi-or-frame-pointers", PERIOD_NS)
        counts = collections.Counter(self.stacks(text))
        for (pid, stack), count in counts.items():
            stream.sample(count, pid, -1, stack)
        # The profiler's own count of lost samples includes stacks of one or two frames, so ignore
        # it.
        walked = sum(count for (_, stack), count in counts.items() if stack)
        self.lost += sum(map(int, RECEIVED.findall(text))) - walked


if __name__ == "__main__":
    main(StackProf)
