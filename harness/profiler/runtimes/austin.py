#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for austin 3 on a Python process: microseconds of each stack of Python functions. It
samples by wall clock; -s makes it skip sleeping threads.

$JITPROOF_AUSTIN is the program; the default is ci/peers' or austin in PATH.
"""

import os
import re
import sys
from typing import IO, Iterator, Sequence

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from adapting import sums
from adapting.program import Program
from adapting.protocol import Missing, main, output_of

HEAD = re.compile(r"P(\d+);T(?:\d+:)?([0-9a-f]+)(?:;(.*))? (\d+)$")


def read_stacks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yields (microseconds, names innermost first) of lines with frames FILE:FUNCTION:LINE."""
    for line in text.splitlines():
        match = HEAD.match(line)
        if match:
            frames = match[3].split(";") if match[3] else []
            yield int(match[4]), [frame.rsplit(":", 2)[1] for frame in reversed(frames)
                                  if frame.count(":") > 1]


class Austin(Program):
    name = peer = "austin"
    sampling = "version"  # it prints the version of the process's Python
    statuses = (0, 254)  # 254: ended by a signal

    @classmethod
    def version(cls) -> str:
        match = re.match(r"austin (3\.\d\S*)", output_of(cls.program(), "--version"))
        if not match:
            raise Missing("austin: not version 3; install it by: python3 ci/peers austin")
        return match[1]

    def command(self) -> Sequence[str]:
        return (self.program(), "-s", "-i", str(10**6 // self.options.freq), "-o",
                self.path("profile.txt"), "-p", str(self.pid))

    def write(self, file: IO[str]) -> None:
        stream = self.stream(file, sums.LACKS, period=1000)
        sums.write_stacks(stream, self.pid, self.path("profile.txt"), read_stacks)


if __name__ == "__main__":
    main(Austin)
