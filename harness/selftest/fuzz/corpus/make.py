#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes the seeds of the fuzz targets that no program records.

Not made here: compressed.data, pipe.data and two_events.data (perf 6.1 record -z, -o -, two -e, cut
to a few records); jit.dump (the workload anon_exec); perf.map; program.elf and symbols.elf (small C
programs); the files of expressions.S. A folder TARGET has inputs that once crashed that target.
"""

import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.abspath(__file__ + "/../../../.."))
from ci.base import files
from harness.selftest.support import byte_order, run_directory as rd

PID, CODE = 100, 0x10000
TRACING_DATA, AUXTRACE, HEADER_FEATURE, FINISHED_INIT = 66, 71, 80, 82


def write_odd_data() -> None:
    kind = rd.IDENTIFIER | rd.IP | rd.TID | rd.TIME | rd.CALLCHAIN | rd.PERIOD | rd.CPU
    attrs = [rd.Attr.make(kind, [7]), rd.Attr.make(kind | rd.ADDR, [8, 9])]
    perf = rd.PerfData(attrs, [], {6: rd.pack_string("x86_64")})
    name = rd.pack_string("odd")
    perf.records += [
        rd.Record(HEADER_FEATURE, 0, struct.pack("<Q", 3) + name),
        rd.Record(FINISHED_INIT, 0, b""),
        perf.comm(PID, PID, "odd", 5),
        perf.map(PID, CODE, 0x1000, "/usr/bin/odd", 10),
        perf.map(PID, CODE + 0x4000, 0x1000, "//anon", 11),
        rd.Sample.make_stack(attrs[0], PID, 20, [CODE, CODE + 8]),
        rd.Record(rd.FINISHED_ROUND, 0, b""),
        perf.side(rd.LOST, struct.pack("<QQ", 7, 12), 30),
        perf.side(rd.LOST_SAMPLES, struct.pack("<Q", 5), 31),
        perf.fork(PID + 1, PID, 32),
        perf.comm(PID + 1, PID + 1, "child", 33, True),
        rd.Sample.make_stack(attrs[1], PID, 19, [CODE + 0x4000]),
        rd.Record(200, 0, bytes(24)),
        rd.Record(TRACING_DATA, 0, struct.pack("<II", 0, 0)),
        rd.Record(AUXTRACE, 0, struct.pack("<QQQIIII", 0, 0, 0, 0, 0, 0, 0)),
        rd.Record(rd.FINISHED_ROUND, 0, b""),
        rd.Sample.make_stack(attrs[0], PID, 40, [CODE + 0x9000, 2**64 - 1]),
    ]
    perf.save(os.path.join(HERE, "odd.data"))


def encode_uleb(value: int) -> bytes:
    raw = b""
    while value > 0x7f:
        raw += bytes([value & 0x7f | 0x80])
        value >>= 7
    return raw + bytes([value])


def build_emitted_eh_frame() -> bytes:
    """Returns tables as an emitter writes them for a function: one CIE, one FDE, an index of one
    entry."""
    size = 0x120

    def entry(body: bytes) -> bytes:
        body += bytes(-(len(body) + 4) % 8)
        return struct.pack("<I", len(body)) + body

    cie = entry(struct.pack("<IB3sBBBBB", 0, 1, b"zR", 1, 0x78, 16, 1, 0x1b) +
                bytes([0x0c, 7, 8, 0x90, 1]))
    position = size + len(cie)
    rows = b""
    for step, (register, offset) in ((1, (7, 16)), (3, (6, 16)), (0x90, (7, 8)), (70, (7, 4128))):
        advance = bytes([0x40 | step]) if step < 0x40 else bytes([2, step])
        rows += advance + b"\x0c" + encode_uleb(register) + encode_uleb(offset) + bytes([0x86, 2])
    fde = entry(struct.pack("<IiI", len(cie) + 4, -(position + 8), size) + b"\0" + rows)
    frame = cie + fde + bytes(8)
    index_at = size + len(frame)
    index = struct.pack("<BBBBiIii", 1, 0x1b, 3, 0x3b, size - (index_at + 4), 1, -index_at,
                        position - index_at)
    return struct.pack("<QQQQ", 0, size, size, len(index)) + frame + index


def build_expressions_eh_frame() -> bytes:
    raw = files.read_bytes(os.path.join(HERE, "expressions.elf"))
    code, size, index, index_size, frame, frame_size = 0x144, 22, 0x15c, 44, 0x188, 336
    # The index precedes .eh_frame there and is invalid after it, like the index in some files.
    return struct.pack("<QQQQ", code, size, frame, index_size) + \
        raw[frame:frame + frame_size] + raw[index:index + index_size]


def write_deferred_data() -> None:
    """Returns callchains of kernels from 6.19, whose user part follows later."""
    kind = rd.IDENTIFIER | rd.IP | rd.TID | rd.TIME | rd.CALLCHAIN
    attr = rd.Attr.make(kind, [7])
    attr.flags |= 3 << 38
    perf = rd.PerfData([attr], [], {6: rd.pack_string("x86_64")})
    perf.records += [perf.comm(PID, PID, "deferred", 5),
                     perf.map(PID, CODE, 0x1000, "/usr/bin/deferred", 10)]
    for time, cookie in ((20, 1 << 32), (30, 1 << 32), (40, 3 << 32)):
        result = rd.Sample.make(attr, pid=PID, tid=PID, chain=[2**64 - 640, cookie])
        result.ip, result.time, result.id = CODE, time, 7
        perf.records.append(result)
    for time, cookie in ((50, 1 << 32), (51, 1 << 32), (60, 5 << 32)):
        perf.records.append(perf.side(22, struct.pack("<5Q", cookie, 3, CODE, CODE + 8, CODE + 16),
                                      time, rd.USER, PID, PID))
    perf.records.append(rd.Record(rd.FINISHED_ROUND, 0, b""))
    perf.save(os.path.join(HERE, "deferred.data"))


def write_swapped_data() -> None:
    perf = rd.PerfData.load(os.path.join(HERE, "../../../../validators/fixtures/anon/perf.data"))
    files.write_bytes(os.path.join(HERE, "swapped.data"), byte_order.swap_file(perf))


def build_every_dump() -> bytes:
    def record(kind: int, body: bytes, time: int) -> bytes:
        return struct.pack("<IIQ", kind, 16 + len(body), time) + body

    code = bytes(range(32, 64))
    lines = struct.pack("<Qii", CODE, 7, 1) + b"source.js\0" + \
        struct.pack("<Qii", CODE + 8, 9, 0) + b"\xff\0"
    return struct.pack("<IIIIIIQQ", 0x4a695444, 1, 40, 62, 0, PID, 1000, 0) + b"".join((
        record(2, struct.pack("<QQ", CODE, 2) + lines, 1001),
        record(4, struct.pack("<QQQ", 40, 12, 40) + bytes(40), 1002),
        record(0, struct.pack("<IIQQQQ", PID, PID, CODE, CODE, 32, 1) + b"first\0" + code, 1003),
        record(1, struct.pack("<IIQQQQQ", PID, PID, CODE, CODE, CODE + 64, 32, 1), 1004),
        record(9, bytes(8), 1005),
        record(3, b"", 1006),
        record(0, struct.pack("<IIQQQQ", PID, PID, CODE, CODE, 32, 2) + b"second\0" + code, 1007)))


def build_names_map() -> bytes:
    return (b"10000 40 first\n10040 40 LazyCompile:~second file.js:1\n10020 40 over both\n"
            b"no line\nffffffffffffff00 100 last\n10100 0 nothing\n0x10200 20 prefixed\n"
            b"10300 20 \n20000 ffffffffffffffff all\n10400 20 without an end")


def write_short_records() -> None:
    """Makes a file for each kind of record, whose last record is too short for its fields."""
    for kind in (rd.MMAP, rd.LOST, rd.COMM, rd.EXIT, rd.FORK, rd.SAMPLE, rd.MMAP2, rd.LOST_SAMPLES):
        perf = rd.PerfData([rd.Attr.make(rd.IP, [7])], [], {6: rd.pack_string("x86_64")})
        perf.records.append(rd.Record(kind, 0, bytes(8)))
        perf.save(os.path.join(HERE, "perfdata", f"short-{kind}.data"))


def write_wide_protect() -> None:
    """Makes an mprotect of all memory, which jitproof once handled page by page."""
    truth = rd.Truth(os.path.join(HERE, "../../../../validators/fixtures/anon/truth"))
    keep = truth.find(rd.Truth.MAP)[0]
    fields = list(truth.get(keep))
    truth.slots = truth.slots[:keep + 1]
    truth.append(rd.Truth.PROTECT, 0, fields[2], fields[3], fields[4] + 10**6, fields[4] + 10**6,
                 4096, 2**63, 1, 0)
    truth.save(os.path.join(HERE, "truth", "wide-protect"))


def main() -> None:
    write_odd_data()
    write_deferred_data()
    write_swapped_data()
    for folder in ("perfdata", "truth"):
        os.makedirs(os.path.join(HERE, folder), exist_ok=True)
    write_short_records()
    write_wide_protect()
    for name, content in (("every.dump", build_every_dump()), ("names.map", build_names_map()),
                          ("emitted.eh_frame", build_emitted_eh_frame()),
                          ("expressions.eh_frame", build_expressions_eh_frame())):
        files.write_bytes(os.path.join(HERE, name), content)


if __name__ == "__main__":
    main()
