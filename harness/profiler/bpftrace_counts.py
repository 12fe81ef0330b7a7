#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for bpftrace by @[ustack] = count(): names without times. See bpftrace.py."""

import os
import re
import sys
from typing import IO, Iterator

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bpftrace
from adapting.native import name_in
from adapting.observations import Frame
from adapting.protocol import main
from adapting.sums import Estimate

# bpftrace looks up the names of the counted stacks when it ends, while the process still runs.
PROGRAM = """interval:ms:50 { printf("T %%llu\\n", nsecs); }
profile:hz:%d /%s/ { @[pid, tid, ustack(perf, %d)] = count(); }"""
SUM = re.compile(r"@\[(\d+), (\d+), *\n(.*?)\]: (\d+)$", re.M | re.S)
MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) ..x. \S+ \S+ \d+ +(\S.*)$", re.M)
Mappings = list[tuple[range, str]]


def read_mappings(pid: int) -> Mappings:
    """Returns a process's named executable mappings, or [] if it is gone."""
    try:
        with open("/proc/%d/maps" % pid, encoding="utf-8", errors="surrogateescape") as file:
            return [(range(int(start, 16), int(end, 16)), path)
                    for start, end, path in MAPPING.findall(file.read())]
    except OSError:
        return []


class Counts(bpftrace.Bpftrace):
    program_text = PROGRAM

    def begin(self) -> None:
        super().begin()
        self.estimate = Estimate(self.pid, self.options.freq)

    def samples(self) -> int:
        return self.estimate.samples()

    def sums(self) -> list[tuple[int, int, str, int]]:
        """Returns (pid, tid, stack, count) for each counted stack."""
        return [(int(pid), int(tid), stack, int(count)) for pid, tid, stack, count in SUM.findall(
            self.output().decode("utf-8", "surrogateescape"))]

    def end(self) -> None:
        super().end()
        self.mappings = {pid: read_mappings(pid) for pid in {row[0] for row in self.sums()}}

    def write(self, file: IO[str]) -> None:
        stream = self.stream(file, ["no-time", "no-addresses", "no-losses"],
                             period=10**9 // self.options.freq)
        for pid, tid, stack, count in self.sums():
            stream.sample(count, pid, tid, self.frames(stack, self.mappings[pid]))

    @staticmethod
    def frames(stack: str, mappings: Mappings) -> Iterator[Frame]:
        """Yields the names of a stack's frames. Names an unnamed frame by its file, which bpftrace
        does not print."""
        for address, name, _ in filter(None, map(bpftrace.parse_frame, stack.splitlines())):
            paths = (path for addresses, path in mappings if address in addresses)
            yield name or name_in(next(paths, ""))


if __name__ == "__main__":
    main(Counts)
