# SPDX-License-Identifier: GPL-2.0-only
"""Converts a little-endian perf.data into the file that a big-endian machine would have written.
It shares nothing with the C reader."""

import struct

from harness.selftest.support import run_directory as rd

READ, BRANCH_STACK = 1 << 4, 1 << 11
KNOWN = (rd.IP | rd.TID | rd.TIME | rd.ADDR | READ | rd.CALLCHAIN | rd.ID | rd.CPU | rd.PERIOD |
         rd.STREAM_ID | rd.RAW | BRANCH_STACK | rd.REGS_USER | rd.STACK_USER | rd.IDENTIFIER)
# The layout of each kind of record; bytes (s), that is names and build ids, are not swapped.
BODIES = {rd.MMAP: "IIQQQ", rd.LOST: "QQ", rd.COMM: "II", rd.EXIT: "IIIIQ", 5: "QQQ", 6: "QQQ",
          rd.FORK: "IIIIQ", rd.MMAP2: "IIQQQIIQQII", 11: "QQQ", 12: "II", rd.LOST_SAMPLES: "Q",
          14: "", 15: "II", 16: "IIQ", 17: "QIHH", 18: "HHI8s", 19: "Q", 22: "QQ"}
MMAP2_BUILD_ID = "IIQQQ24sII"
NAMED = (rd.MMAP, rd.COMM, rd.MMAP2, 17, 19)  # text follows; elsewhere 64-bit words
STRINGS = (3, 4, 5, 6, 8, 9)                  # features that consist of a string
PIPE_HEADER, HEADER_ATTR, HEADER_FEATURE = 16, 64, 80


def reverse_bits(raw: bytes) -> bytes:
    """Reverses each byte: big-endian machines allocate bit fields from the highest bit."""
    return bytes(int(f"{byte:08b}"[::-1], 2) for byte in raw)


class Swapper:
    """Reads little-endian numbers from @raw and appends them to `out` as big-endian ones."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.at, self.out = bytes(raw), 0, b""

    def swap_numbers(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from("<" + layout, self.raw, self.at)
        self.at += struct.calcsize("<" + layout)
        self.out += struct.pack(">" + layout, *values)
        return values

    def keep_bytes(self, size: int) -> None:
        self.out += self.raw[self.at:self.at + size]
        self.at += size

    def count_left(self, end: int = 0) -> int:
        return len(self.raw) - end - self.at


def swap_attr(raw: bytes) -> bytes:
    """Swaps a perf_event_attr: sample_max_stack has 16 bits, the flags are bit fields."""
    layout = "II" + "Q" * 4 + "8sII" + "Q" * 4 + "IiQIHHII" + "Q" * 3
    swapper = Swapper(raw.ljust(struct.calcsize("<" + layout), b"\0"))
    swapper.swap_numbers(layout)
    return (swapper.out[:40] + reverse_bits(raw[40:48]) + swapper.out[48:])[:len(raw)]


def swap_feature(number: int, raw: bytes) -> bytes | None:
    """Returns the swapped feature, or None if the output omits features of this number."""
    swapper = Swapper(raw)
    if number in STRINGS:
        swapper.swap_numbers("I")
        swapper.keep_bytes(swapper.count_left())
    elif number == 11:
        for _ in range(swapper.swap_numbers("I")[0]):
            swapper.keep_bytes(swapper.swap_numbers("I")[0])
    elif number == 2:
        while swapper.count_left():
            size = swapper.swap_numbers("IHH")[2]
            swapper.swap_numbers("I")
            swapper.keep_bytes(size - 12)
    elif number == 7:
        swapper.swap_numbers("II")
    elif number == 33:
        swapper.swap_numbers("II")
    elif number in (21, 23):
        swapper.swap_numbers(f"{swapper.count_left() // 8}Q")
    else:
        return None
    return swapper.out


def swap_tail(swapper: Swapper, kind: int) -> None:
    for bit in (rd.TID, rd.TIME, rd.ID, rd.STREAM_ID, rd.CPU, rd.IDENTIFIER):
        if kind & bit:
            swapper.swap_numbers("II" if bit in (rd.TID, rd.CPU) else "Q")


def swap_counts(swapper: Swapper, form: int) -> None:
    """Swaps the PERF_SAMPLE_READ part of a sample; @form is the attr's read_format."""
    each = 1 + bool(form & 4) + bool(form & 16)
    many = swapper.swap_numbers("Q")[0] if form & 8 else 1
    swapper.swap_numbers(f"{bool(form & 1) + bool(form & 2) + many * each}Q")


