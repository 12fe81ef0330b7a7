#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for async-profiler in a Java process: how often each stack of Java and native functions
occurred. It samples by the threads' CPU time (ctimer). jcmd loads it into the process.

$JITPROOF_ASYNC_PROFILER is the path of libasyncProfiler.so; the default is ci/peers'.
"""

import os
import re
import sys
from typing import IO, Iterator

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from adapting import sums
from adapting.protocol import Adapter, Failed, Missing, find, main, one_line, output_of

LOADED = re.compile(r"return code: 0$", re.M)


def read_stacks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yields (count, names innermost first) of the collapsed format."""
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        yield int(count), stack.split(";")[::-1]


class AsyncProfiler(Adapter):
    @classmethod
    def library(cls) -> str:
        library = os.environ.get("JITPROOF_ASYNC_PROFILER") or output_of(find(
            "libasyncProfiler.so", "", "python3 ci/peers async_profiler")).strip()
        if not os.path.isfile(library):
            raise Missing("%s: not found" % library)
        return library

    @classmethod
    def jcmd(cls) -> str:
        return find("jcmd", "JITPROOF_JCMD", "install a JDK")

    @classmethod
    def version(cls) -> str:
        cls.jcmd()
        noted = os.path.join(os.path.dirname(cls.library()), "..", "version")  # ci/peers writes it
        try:
            with open(noted, encoding="ascii") as file:
                return file.read().strip()
        except OSError:
            return "unknown"

    def agent(self, options: str) -> None:
        """Loads the agent into the process with @options. Raises Failed if the process refuses."""
        output = output_of(self.jcmd(), str(self.pid), "JVMTI.agent_load", self.library(),
                           '"%s"' % options)
        if not LOADED.search(output):
            raise Failed("async-profiler: %s: %s" % (options.split(",")[0], one_line(output)))

    def begin(self) -> None:
        self.agent("start,event=ctimer,interval=%d" % (10**9 // self.options.freq))
        self.estimate = sums.Estimate(self.pid, self.options.freq)

    def samples(self) -> int:
        return self.estimate.samples()

    def end(self) -> None:
        self.agent("stop,collapsed,file=" + self.path("profile.txt"))

    def write(self, file: IO[str]) -> None:
        stream = self.stream(file, sums.LACKS, period=10**9 // self.options.freq)
        sums.write_stacks(stream, self.pid, self.path("profile.txt"), read_stacks)


if __name__ == "__main__":
    main(AsyncProfiler)
