#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for `perf script` on a recording of perf.py: the names that perf finds in files and perf
maps. Names without addresses: for code in files, perf prints offsets."""

import os
import re
import sys
from typing import Iterator

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf
from adapting.native import name_in
from adapting.observations import Frame, Stream
from adapting.reading import Reader

HEAD = re.compile(r"\s*(\d+)/(\d+)\s+(\d+)\.(\d{9}):")
FRAME = re.compile(r"\s+([0-9a-f]+) (.*?) \((.*)\)$")
KERNEL = 1 << 63  # the lowest kernel address


def parse(text: str) -> Iterator[tuple[int, int, int, list[Frame]]]:
    """Yields (time in ns, pid, tid, user frames) of each sample."""
    sample: tuple[int, int, int, list[Frame]] | None = None
    for line in text.splitlines():
        if head := HEAD.match(line):
            if sample:
                yield sample
            pid, tid, seconds, fraction = map(int, head.groups())
            sample = (seconds * 10**9 + fraction, pid, tid, [])
        elif sample and (frame := FRAME.match(line)):
            address, name = int(frame[1], 16), frame[2]
            if address < KERNEL:
                sample[3].append(name_in(frame[3]) if name == "[unknown]" else name)
    if sample:
        yield sample


class Script(Reader):
    name = "perf script"

    def read(self, stream: Stream) -> None:
        # Inlined functions have no frame on the stack; addr2line takes minutes to find them.
        for sample in parse(self.output_of(self.perf, "script", "--no-inline", "--ns", "-F",
                                           "pid,tid,time,ip,sym,dso", "-i", self.file.path)):
            stream.sample(*sample)


if __name__ == "__main__":
    perf.main(Script)
