#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""one_collect, the library of record-trace: stacks of the whole machine by call frame information,
and what it looks up of perf maps when it ends.

$JITPROOF_ONE_COLLECT is the program to use, that of ci/peers/programs; else as ci/peers installed
it.
"""

import os
import subprocess
import sys
from typing import IO, Iterator, Sequence
from urllib.parse import unquote

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from adapting.family import strangers
from adapting.observations import Frame
from adapting.program import Program
from adapting.protocol import main

KERNEL = 1 << 63  # addresses from here on
PAGE = os.sysconf("SC_PAGE_SIZE")
NOBODY = 2**32 - 1  # the kernel's pid or tid of a task that has ended, and is still on a CPU


def user(words: Sequence[str]) -> Iterator[Frame]:
    """The frames that are not the kernel's."""
    for word in words:
        address, _, name = word.partition("=")
        if int(address, 16) < KERNEL:
            yield int(address, 16), unquote(name, errors="surrogateescape") if name else None


class OneCollect(Program):
    name = peer = "one_collect"
    tells = (r"^v(\d\S*)", "version")
    needs_root = True
    sampling = "jitproof: sampling"
    told = "one_collect.txt"
    stdin = subprocess.PIPE  # it ends when that does

    def begin(self) -> None:
        super().begin()
        self.others = strangers(self.pid) | {NOBODY}

    def command(self) -> Sequence[str]:
        return self.program(), str(self.options.freq), str(self.pid)

    def end(self) -> None:
        """It takes its time then: it looks up the names of all it kept. So write() waits."""
        assert self.process and self.process.stdin
        self.process.stdin.close()

    def lines(self) -> Iterator[list[str]]:
        with open(self.path(self.told), encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                yield line.split()

    def write(self, file: IO[str]) -> None:
        self.await_end()
        stream = self.stream(file, ("no-tasks", "no-losses", "system-wide"),
                             "cfi-or-frame-pointers", 10**9 // self.options.freq)
        for kind, when, pid, *words in self.lines():
            if int(pid) in self.others or words[0] == str(NOBODY):
                continue
            if kind == "S":
                stream.sample(int(when), int(pid), int(words[0]), user(words[1:]))
            elif kind == "M":
                start, last, offset = (int(word, 16) for word in words[:3])
                # Of what it read in /proc the last address is the one behind it.
                end = (last + 1) // PAGE * PAGE
                if start < KERNEL:
                    stream.mapping(int(when), int(pid), start, end, "r-xp", offset,
                                   name=unquote("".join(words[3:]), errors="surrogateescape"))


if __name__ == "__main__":
    main(OneCollect)
