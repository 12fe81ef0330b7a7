#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes a little-endian perf.data as a machine of the other byte order would have: the same
processes, samples and memory, every number turned round. Shares nothing with the C reader.

Usage: byte_order.py [--pipe] IN OUT
"""

import struct
import sys

from ci.base import files
from harness.selftest.support import run_directory as rd

READ, BRANCH_STACK, REGS_INTR = 1 << 4, 1 << 11, 1 << 18
KNOWN = (rd.IP | rd.TID | rd.TIME | rd.ADDR | READ | rd.CALLCHAIN | rd.ID | rd.CPU | rd.PERIOD |
         rd.STREAM_ID | rd.RAW | BRANCH_STACK | rd.REGS_USER | rd.STACK_USER | rd.IDENTIFIER)
# The fixed part of each kind of record; names and build ids (s) stay as they are.
BODIES = {rd.MMAP: "IIQQQ", rd.LOST: "QQ", rd.COMM: "II", rd.EXIT: "IIIIQ", 5: "QQQ", 6: "QQQ",
          rd.FORK: "IIIIQ", rd.MMAP2: "IIQQQIIQQII", 11: "QQQ", 12: "II", rd.LOST_SAMPLES: "Q",
          14: "", 15: "II", 16: "IIQ", 17: "QIHH", 18: "HHI8s", 19: "Q", 22: "QQ"}
MMAP2_BUILD_ID = "IIQQQ24sII"
NAMED = (rd.MMAP, rd.COMM, rd.MMAP2, 17, 19)  # what follows is text; else 64-bit words
STRINGS = (3, 4, 5, 6, 8, 9)                  # features that are a string
PIPE_HEADER, HEADER_ATTR, HEADER_FEATURE = 16, 64, 80


def reversed_bits(raw: bytes) -> bytes:
    """Bit fields: the first one is the highest bit there."""
    return bytes(int(f"{byte:08b}"[::-1], 2) for byte in raw)


class Turned:
    """Takes numbers from little-endian bytes and puts them down the other way round."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.at, self.out = bytes(raw), 0, b""

    def take(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from("<" + layout, self.raw, self.at)
        self.at += struct.calcsize("<" + layout)
        self.out += struct.pack(">" + layout, *values)
        return values

    def keep(self, size: int) -> None:
        self.out += self.raw[self.at:self.at + size]
        self.at += size

    def left(self, end: int = 0) -> int:
        return len(self.raw) - end - self.at


def turn_attr(raw: bytes) -> bytes:
    """sample_max_stack and its neighbour are 16 bits wide, the flags bit fields."""
    layout = "II" + "Q" * 4 + "8sII" + "Q" * 4 + "IiQIHHII" + "Q" * 3
    made = Turned(raw.ljust(struct.calcsize("<" + layout), b"\0"))
    made.take(layout)
    return (made.out[:40] + reversed_bits(raw[40:48]) + made.out[48:])[:len(raw)]


def turn_feature(number: int, raw: bytes) -> bytes | None:
    """None: of a kind that is left out."""
    made = Turned(raw)
    if number in STRINGS:
        made.take("I")
        made.keep(made.left())
    elif number == 11:
        for _ in range(made.take("I")[0]):
            made.keep(made.take("I")[0])
    elif number == 2:
        while made.left():
            size = made.take("IHH")[2]
            made.take("I")
            made.keep(size - 12)
    elif number == 7:
        made.take("II")
    elif number == 33:
        made.take("II")
    elif number in (21, 23):
        made.take(f"{made.left() // 8}Q")
    else:
        return None
    return made.out


def turn_tail(made: Turned, kind: int) -> None:
    for bit in (rd.TID, rd.TIME, rd.ID, rd.STREAM_ID, rd.CPU, rd.IDENTIFIER):
        if kind & bit:
            made.take("II" if bit in (rd.TID, rd.CPU) else "Q")


def turn_counts(made: Turned, form: int) -> None:
    """PERF_SAMPLE_READ."""
    each = 1 + bool(form & 4) + bool(form & 16)
    many = made.take("Q")[0] if form & 8 else 1
    made.take(f"{bool(form & 1) + bool(form & 2) + many * each}Q")


def turn_sample(raw: bytes, attr: rd.Attr) -> bytes:
    kind, made = attr.sample_type, Turned(raw)
    if kind & ~KNOWN:
        raise ValueError(f"sample_type {kind:#x} holds what is not known here")
    for bit in (rd.IDENTIFIER, rd.IP, rd.TID, rd.TIME, rd.ADDR, rd.ID, rd.STREAM_ID, rd.CPU,
                rd.PERIOD):
        if kind & bit:
            made.take("II" if bit in (rd.TID, rd.CPU) else "Q")
    if kind & READ:
        turn_counts(made, struct.unpack_from("<Q", attr.raw, 32)[0])
    if kind & rd.CALLCHAIN:
        made.take(f"{made.take('Q')[0]}Q")
    if kind & rd.RAW:
        made.keep(made.take("I")[0])
    if kind & BRANCH_STACK:
        made.take(f"{3 * made.take('Q')[0]}Q")
    if kind & rd.REGS_USER and made.take("Q")[0]:
        made.take(f"{len(attr.registers())}Q")
    if kind & rd.STACK_USER:
        size = made.take("Q")[0]
        made.keep(size)
        if size:
            made.take("Q")
    return made.out


def turn_record(record: rd.Record, attr: rd.Attr) -> bytes | None:
    """The body. None: of a kind that is left out."""
    raw = record.pack()[8:]
    if record.kind == rd.SAMPLE:
        return turn_sample(raw, attr)
    if record.kind not in BODIES:
        return b"" if record.kind == rd.FINISHED_ROUND else None
    made, kind = Turned(raw), attr.sample_type if attr.flags & rd.SAMPLE_ID_ALL else 0
    tail = 8 * sum(bool(kind & bit) for bit in
                   (rd.TID, rd.TIME, rd.ID, rd.STREAM_ID, rd.CPU, rd.IDENTIFIER))
    layout = BODIES[record.kind]
    if record.kind == rd.MMAP2 and record.misc & rd.BUILD_ID:
        layout = MMAP2_BUILD_ID
    elif record.kind == rd.MMAP2 and raw[56:57] in b"/[":  # without protection and flags
        layout = BODIES[rd.MMAP2][:-2]
    made.take(layout)
    if record.kind in NAMED:
        made.keep(made.left(tail))
    else:
        made.take(f"{made.left(tail) // 8}Q")
    turn_tail(made, kind)
    return made.out


def pack(kind: int, misc: int, body: bytes) -> bytes:
    return struct.pack(">IHH", kind, misc, 8 + len(body)) + body


def turn_records(perf: rd.PerfData) -> bytes:
    data = b""
    for record in perf.records:
        body = turn_record(record, getattr(record, "attr", perf.attrs[0]))
        if body is not None:
            data += pack(record.kind, record.misc, body)
    return data


def turn_features(perf: rd.PerfData) -> dict[int, bytes]:
    turned = ((number, turn_feature(number, raw)) for number, raw in perf.features.items())
    return {number: raw for number, raw in turned if raw is not None}


def turn_pipe(perf: rd.PerfData) -> bytes:
    out = struct.pack(">QQ", 0x32454c4946524550, PIPE_HEADER)
    for attr in perf.attrs:
        out += pack(HEADER_ATTR, 0,
                    turn_attr(attr.raw) + struct.pack(f">{len(attr.ids)}Q", *attr.ids))
    for number, raw in sorted(turn_features(perf).items()):
        out += pack(HEADER_FEATURE, 0, struct.pack(">Q", number) + raw + bytes(-len(raw) % 8))
    return out + pack(HEADER_FEATURE, 0, struct.pack(">Q", 34)) + turn_records(perf)


def turn_file(perf: rd.PerfData) -> bytes:
    turned = rd.PerfData(perf.attrs, [], turn_features(perf))
    data, entry = turn_records(perf), len(perf.attrs[0].raw) + 16
    at = rd.HEADER + entry * len(perf.attrs)
    tail_at, table, tail, attrs, bits = at + len(data) + 16 * len(turned.features), b"", b"", b"", 0
    for number in sorted(turned.features):
        raw = turned.features[number]
        table += struct.pack(">QQ", tail_at + len(tail), len(raw))
        tail += raw
        bits |= 1 << number
    for attr in perf.attrs:
        attrs += turn_attr(attr.raw) + struct.pack(">QQ", tail_at + len(tail), 8 * len(attr.ids))
        tail += struct.pack(f">{len(attr.ids)}Q", *attr.ids)
    header = struct.pack(">13Q", 0x32454c4946524550, rd.HEADER, entry, rd.HEADER, len(attrs), at,
                         len(data), 0, 0, bits, 0, 0, 0)
    return header + attrs + data + table + tail


def main() -> int:
    pipe = sys.argv[1:2] == ["--pipe"]
    if len(sys.argv) != 3 + pipe:
        sys.exit(__doc__)
    perf = rd.PerfData.load(sys.argv[1 + pipe])
    files.write_bytes(sys.argv[2 + pipe], turn_pipe(perf) if pipe else turn_file(perf))
    return 0


if __name__ == "__main__":
    sys.exit(main())
