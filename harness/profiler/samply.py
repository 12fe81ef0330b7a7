#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for samply: stacks by call frame information, or else by frame pointers; names of perf
maps and jitdumps. Names without addresses: samply's are relative to libraries.

$JITPROOF_SAMPLY is the program; the default is ci/peers' or samply in PATH.
"""

import os
import re
import sys
import time
from typing import IO, Iterator, Sequence

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from adapting import gecko
from adapting.observations import Sample
from adapting.program import Program
from adapting.protocol import TIMEOUT_S, main

PARANOID = "/proc/sys/kernel/perf_event_paranoid"
LOST = re.compile(r"^Lost (\d+) events", re.M)


def make_paranoid_wrapper(folder: str) -> Sequence[str]:
    """Returns a command prefix that makes samply read 1 in perf_event_paranoid, or (). Without a
    hardware counter, samply 0.13.1 reports missing rights and ends if it reads more than 1
    (results/FINDINGS.md); root has the rights whatever the file contains."""
    with open(PARANOID, encoding="ascii") as file:
        if os.geteuid() or int(file.read()) <= 1:
            return ()
    path = os.path.join(folder, "paranoid")
    with open(path, "w", encoding="ascii") as file:
        file.write("1\n")
    return ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" %s && exec "$@"' % PARANOID, path)


def parse_samples(profile: str, symbols: gecko.Symbols | None = None) -> Iterator[Sample]:
    for time_ns, pid, tid, frames in gecko.parse_samples(gecko.load(profile), symbols):
        yield round(time_ns * 10**6), pid, tid, frames


class Samply(Program):
    name = peer = "samply"
    version_from = (r"^samply (\d\S*)", "--version")
    sampling = "until Ctrl+C"
    more: Sequence[str] = ()  # more options for samply

    def command(self) -> Sequence[str]:
        return (*make_paranoid_wrapper(self.options.dir), self.program(), "record", "--save-only",
                "--no-open", "-r", str(self.options.freq), "-o", self.path("profile.json.gz"),
                *self.more, "-p", str(self.pid))

    def symbols(self) -> gecko.Symbols | None:
        """Returns the symbols that samply wrote next to the profile, if any."""
        return None

    def rounds(self) -> int:
        """Returns how often samply's threads slept. They sleep at most 100 ms after each read of
        all rings."""
        assert self.process
        count = 0
        for tid in os.listdir("/proc/%d/task" % self.process.pid):
            with open("/proc/%d/task/%s/status" % (self.process.pid, tid), encoding="utf-8",
                      errors="replace") as file:
                count += int(file.read().split("\nvoluntary_ctxt_switches:", 1)[1].split()[0])
        return count

    def end(self) -> None:
        # On a signal samply drops the content of its rings, so wait until it has read them. Wait
        # for three sleeps: one may end a read that began before the stop, one may wait for memory.
        deadline, last = time.monotonic() + TIMEOUT_S, self.rounds() + 3
        while self.rounds() < last:
            self.wait(deadline, "read its rings")
        super().end()

    def write(self, file: IO[str]) -> None:
        stream = self.stream(file, gecko.DECLARES, "cfi-or-frame-pointers",
                             10**9 // self.options.freq)
        for sample in parse_samples(self.path("profile.json.gz"), self.symbols()):
            stream.sample(*sample)
        self.lost = sum(map(int, LOST.findall(self.words())))
        if self.lost:
            stream.lost(self.stopped, "samples", self.lost)


if __name__ == "__main__":
    main(Samply)
