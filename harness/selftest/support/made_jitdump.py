# SPDX-License-Identifier: GPL-2.0-only
"""Builds jitdumps and captures for tests; shares nothing with the C code."""

from __future__ import annotations

import struct

from ci.base import files
from harness.selftest.support import run_directory as rd

LOAD, MOVE, DEBUG_INFO, CLOSE, UNWINDING_INFO = range(5)
MACHINE_X86_64 = 62
# Length 20: version 1, "zR", factors 1 and -8, return address 16, pc-relative 32 bits; CFA rsp+8.
CIE = struct.pack("<II", 20, 0) + bytes([1]) + b"zR\0" + bytes([1, 0x78, 16, 1, 0x1b, 12, 7, 8,
                                                                0x90, 1, 0, 0])


class Made:
    """A jitdump under construction; `raw` holds its bytes."""

    def __init__(self, pid: int, flags: int = 0, size: int = 40, pad: int = 0) -> None:
        self.pid = pid
        self.raw = bytearray(struct.pack("<IIIIIIQQ", 0x4a695444, 1, size, MACHINE_X86_64, pad, pid,
                                         0, flags) + bytes(size - 40))

    def add(self, kind: int, time: int, body: bytes) -> Made:
        self.raw += struct.pack("<IIQ", kind, 16 + len(body), time) + body
        return self

    def load(self, time: int, addr: int, code: bytes, index: int, name: str,
             pid: int | None = None) -> Made:
        pid = self.pid if pid is None else pid
        return self.add(LOAD, time, struct.pack("<IIQQQQ", pid, pid, addr, addr, len(code), index) +
                        name.encode() + b"\0" + code)

    def move(self, time: int, old: int, new: int, size: int, index: int) -> Made:
        return self.add(MOVE, time, struct.pack("<IIQQQQQ", self.pid, self.pid, new, old, new, size,
                                                index))

    def debug(self, time: int, addr: int, lines: list[tuple[int, int, str]]) -> Made:
        """Adds source lines, each (address, line, file)."""
        body = b"".join(struct.pack("<Qii", offset, line, 0) + name.encode() + b"\0"
                        for offset, line, name in lines)
        return self.add(DEBUG_INFO, time, struct.pack("<QQ", addr, len(lines)) + body)

    def unwinding(self, time: int, size: int, mapped: bool = False) -> Made:
        """Adds unwind tables for @size bytes of code that precede them: push rbp after one byte.
        If @size is 0, adds an empty index, as V8 does."""
        if not size:
            empty = bytes([1, 0x1b, 3, 0x3b]) + struct.pack("<iII", -20, 0, 0) + bytes(4)
            return self.add(UNWINDING_INFO, time, struct.pack("<QQQ", 20, 20, 0) + empty)
        offset = len(CIE)
        place = (size + 7 & ~7) + offset + 8
        instructions = bytes([0, 0x41, 14, 16, 0x86, 2, 0, 0])  # no augmentation data
        frame = CIE + struct.pack("<IIiI", 12 + len(instructions), offset + 4, -place, size) + \
            instructions + bytes(4)
        header = bytes([1, 0x1b, 3, 0x3b]) + struct.pack(
            "<iIii", -len(frame) - 4, 1, -(size + 7 & ~7) - len(frame), offset - len(frame))
        both = len(frame) + len(header)
        return self.add(UNWINDING_INFO, time, struct.pack("<QQQ", both, len(header),
                                                          both if mapped else 0) + frame + header)

    def save(self, path: str) -> None:
        files.write_bytes(path, self.raw)


def capture(kind: int = rd.IDENTIFIER | rd.IP | rd.TID | rd.TIME,
            monotonic: bool = True) -> rd.PerfData:
    """Returns a capture of one event without records; @monotonic: clockid CLOCK_MONOTONIC."""
    attr = rd.Attr.make(kind, [7])
    if monotonic:
        attr.flags |= 1 << 25
        struct.pack_into("<i", attr.raw, 92, 1)
    return rd.PerfData([attr], [], {6: rd.pack_string("x86_64")})
