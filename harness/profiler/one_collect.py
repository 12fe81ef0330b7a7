#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for one_collect, the library of record-trace: stacks of the whole machine by call frame
information on x86-64 and by the kernel elsewhere, with the names that it finds in perf maps when it
ends.

$JITPROOF_ONE_COLLECT is a build of ci/peers/programs/one_collect; the default is ci/peers' build.
"""

import os
import subprocess
import sys
from typing import IO, Iterator, Sequence
from urllib.parse import unquote

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from adapting.family import list_other_processes
from adapting.observations import Frame, Stream
from adapting.program import Program
from adapting.protocol import main

KERNEL = 1 << 63  # the lowest kernel address
PAGE = os.sysconf("SC_PAGE_SIZE")
# default_export_settings() in os/linux.rs of 0.1.35021 unwinds on x86-64 alone.
UNWINDER = "cfi-or-frame-pointers" if os.uname().machine == "x86_64" else "frame-pointers"
NOBODY = 2**32 - 1  # the kernel's pid and tid for a task that is exiting


def user_frames(words: Sequence[str]) -> Iterator[Frame]:
    """Yields the user frames of a sample's words ADDRESS[=NAME]."""
    for word in words:
        address, _, name = word.partition("=")
        if int(address, 16) < KERNEL:
            yield int(address, 16), unquote(name, errors="surrogateescape") if name else None


class OneCollect(Program):
    name = peer = "one_collect"
    version_from = (r"^v(\d\S*)", "version")
    needs_root = True
    sampling = "jitproof: sampling"
    output_file = "one_collect.txt"
    stdin = subprocess.PIPE  # one_collect ends at end of file

    def begin(self) -> None:
        super().begin()
        self.others = list_other_processes(self.pid) | {NOBODY}

    def command(self) -> Sequence[str]:
        return self.program(), str(self.options.freq), str(self.pid)

    def end(self) -> None:
        """Closes one_collect's input, on which it ends. Its look-up of names takes long, so only
        write() waits for the end."""
        assert self.process and self.process.stdin
        self.process.stdin.close()

    def write(self, file: IO[str]) -> None:
        self.await_end()
        stream = self.stream(file, ("no-tasks", "no-losses", "system-wide"),
                             UNWINDER, 10**9 // self.options.freq)
        with open(self.path(self.output_file), encoding="utf-8",
                  errors="surrogateescape") as output:
            for line in output:
                self.write_line(stream, line.split())

    def write_line(self, stream: Stream, line: Sequence[str]) -> None:
        """Writes the sample or the mapping in a line of one_collect's output."""
        kind, time, pid, *words = line
        if int(pid) in self.others or words[0] == str(NOBODY):
            return
        if kind == "S":
            stream.sample(int(time), int(pid), int(words[0]), user_frames(words[1:]))
        elif kind == "M":
            start, last, offset = (int(word, 16) for word in words[:3])
            # @last is the last byte; but for mappings that one_collect read in /proc it is the end.
            end = (last + 1) // PAGE * PAGE
            if start < KERNEL:
                stream.mapping(int(time), int(pid), start, end, "r-xp", offset,
                               name=unquote("".join(words[3:]), errors="surrogateescape"))


if __name__ == "__main__":
    main(OneCollect)
