# SPDX-License-Identifier: GPL-2.0-only
"""Tests `jitproof judge` on big-endian files and on files of old kernels."""

import json
import os
import struct
from typing import Any

from ci.base import files, process
from harness.selftest.support import byte_order, run_directory as rd
from harness.selftest.support.scratch import Folder, JITPROOF

FIXTURES = "validators/fixtures"
CODE, PID = 0x10000, 100
READ_FORMAT = 1 | 2 | 4 | 8 | 16


def make_full_attr() -> rd.Attr:
    kind = byte_order.KNOWN
    attr = rd.Attr.make(kind, [7], regs=1 << 6 | 1 << 7 | 1 << 8, stack=16)
    struct.pack_into("<Q", attr.raw, 32, READ_FORMAT)
    return attr


def sample_of_everything(time: int) -> rd.Record:
    """Returns a sample with all parts in the kernel's order, each of another size than the part
    before."""
    body = struct.pack("<QQIIQQQQIIQ", 7, CODE + 8, PID, PID, time, 0x1234, 7, 7, 3, 0, 1000)
    body += struct.pack("<QQQ6Q", 2, 5, 6, *range(6))                  # READ, a group of two
    body += struct.pack("<4Q", 3, rd.CONTEXT_USER, CODE + 8, CODE + 0x10)
    body += struct.pack("<I12s", 12, b"abcdefgh\1\2\3\4")              # RAW
    body += struct.pack("<Q6Q", 2, *range(6))                          # BRANCH_STACK
    body += struct.pack("<4Q", 2, 0x7ff0, 0x7fe0, CODE + 8)            # REGS_USER
    body += struct.pack("<Q", 16) + bytes(range(16)) + struct.pack("<Q", 16)
    return rd.Record(rd.SAMPLE, rd.USER, body)


class Swapped(Folder):
    def judge(self, raw: bytes, *options: str, status: int = 0) -> Any:
        files.write_bytes(self.place("perf.data"), raw)
        result = process.run([JITPROOF, "judge", "--json", *options, self.place("perf.data")])
        self.assertEqual(result.returncode, status, result.stderr)
        if status:
            return result.stderr
        figures = json.loads(result.stdout)
        swapped = raw[8:9] == b"\0"  # the size in the file header
        self.assertEqual(figures.pop("swapped"), swapped)
        return figures

    def compare_orders(self, perf: rd.PerfData, *options: str) -> dict[str, Any]:
        perf.records = [record for record in perf.records
                        if record.kind in byte_order.BODIES or record.kind in (rd.SAMPLE,
                                                                         rd.FINISHED_ROUND)]
        expected = self.judge(perf.pack(), *options)
        self.assertEqual(self.judge(byte_order.swap_file(perf), *options), expected)
        piped = self.judge(byte_order.swap_pipe(perf), *options)
        for key in ("records", "pipe"):
            del piped[key], expected[key]
        self.assertEqual(piped, expected)
        return expected

    def test_recorded_files(self) -> None:
        """Swaps recorded files with stack dumps, whose memory stays unswapped."""
        for name in sorted(os.listdir(FIXTURES)):
            path = os.path.join(FIXTURES, name, "perf.data")
            if os.path.exists(path):
                with self.subTest(name):
                    figures = self.compare_orders(rd.PerfData.load(path), "--unwind", "--elf",
                                                  os.path.join(FIXTURES, name, "elf"))
                    self.assertTrue(figures["samples"])

    def test_every_part_of_a_sample(self) -> None:
        attr = make_full_attr()
        perf = rd.PerfData([attr], [], {6: rd.pack_string("x86_64")})
        perf.records += [perf.comm(PID, PID, "made", 5),
                         perf.map(PID, CODE, 0x1000, "//anon", 10)]
        perf.records += [sample_of_everything(time) for time in (20, 30)]
        figures = self.compare_orders(perf, "--unwind")
        self.assertEqual((figures["addresses"], figures["unwind"]["samples"]), (4, 2))

    def test_every_record(self) -> None:
        kind = rd.IP | rd.TID | rd.TIME | rd.ID | rd.STREAM_ID | rd.CPU | rd.CALLCHAIN
        perf = rd.PerfData([rd.Attr.make(kind, [7]), rd.Attr.make(kind | rd.PERIOD, [8, 9])], [],
                           {6: rd.pack_string("ppc64")})
        build_id = perf.map(PID, CODE, 0x1000, "/usr/bin/made", 12)
        build_id.misc |= rd.BUILD_ID
        build_id.body[32:56] = bytes([20, 0, 0, 0]) + bytes(range(20))
        mmap = struct.pack("<IIQQQ", PID, PID, CODE + 0x1000, 0x1000, 0) + b"/lib/old.so".ljust(16)
        perf.records += [perf.comm(PID, PID, "made", 5, True), build_id,
                         perf.side(rd.MMAP, mmap[:-1] + b"\0", 13, rd.USER, PID, PID),
                         perf.fork(PID + 1, PID, 14),
                         perf.side(rd.LOST, struct.pack("<QQ", 7, 12), 30),
                         perf.side(rd.LOST_SAMPLES, struct.pack("<Q", 5), 31),
                         perf.side(16, struct.pack("<IIQ4Q", PID, PID, 2, 1, 2, 3, 4), 32)]
        for attr, pid in zip(perf.attrs, (PID, PID + 1)):
            sample = rd.Sample.make(attr, pid=pid, tid=pid, cpu=3,
                                  chain=[rd.CONTEXT_USER, CODE + 4, CODE + 0x1004])
            sample.ip, sample.time, sample.id, sample.misc = CODE + 4, 40, attr.ids[0], rd.USER
            perf.records.append(sample)
        figures = self.compare_orders(perf)
        self.assertEqual((figures["addresses"], figures["addresses_unmapped"]), (4, 0))
        self.assertEqual((figures["lost_events"], figures["lost_samples"]), (12, 5))
        self.assertEqual(figures["mmap2"]["file"], 1)

    def test_not_whole_words(self) -> None:
        perf = rd.PerfData([rd.Attr.make(rd.IP, [])], [])
        raw = byte_order.swap_file(perf)
        raw = raw.ljust(400, b"\0")
        broken = raw[:48] + struct.pack(">Q", 12) + raw[56:]
        offset = struct.unpack_from(">Q", raw, 40)[0]
        broken = broken[:offset] + struct.pack(">IHH", 11, 0, 12) + broken[offset + 8:]
        self.assertIn("whole words", self.judge(broken, status=99))


