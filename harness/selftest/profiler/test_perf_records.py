# SPDX-License-Identifier: GPL-2.0-only
"""Tests counting records of a growing perf.data: file, pipe, folder, compressed."""

import ctypes
import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.abspath(__file__ + "/../../../profiler"))
from adapting import perf_records
from adapting.perf_records import DataFile
from harness.selftest.support.scratch import Folder

IP_AND_TID = 3


def pack_record(kind: int, body: bytes) -> bytes:
    return struct.pack("<IHH", kind, 0, 8 + len(body)) + body


def pack_sample(pid: int) -> bytes:
    return pack_record(perf_records.SAMPLE, struct.pack("<QII", 0x1000, pid, pid))


def pack_file(records: bytes, whole: bool = True) -> bytes:
    """Returns a perf.data with one attr; @whole: its header states the size of the records."""
    attr = struct.pack("<IIQQQ", 1, 128, 0, 0, IP_AND_TID) + bytes(96)
    start = 104 + len(attr)
    head = struct.pack("<8sQQQQQQ", b"PERFILE2", 104, 144, 104, len(attr), start,
                       len(records) if whole else 0)
    return head.ljust(104, b"\0") + attr + records + (b"features" if whole else b"")


def compress(data: bytes) -> bytes:
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError as error:
        raise unittest.SkipTest(str(error)) from error
    library.ZSTD_compress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(len(data) + 1000)
    size = library.ZSTD_compress(room, ctypes.c_size_t(len(room)), data,
                                 ctypes.c_size_t(len(data)), 1)
    return room.raw[:size]


class Records(Folder):
    def count_samples(self, samples: int, name: str = "perf.data") -> DataFile:
        data = DataFile(self.place(name))
        self.assertTrue(data.is_whole())
        self.assertEqual(data.count.samples, samples)
        return data

    def write_raw(self, data: bytes, *names: str) -> None:
        with open(self.place(*names), "wb") as file:
            file.write(data)

    def test_file(self) -> None:
        lost = pack_record(perf_records.LOST, struct.pack("<QQ", 1, 5))
        self.write_raw(pack_file(pack_sample(7) + lost + pack_sample(8)), "perf.data")
        self.assertEqual(self.count_samples(2).count.lost, 5)

    def test_growing_file(self) -> None:
        data = DataFile(self.place("perf.data"))
        data.read_more()
        complete_file = pack_file(pack_sample(7), whole=False)
        for upto in range(len(complete_file) + 1):
            self.write_raw(complete_file[:upto], "perf.data")
            data.read_more()
        self.assertEqual(data.count.samples, 1)
        self.write_raw(pack_file(pack_sample(7) + pack_sample(8)), "perf.data")
        data.read_more()
        self.assertEqual(data.count.samples, 2)

    def test_cut_file(self) -> None:
        self.write_raw(pack_file((pack_sample(7) + pack_sample(8))[:-4]), "perf.data")
        self.assertFalse(DataFile(self.place("perf.data")).is_whole())

    def test_pipe(self) -> None:
        attr = pack_record(perf_records.ATTR_HEADER,
                           struct.pack("<IIQQQ", 1, 128, 0, 0, IP_AND_TID))
        self.write_raw(struct.pack("<8sQ", b"PERFILE2", 16) + attr + pack_sample(7), "perf.data")
        self.count_samples(1)

    def test_folder(self) -> None:
        os.mkdir(self.place("perf.data"))
        data = DataFile(self.place("perf.data"))
        for name, records in (("data", pack_file(pack_sample(7))), ("data.0", pack_sample(8)),
                              ("data.1", pack_sample(9) + pack_sample(9))):
            self.write_raw(records, "perf.data", name)
            data.read_more()
        self.assertEqual(data.count.samples, 4)
        self.count_samples(4)

    def test_compressed(self) -> None:
        """A record may span two compressed records."""
        inner = pack_sample(7) * 3
        parts = [pack_record(perf_records.COMPRESSED, compress(inner[:30])),
                 pack_record(perf_records.COMPRESSED2, struct.pack("<Q", len(compress(inner[30:])))
                             + compress(inner[30:]) + b"\0\0\0")]
        self.write_raw(pack_file(b"".join(parts)), "perf.data")
        self.count_samples(3)
        self.write_raw(pack_file(pack_record(perf_records.COMPRESSED, b"none of zstd's")),
                       "perf.data")
        with self.assertRaises(perf_records.Unreadable):
            DataFile(self.place("perf.data")).is_whole()

    def test_watched_processes(self) -> None:
        """A capture of all CPUs: only a process and its children count."""
        fork = pack_record(perf_records.FORK, struct.pack("<IIIIQ", 8, 7, 8, 7, 0))
        self.write_raw(pack_file(pack_sample(8) + fork + pack_sample(7) + pack_sample(8) +
                                 pack_sample(9)), "perf.data")
        data = DataFile(self.place("perf.data"), {7})
        data.read_more()
        self.assertEqual(data.count.samples, 2)
