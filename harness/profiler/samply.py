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
from adapting.observations import Stream
from adapting.program import Program
from adapting.protocol import TIMEOUT_S, main

PARANOID = "/proc/sys/kernel/perf_event_paranoid"
LOST = re.compile(r"^Lost (\d+) events", re.M)


def beside_no_counters(folder: str) -> Sequence[str]:
    """How root starts it: where there is no hardware counter, samply 0.13.1 takes the refusal for
    one of rights, and ends unless perf_event_paranoid says that it may (results/FINDINGS.md). Root
    may whatever that says, so samply alone reads 1 there."""
    with open(PARANOID, encoding="ascii") as file:
        if os.geteuid() or int(file.read()) <= 1:
            return ()
    path = os.path.join(folder, "paranoid")
    with open(path, "w", encoding="ascii") as file:
        file.write("1\n")
    return ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" %s && exec "$@"' % PARANOID, path)


def tell(stream: Stream, profile: str, symbols: gecko.Symbols | None = None) -> None:
    """Each sample of the file @profile."""
    for when, pid, tid, frames in gecko.samples_of(gecko.load(profile), symbols):
        stream.sample(round(when * 10**6), pid, tid, frames)


class Samply(Program):
    name = peer = "samply"
    tells = (r"^samply (\d\S*)", "--version")
    sampling = "until Ctrl+C"
    more: Sequence[str] = ()  # options

    def command(self) -> Sequence[str]:
        return (*beside_no_counters(self.options.dir), self.program(), "record", "--save-only",
                "--no-open", "-r", str(self.options.freq), "-o", self.path("profile.json.gz"),
                *self.more, "-p", str(self.pid))

    def symbols(self) -> gecko.Symbols | None:
        """Those that stand beside the profile."""
        return None

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
        tell(stream, self.path("profile.json.gz"), self.symbols())
        self.lost = sum(map(int, LOST.findall(self.words())))
        if self.lost:
            stream.lost(self.stopped, "samples", self.lost)


if __name__ == "__main__":
    main(Samply)
