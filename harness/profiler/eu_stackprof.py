#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""eu-stackprof of elfutils: what it says of each sample while it walks it, which its histograms
leave out: addresses without times.

$JITPROOF_EU_STACKPROF is the program to use; else what ci/peers installed, or eu-stackprof.
"""

import collections
import os
import re
import sys
from typing import IO, Iterator, Sequence

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from adapting.program import Program
from adapting.protocol import main

PERIOD_NS = 1_000_000  # it knows no other
STACK = re.compile(r"^find_dwfl (?:newly seen )?pid (\d+) .*? pc=", re.M)
FRAME = re.compile(r"^\* frame (\d+): rel_pc=\S+ raw_pc=([0-9a-f]+) ", re.M)
RECEIVED = re.compile(r"^TOTAL -- received (\d+) samples", re.M)


class StackProf(Program):
    name, peer = "eu-stackprof", "eu_stackprof"
    tells = (r"elfutils\) (\d\S*)", "--version")
    sampling = "Starting stack profile collection"
    said = "stackprof.txt"

    def command(self) -> Sequence[str]:
        return (self.program(), "-vvvv", "-n", str(self.options.max_stack), "-p", str(self.pid))

    def environment(self) -> dict[str, str]:
        return {**os.environ, "DEBUGINFOD_URLS": ""}

    def samples(self) -> int:
        return self.words().count("* frame 0:")

    @staticmethod
    def stacks(text: str) -> Iterator[tuple[int, tuple[int, ...]]]:
        """(pid, addresses) of each sample. It shows of a caller the call's last byte, where that
        is 0 too."""
        pieces = STACK.split(text)
        for pid, lines in zip(pieces[1::2], pieces[2::2]):
            yield int(pid), tuple((int(address, 16) + (number != "0")) % 2**64
                                  for number, address in FRAME.findall(lines))

    def write(self, file: IO[str]) -> None:
        text = self.words()
        stream = self.stream(file, ["no-time", "no-threads", "no-names"],
                             "cfi-or-frame-pointers", PERIOD_NS)
        told = collections.Counter(self.stacks(text))
        for (pid, stack), count in told.items():
            stream.sample(count, pid, -1, stack)
        # It calls lost what has one frame or two as well, as a process has in its first steps.
        walked = sum(count for (_, stack), count in told.items() if stack)
        self.lost += sum(map(int, RECEIVED.findall(text))) - walked


if __name__ == "__main__":
    main(StackProf)
