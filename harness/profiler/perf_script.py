#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for `perf script` on a recording of perf.py: the names that perf finds in files and perf
maps. Names without addresses: for code in files, perf prints offsets."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf
from adapting import script
from adapting.native import name_in
from adapting.observations import Stream
from adapting.reading import Reader

def find_name(place: script.Place) -> str:
    return name_in(place.file or "") if place.name is None else place.name


class Script(Reader):
    name = "perf script"

    def read(self, stream: Stream) -> None:
        # Inlined functions have no frame on the stack; addr2line takes minutes to find them.
        for sample in script.parse(self.output_of(self.perf, "script", "--no-inline", "--ns", "-F",
                                                  script.FIELDS + ",dso", "-i", self.file.path)):
            stream.sample(sample.time, sample.pid, sample.tid,
                          [find_name(place) for place in sample.frames if not place.is_in_kernel()])


if __name__ == "__main__":
    perf.main(Script)