def swap_sample(raw: bytes, attr: rd.Attr) -> bytes:
    kind, swapper = attr.sample_type, Swapper(raw)
    if kind & ~KNOWN:
        raise ValueError(f"sample_type {kind:#x} has unsupported bits")
    for bit in (rd.IDENTIFIER, rd.IP, rd.TID, rd.TIME, rd.ADDR, rd.ID, rd.STREAM_ID, rd.CPU,
                rd.PERIOD):
        if kind & bit:
            swapper.swap_numbers("II" if bit in (rd.TID, rd.CPU) else "Q")
    if kind & READ:
        swap_counts(swapper, struct.unpack_from("<Q", attr.raw, 32)[0])
    if kind & rd.CALLCHAIN:
        swapper.swap_numbers(f"{swapper.swap_numbers('Q')[0]}Q")
    if kind & rd.RAW:
        swapper.keep_bytes(swapper.swap_numbers("I")[0])
    if kind & BRANCH_STACK:
        swapper.swap_numbers(f"{3 * swapper.swap_numbers('Q')[0]}Q")
    if kind & rd.REGS_USER and swapper.swap_numbers("Q")[0]:
        swapper.swap_numbers(f"{len(attr.registers())}Q")
    if kind & rd.STACK_USER:
        size = swapper.swap_numbers("Q")[0]
        swapper.keep_bytes(size)
        if size:
            swapper.swap_numbers("Q")
    return swapper.out


def swap_record(record: rd.Record, attr: rd.Attr) -> bytes | None:
    """Returns the swapped body, or None if the output omits records of this kind."""
    raw = record.pack()[8:]
    if record.kind == rd.SAMPLE:
        return swap_sample(raw, attr)
    if record.kind not in BODIES:
        return b"" if record.kind == rd.FINISHED_ROUND else None
    swapper, kind = Swapper(raw), attr.sample_type if attr.flags & rd.SAMPLE_ID_ALL else 0
    tail = 8 * sum(bool(kind & bit) for bit in
                   (rd.TID, rd.TIME, rd.ID, rd.STREAM_ID, rd.CPU, rd.IDENTIFIER))
    layout = BODIES[record.kind]
    if record.kind == rd.MMAP2 and record.misc & rd.BUILD_ID:
        layout = MMAP2_BUILD_ID
    # Without protection and flags.
    elif record.kind == rd.MMAP2 and (raw[56:57] in b"/[" or 0 not in raw[56:60]):
        layout = BODIES[rd.MMAP2][:-2]
    swapper.swap_numbers(layout)
    if record.kind in NAMED:
        swapper.keep_bytes(swapper.count_left(tail))
    else:
        swapper.swap_numbers(f"{swapper.count_left(tail) // 8}Q")
    swap_tail(swapper, kind)
    return swapper.out


def pack_swapped(kind: int, misc: int, body: bytes) -> bytes:
    return struct.pack(">IHH", kind, misc, 8 + len(body)) + body


def swap_records(perf: rd.PerfData) -> bytes:
    data = b""
    for record in perf.records:
        body = swap_record(record, getattr(record, "attr", perf.attrs[0]))
        if body is not None:
            data += pack_swapped(record.kind, record.misc, body)
    return data


def swap_features(perf: rd.PerfData) -> dict[int, bytes]:
    swapped = ((number, swap_feature(number, raw)) for number, raw in perf.features.items())
    return {number: raw for number, raw in swapped if raw is not None}


def swap_pipe(perf: rd.PerfData) -> bytes:
    out = struct.pack(">QQ", 0x32454c4946524550, PIPE_HEADER)
    for attr in perf.attrs:
        out += pack_swapped(HEADER_ATTR, 0,
                            swap_attr(attr.raw) + struct.pack(f">{len(attr.ids)}Q", *attr.ids))
    for number, raw in sorted(swap_features(perf).items()):
        out += pack_swapped(HEADER_FEATURE, 0,
                            struct.pack(">Q", number) + raw + bytes(-len(raw) % 8))
    return out + pack_swapped(HEADER_FEATURE, 0, struct.pack(">Q", 34)) + swap_records(perf)


def swap_file(perf: rd.PerfData) -> bytes:
    swapped = rd.PerfData(perf.attrs, [], swap_features(perf))
    data, entry = swap_records(perf), len(perf.attrs[0].raw) + 16
    offset = rd.HEADER + entry * len(perf.attrs)
    tail_at, bits = offset + len(data) + 16 * len(swapped.features), 0
    table = tail = attrs = b""
    for number in sorted(swapped.features):
        raw = swapped.features[number]
        table += struct.pack(">QQ", tail_at + len(tail), len(raw))
        tail += raw
        bits |= 1 << number
    for attr in perf.attrs:
        attrs += swap_attr(attr.raw) + struct.pack(">QQ", tail_at + len(tail), 8 * len(attr.ids))
        tail += struct.pack(f">{len(attr.ids)}Q", *attr.ids)
    header = struct.pack(">13Q", 0x32454c4946524550, rd.HEADER, entry, rd.HEADER, len(attrs),
                         offset,
                         len(data), 0, 0, bits, 0, 0, 0)
    return header + attrs + data + table + tail
