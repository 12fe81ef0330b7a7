#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""samply attached to a process: stacks by call frame information and, where there is none, by frame
pointers; names of perf maps and jitdumps. Names alone: its addresses are those in libraries.

$JITPROOF_SAMPLY is the samply to use; else that of ci/peers, else the one that PATH leads to.
"""

import os
import re
import sys
import time
from typing import IO, Sequence

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from adapting import gecko
from adapting.program import Program
from adapting.protocol import TIMEOUT_S, find, main, version_of

LOST = re.compile(r"^Lost (\d+) events", re.M)


def program() -> str:
    return find("samply", "JITPROOF_SAMPLY", "python3 ci/peers samply")


def version() -> str:
    return version_of("samply", r"^samply (\d\S*)", program(), "--version")


class Samply(Program):
    sampling = "until Ctrl+C"

    @classmethod
    def version(cls) -> str:
        return version()

    def command(self) -> Sequence[str]:
        return (program(), "record", "--save-only", "--no-open", "-r", str(self.options.freq),
                "-o", self.path("profile.json.gz"), "-p", str(self.pid))

    def rounds(self) -> int:
        """How often it slept: after each reading of all rings, for 100 ms at most."""
        assert self.process
        count = 0
        for tid in os.listdir("/proc/%d/task" % self.process.pid):
            with open("/proc/%d/task/%s/status" % (self.process.pid, tid), encoding="utf-8",
                      errors="replace") as file:
                count += int(file.read().split("\nvoluntary_ctxt_switches:", 1)[1].split()[0])
        return count

    def end(self) -> None:
        # On a signal it forgets what the rings hold. The next sleep may end a reading that began
        # before the stop, and one may be for memory.
        until, last = time.monotonic() + TIMEOUT_S, self.rounds() + 3
        while self.rounds() < last:
            self.wait(until, "read its rings")
        super().end()

    def write(self, file: IO[str]) -> None:
        stream = self.stream(file, gecko.DECLARES, "cfi-or-frame-pointers",
                             10**9 // self.options.freq)
        for when, pid, tid, frames in gecko.samples_of(gecko.load(self.path("profile.json.gz"))):
            stream.sample(round(when * 10**6), pid, tid, frames)
        self.lost = sum(map(int, LOST.findall(self.words())))
        if self.lost:
            stream.lost(self.stopped, "samples", self.lost)


if __name__ == "__main__":
    main(Samply)
