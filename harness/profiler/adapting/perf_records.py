# SPDX-License-Identifier: GPL-2.0-only
"""Counts the records of a perf.data while perf writes it. It may be a file, also in the pipe
format, or a folder (`--threads`), compressed or not; perf may also switch to another file."""

import ctypes
import os
import struct

ATTR_HEADER, LOST, FORK, SAMPLE, LOST_SAMPLES, COMPRESSED, COMPRESSED2 = 64, 2, 7, 9, 13, 81, 83
IDENTIFIER, IP, TID = 1 << 16, 1, 2  # bits of attr.sample_type, in the order of a sample
PIPE_HEADER, FILE_HEADER, ATTR_SIZE = 16, 104, 32


class Unreadable(OSError):
    """A perf.data has compressed records that zstd rejects."""


class Buffer(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t), ("used", ctypes.c_size_t)]


class Zstd:
    """One zstd stream, which continues from record to record."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libzstd.so.1")
        self.library.ZSTD_createDStream.restype = ctypes.c_void_p
        self.library.ZSTD_decompressStream.restype = ctypes.c_size_t
        self.stream = ctypes.c_void_p(self.library.ZSTD_createDStream())
        self.out = ctypes.create_string_buffer(1 << 17)

    def decompress(self, data: bytes) -> bytes:
        buffer = ctypes.create_string_buffer(data, len(data))
        source = Buffer(ctypes.addressof(buffer), len(data), 0)
        text = b""
        full = False
        while source.used < source.size or full:
            out = Buffer(ctypes.addressof(self.out), len(self.out), 0)
            code = self.library.ZSTD_decompressStream(self.stream, ctypes.byref(out),
                                                      ctypes.byref(source))
            if self.library.ZSTD_isError(ctypes.c_size_t(code)):
                raise Unreadable("perf.data: its compressed records cannot be read")
            text += self.out.raw[:out.used]
            full = out.used == out.size
        return text


class Count:
    """Totals over all files of a perf.data. @watched: count only samples of these pids
    and of their descendants; None: count all."""

    def __init__(self, watched: set[int] | None = None) -> None:
        self.samples = self.lost = self.lost_samples = 0
        self.sample_type = 0
        self.watched = watched

    def count_sample(self, body: bytes) -> None:
        offset = 8 * (bool(self.sample_type & IDENTIFIER) + bool(self.sample_type & IP))
        if self.sample_type & TID and self.watched is not None and \
                struct.unpack_from("<I", body, offset)[0] not in self.watched:
            return
        self.samples += 1

    def count_record(self, kind: int, body: bytes) -> None:
        if kind == SAMPLE:
            self.count_sample(body)
        elif kind == LOST:
            self.lost += struct.unpack_from("<Q", body, 8)[0]
        elif kind == LOST_SAMPLES:
            self.lost_samples += struct.unpack_from("<Q", body)[0]
        elif kind == ATTR_HEADER:
            self.sample_type = struct.unpack_from("<Q", body, 24)[0]
        elif kind == FORK and self.watched is not None:
            pid, parent = struct.unpack_from("<II", body)
            if parent in self.watched:
                self.watched.add(pid)


class Stream:
    """Counts consecutive records, which come in pieces: the last record may be incomplete."""

    def __init__(self, count: Count) -> None:
        self.count, self.rest = count, b""
        self.inner: "Stream | None" = None
        self.zstd: Zstd | None = None

    def read_records(self, data: bytes) -> None:
        data = self.rest + data
        offset = 0
        while offset + 8 <= len(data):
            kind, _, size = struct.unpack_from("<IHH", data, offset)
            if size < 8 or offset + size > len(data):
                break
            body = data[offset + 8:offset + size]
            if kind == COMPRESSED:
                self.unpack(body)
            elif kind == COMPRESSED2:
                self.unpack(body[8:8 + struct.unpack_from("<Q", body)[0]])
            else:
                self.count.count_record(kind, body)
            offset += size
        self.rest = data[offset:]

    def unpack(self, data: bytes) -> None:
        if not self.zstd:
            self.zstd, self.inner = Zstd(), Stream(self.count)
        assert self.inner
        self.inner.read_records(self.zstd.decompress(data))


class Part:
    """One file of a perf.data. @plain: it has no header, as data.0 of a folder."""

    def __init__(self, path: str, count: Count, plain: bool = False) -> None:
        self.path, self.plain = path, plain
        self.stream = Stream(count)
        self.at: int | None = None
        self.inode = 0

    def read_more(self) -> None:
        try:
            with open(self.path, "rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                if self.inode not in (0, inode):  # --switch-output began another file
                    self.at, self.stream = None, Stream(self.stream.count)
                self.inode = inode
                if self.plain:
                    self.at, size = self.at or 0, -1
                else:
                    size = self.find_records(file.read(FILE_HEADER), file.fileno())
                if self.at is None:
                    return
                file.seek(self.at)
                data = file.read(size)
        except FileNotFoundError:
            return
        self.at += len(data)
        self.stream.read_records(data)

    def find_records(self, head: bytes, descriptor: int) -> int:
        """Sets self.at to the offset of the records, once the header states it. Returns the number
        of bytes of records from self.at on, or -1 if they extend to the end of the file."""
        if len(head) < PIPE_HEADER or head[:8] != b"PERFILE2":
            return 0
        if struct.unpack_from("<Q", head, 8)[0] == PIPE_HEADER:
            self.at = self.at or PIPE_HEADER
            return -1
        if len(head) < FILE_HEADER:
            return 0
        attrs, start, size = (struct.unpack_from("<Q", head, offset)[0] for offset in (24, 40, 48))
        if not start:
            return 0
        if self.at is None:
            attr = os.pread(descriptor, ATTR_SIZE, attrs)
            if len(attr) < ATTR_SIZE:
                return 0
            self.at = start
            self.stream.count.count_record(ATTR_HEADER, attr)
        # perf writes the size only at the end, when feature sections already follow the records.
        return start + size - self.at if size else -1


class DataFile:
    def __init__(self, path: str, watched: set[int] | None = None) -> None:
        self.path = path
        self.count = Count(watched)
        self.parts = [Part(path, self.count)]

    @property
    def lost(self) -> int:
        """Returns the number of losses that PERF_RECORD_LOST or PERF_RECORD_LOST_SAMPLES report."""
        return max(self.count.lost, self.count.lost_samples)

    def read_more(self) -> None:
        if os.path.isdir(self.path):
            self.parts[0].path = os.path.join(self.path, "data")
            while os.path.exists(name := os.path.join(
                    self.path, "data.%d" % (len(self.parts) - 1))):
                self.parts.append(Part(name, self.count, plain=True))
        for part in self.parts:
            part.read_more()

    def is_whole(self) -> bool:
        """Returns whether each file has only complete records up to its end."""
        self.read_more()
        return all(part.at is not None and not part.stream.rest for part in self.parts)
