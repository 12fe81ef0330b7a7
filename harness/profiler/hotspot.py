#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""hotspot's reader of a perf.data, perfparser: the names that it gives the frames of a recording by
perf.py. Names alone: a place in a file has one address there, of the process that it saw first.

$JITPROOF_HOTSPOT_PERFPARSER is the reader to use; else what ci/peers installed, or Debian's.
"""

import os
import re
import struct
import sys
from typing import Iterator

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf
from adapting import protocol
from adapting.native import name_in
from adapting.observations import Frame, Stream
from adapting.reading import Reader

MAGIC = b"QPERFSTREAM\0"
PROGRAM = "/usr/lib/x86_64-linux-gnu/libexec/hotspot-perfparser"
# Kinds of records of its stream; numbers in them are those of a QDataStream, big endian.
LOCATION, SYMBOL, STRING, SAMPLE = 3, 4, 5, 13
NONE = -1
KERNEL = 1 << 63  # addresses from here on


class Parsed:
    """The stream: 4 bytes of size in front of each record, which begins with its kind."""

    def __init__(self, data: bytes) -> None:
        if not data.startswith(MAGIC):
            raise protocol.Failed("hotspot-perfparser wrote no %s" % MAGIC[:-1].decode())
        self.data = data
        self.strings: dict[int, str] = {}
        self.locations: dict[int, tuple[int, int]] = {}  # (address, parent)
        self.symbols: dict[int, tuple[int, int]] = {}  # of a location: (name, path), as strings

    def records(self) -> Iterator[tuple[int, bytes]]:
        at = len(MAGIC) + 4  # the version of QDataStream
        while at + 4 <= len(self.data):
            size, = struct.unpack_from("<I", self.data, at)
            yield self.data[at + 4], self.data[at + 5:at + 4 + size]
            at += 4 + size
        if at != len(self.data):
            raise protocol.Failed("hotspot-perfparser's stream is cut at %d" % at)

    def samples(self) -> Iterator[tuple[int, int, int, list[Frame]]]:
        """(time, pid, tid, frames), innermost first; the kernel's are left out."""
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
                frames = [self.frame(number)
                          for number in struct.unpack_from(">%di" % count, body, 24)
                          if self.locations[number][0] < KERNEL]
                yield time, pid, tid, frames

    def frame(self, number: int) -> Frame:
        """Its parents are the functions that were inlined there, the real one last."""
        parent = self.locations[number][1]
        while parent != NONE:
            number, parent = parent, self.locations[parent][1]
        name, path = self.symbols.get(number, (NONE, NONE))
        return self.strings.get(name) or name_in(self.strings.get(path, ""))


class Hotspot(Reader):
    name = "hotspot-perfparser"
    @classmethod
    def version(cls) -> str:
        found = re.search(r"\d\S*", protocol.output_of(cls.program(), "--version"))
        return "%s by perf %s" % (found[0] if found else "?", super().version())

    @staticmethod
    def program() -> str:
        try:
            return protocol.find("hotspot-perfparser", "JITPROOF_HOTSPOT_PERFPARSER",
                                 "python3 ci/peers hotspot")
        except protocol.Missing:
            if os.access(PROGRAM, os.X_OK):
                return PROGRAM
            raise

    def read(self, stream: Stream) -> None:
        output = os.path.join(self.options.dir, "hotspot.stream")
        # Offline, and no debug information: its inlined functions are on no stack.
        self.command_of(self.program(), "--input", self.file.path, "--output", output,
                        "--debug", self.options.dir)
        with open(output, "rb") as file:
            parsed = Parsed(file.read())
        for sample in parsed.samples():
            stream.sample(*sample)
        os.unlink(output)


if __name__ == "__main__":
    perf.main(Hotspot)
