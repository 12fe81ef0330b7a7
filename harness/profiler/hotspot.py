#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for perfparser, hotspot's reader of a perf.data, which perf.py records: names without
addresses, since perfparser reuses a file location's address in the first process for all others.

$JITPROOF_HOTSPOT_PERFPARSER is the reader; the default is ci/peers' or Debian's.
"""

import itertools
import os
import re
import struct
import sys
from typing import Iterator

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf
from adapting import protocol
from adapting.native import name_in
from adapting.observations import Frame, Sample
from adapting.reading import Reader

MAGIC = b"QPERFSTREAM\0"
PROGRAM = "/usr/lib/x86_64-linux-gnu/libexec/hotspot-perfparser"
# Kinds of records in perfparser's stream, a QDataStream with big-endian numbers.
LOCATION, SYMBOL, STRING, SAMPLE = 3, 4, 5, 13
NONE = -1
KERNEL = 1 << 63  # the lowest kernel address


class Parsed:
    """Perfparser's stream. A record is 4 bytes with its size, a byte with its kind, and a body."""

    def __init__(self, data: bytes) -> None:
        if not data.startswith(MAGIC):
            raise protocol.Failed("hotspot-perfparser wrote no %s" % MAGIC[:-1].decode())
        self.data = data
        self.strings: dict[int, str] = {}
        self.locations: dict[int, tuple[int, int]] = {}  # location -> (address, parent)
        self.symbols: dict[int, tuple[int, int]] = {}  # location -> strings (name, path)

    def records(self) -> Iterator[tuple[int, bytes]]:
        offset = len(MAGIC) + 4  # skips the version of QDataStream
        while offset + 4 <= len(self.data):
            size, = struct.unpack_from("<I", self.data, offset)
            yield self.data[offset + 4], self.data[offset + 5:offset + 4 + size]
            offset += 4 + size
        if offset != len(self.data):
            raise protocol.Failed("hotspot-perfparser's stream is cut at %d" % offset)

    def samples(self) -> Iterator[Sample]:
        for kind, body in self.records():
            if kind == STRING:
                number, size = struct.unpack_from(">iI", body)
                self.strings[number] = body[8:8 + size].decode("utf-8", "surrogateescape")
            elif kind == LOCATION:
                number, address, _, _, _, _, parent = struct.unpack_from(">iQiIiii", body)
                self.locations[number] = (address, parent)
            elif kind == SYMBOL:
                number, name, _, path = struct.unpack_from(">4i", body)
                self.symbols[number] = (name, path)
            elif kind == SAMPLE:
                pid, tid, time, _, count = struct.unpack_from(">IIQII", body)
                # A damaged user stack may contain addresses that look like those of the kernel.
                yield time, pid, tid, [self.frame(number) for number in itertools.dropwhile(
                    lambda number: self.locations[number][0] >= KERNEL,
                    struct.unpack_from(">%di" % count, body, 24))]

    def frame(self, number: int) -> Frame:
        """Returns the name of the function that has a stack frame: the outermost parent of inlined
        functions."""
        parent = self.locations[number][1]
        while parent != NONE:
            number, parent = parent, self.locations[parent][1]
        name, path = self.symbols.get(number, (NONE, NONE))
        return self.strings.get(name) or name_in(self.strings.get(path, ""))


class Hotspot(Reader):
    name = "hotspot-perfparser"
    reader = "hotspot"

    @classmethod
    def reader_version(cls) -> str:
        match = re.search(r"\d\S*", protocol.output_of(cls.program(), "--version"))
        return match[0] if match else "?"

    @staticmethod
    def program() -> str:
        try:
            return protocol.find("hotspot-perfparser", "JITPROOF_HOTSPOT_PERFPARSER",
                                 "python3 ci/peers hotspot")
        except protocol.Missing:
            if os.access(PROGRAM, os.X_OK):
                return PROGRAM
            raise

    @classmethod
    def parse(cls, path: str, folder: str) -> Iterator[Sample]:
        output = os.path.join(folder, "hotspot.stream")
        # Hide debug information (--debug) from hotspot, so that it does not show inlined functions,
        # which have no frame on the stack.
        cls.output_of(cls.program(), "--input", path, "--output", output, "--debug", folder)
        with open(output, "rb") as file:
            parsed = Parsed(file.read())
        os.unlink(output)
        return parsed.samples()


if __name__ == "__main__":
    perf.main(Hotspot)
