#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for the OpenTelemetry eBPF profiler: stacks of the whole machine, which it unwinds in the
kernel by call frame information. Its samples have no names for native code. A stack ends at the
code of a JIT that it does not know.

$JITPROOF_OTEL is a build of ci/peers/programs/otel; the default is ci/peers' build.
"""

import os
import re
import subprocess
import sys
import time
from typing import IO, Iterator, Sequence
from urllib.parse import unquote

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from adapting.family import list_other_processes
from adapting.observations import Frame
from adapting.program import Program
from adapting.protocol import TIMEOUT_S, main

TRACING = "/sys/kernel/tracing"
SAMPLE = re.compile(r"^(\d+) (\d+) (\d+)((?: \S+)*)$", re.M)


def parse_samples(text: str) -> Iterator[tuple[int, int, int, list[Frame]]]:
    """Yields (time in ns, pid, tid, frames). Leaves out a trailing "!", which is no frame but marks
    a failed stack walk."""
    for match in SAMPLE.finditer(text):
        words = match[4].split()
        while words and words[-1] == "!":
            words.pop()
        yield (int(match[1]), int(match[2]), int(match[3]),
               ["?" if word == "!" else unquote(word, errors="surrogateescape") for word in words])


def make_tracefs_wrapper() -> Sequence[str]:
    """Returns a command prefix that mounts tracefs for the profiler alone, or () if it is
    mounted."""
    if os.listdir(TRACING):
        return ()
    return ("unshare", "--mount", "sh", "-c",
            'mount -t tracefs tracefs %s && exec "$@"' % TRACING, "sh")


class Otel(Program):
    name = peer = "otel"
    version_from = (r"^v(\d\S*)", "version")
    needs_root = True
    sampling = "jitproof: sampling"

    def begin(self) -> None:
        """Starts the profiler, which first reads all existing processes, and waits until it samples
        a process that is started now."""
        super().begin()
        last = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
        try:
            deadline = time.monotonic() + TIMEOUT_S
            while not re.search(r"^\d+ %d " % last.pid, self.words(), re.M):
                self.wait(deadline, "sample a process")
        finally:
            last.kill()
            last.wait()
        self.others = list_other_processes(self.pid)

    def samples(self) -> int:
        return sum(int(match[2]) not in self.others for match in SAMPLE.finditer(self.words()))

    def command(self) -> Sequence[str]:
        return (*make_tracefs_wrapper(), self.program(), str(self.options.freq))

    def write(self, file: IO[str]) -> None:
        stream = self.stream(file, ("no-addresses", "no-mappings", "no-tasks", "no-losses",
                                    "system-wide"), "cfi", 10**9 // self.options.freq)
        for sample in parse_samples(self.words()):
            stream.sample(*sample)


if __name__ == "__main__":
    main(Otel)
