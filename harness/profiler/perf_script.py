#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for `perf script` on a recording of perf.py: the names that perf finds in files and perf
maps. Names without addresses: for code in files, perf prints offsets."""

import os
import sys
from typing import Iterator

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf
from adapting import script, shown
from adapting.native import name_in
from adapting.observations import Sample
from adapting.protocol import Missing
from adapting.reading import Reader


def find_name(place: script.Place) -> str:
    return name_in(place.file or "") if place.name is None else place.name


class Script(Reader):
    name = "perf script"

    @classmethod
    def reader_version(cls) -> str:
        return perf.version_of(perf.find_perf())

    @classmethod
    def list_readers(cls, only_own: bool) -> Iterator[shown.Reader]:
        raise Missing("the adapter perf has this reader")

    @classmethod
    def parse(cls, path: str, folder: str) -> Iterator[Sample]:
        # Inlined functions have no frame on the stack; addr2line takes minutes to find them.
        for sample in script.parse(cls.output_of(perf.find_perf(), "script", "--no-inline", "--ns",
                                                 "-F", script.FIELDS + ",dso", "-i", path)):
            yield (sample.time, sample.pid, sample.tid,
                   [find_name(place) for place in sample.frames if not place.is_in_kernel()])


if __name__ == "__main__":
    perf.main(Script)