class Old(Swapped):
    def make_perf_with_sample(self, kind: int, name: bytes, misc: int = rd.USER) -> rd.PerfData:
        perf = rd.PerfData([rd.Attr.make(rd.IP | rd.TID | rd.TIME, [7])], [])
        identity = struct.pack("<IIQQ", 8, 1, 99, 0) if kind == rd.MMAP2 else b""
        body = struct.pack("<IIQQQ", PID, PID, CODE, 0x1000, 0) + identity + name
        mapping = perf.side(kind, body + bytes(8 - len(name) % 8), 10, misc, PID, PID)
        sample = rd.Sample.make(perf.attrs[0], pid=PID, tid=PID)
        sample.ip, sample.time = CODE + 4, 40
        perf.records += [mapping, sample]
        return perf

    def test_mmap2_without_protection(self) -> None:
        """MMAP2 records of RHEL 7.0 and Linux 3.12 have no protection; fields at their offset hold
        the name."""
        for name, kind in ((b"/usr/lib64/libc-2.17.so", "file"), (b"//anon", "anon"),
                           (b"[vdso]", "other"), (b"/a", "file"),
                           ("/\u00fcber".encode(), "file"), (b"anon_inode:[perf_event]", "other"),
                           (b"socket:[7]", "other")):
            with self.subTest(name):
                figures = self.compare_orders(self.make_perf_with_sample(rd.MMAP2, name))
                self.assertEqual((figures["mmap2"][kind], figures["sampled"][kind]), (1, 1))
        data = self.compare_orders(self.make_perf_with_sample(rd.MMAP2, b"/usr/share/data",
                                                              rd.USER | 1 << 13))
        self.assertEqual(data["sampled"]["unmapped"], 1)

    def test_mmap_alone(self) -> None:
        """MMAP records count as MMAP2 if the file has no MMAP2."""
        perf = self.make_perf_with_sample(rd.MMAP, b"/usr/bin/old")
        self.assertEqual(self.compare_orders(perf)["mmap2"],
                         {"file": 1, "anon": 0, "memfd": 0, "other": 0})
        perf.records.append(perf.map(PID, CODE + 0x2000, 0x1000, "//anon", 50))
        self.assertEqual(self.compare_orders(perf)["mmap2"],
                         {"file": 0, "anon": 1, "memfd": 0, "other": 0})

    def test_before_3_4(self) -> None:
        """A magic of an old version, which shows no byte order."""
        perf = self.make_perf_with_sample(rd.MMAP, b"/usr/bin/old")
        expected = self.judge(perf.pack())
        for raw in (perf.pack(), byte_order.swap_file(perf)):
            self.assertEqual(self.judge(b"PERFFILE" + raw[8:]), expected)
        piped = byte_order.swap_pipe(perf)
        self.assertEqual(self.judge(b"PERFFILE" + piped[8:]), self.judge(piped))

    def test_before_features(self) -> None:
        """A header of 72 bytes."""
        perf = self.make_perf_with_sample(rd.MMAP, b"/usr/bin/old")
        raw = perf.pack()
        for turned, order in ((raw, "<"), (byte_order.swap_file(perf), ">")):
            file = turned[:8] + struct.pack(order + "Q", 72) + turned[16:]
            self.assertEqual(self.judge(file), self.judge(raw))

    def test_features_of_32_bits(self) -> None:
        """The bitmap consists of longs: in a file of a 32-bit machine the halves have the opposite
        order."""
        perf = self.make_perf_with_sample(rd.MMAP, b"/usr/bin/old")
        perf.features = {3: rd.pack_string("host"),
                         6: struct.pack("<I64s", 0xffffff, b"ppc")}
        raw = bytearray(byte_order.swap_file(perf))
        self.assertIn("a string of at most", self.judge(bytes(raw), status=99))
        struct.pack_into(">II", raw, 72, 1 << 3 | 1 << 6, 0)
        self.assertIn("a string of at most", self.judge(bytes(raw), status=99))
