#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for py-spy on a Python process: how often each stack of Python functions occurred. It
samples by wall clock, and skips threads that it considers idle.

$JITPROOF_PY_SPY is the program; the default is ci/peers' or py-spy in PATH.
"""

import os
import re
import sys
from typing import IO, Iterator, Sequence

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from adapting import sums
from adapting.program import Program
from adapting.protocol import main

FRAME = re.compile(r"(.*) \((.*)\)$")


def read_stacks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yields (count, names innermost first) of py-spy's raw format."""
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        names = [(match[1] if (match := FRAME.match(frame)) else frame)
                 for frame in stack.split(";")]
        yield int(count), names[::-1]


class PySpy(Program):
    name, peer = "py-spy", "py_spy"
    version_from = (r"^py-spy (\d\S*)", "--version")
    sampling = "Sampling process"

    def command(self) -> Sequence[str]:
        return (self.program(), "record", "-f", "raw", "-F", "-r", str(self.options.freq), "-o",
                self.path("profile.txt"), "-p", str(self.pid))

    def write(self, file: IO[str]) -> None:
        stream = self.stream(file, sums.LACKS)
        sums.write_stacks(stream, self.pid, self.path("profile.txt"), read_stacks)


if __name__ == "__main__":
    main(PySpy)
