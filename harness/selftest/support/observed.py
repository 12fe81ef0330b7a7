# SPDX-License-Identifier: GPL-2.0-only
"""Converts a case's perf.data into the stream that a profiler without a perf.data would write."""

import bisect
import collections
import io
import os
import struct
import sys
from typing import Callable, Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../../profiler"))
from adapting.observations import Frame, Stream
from harness.selftest.support import run_directory as rd
from harness.selftest.support.run_directory import Truth

KERNEL = 0xffffffff  # pid of the kernel's mappings, in MMAP2 records since perf 7.3
PAGE_BITS = 12
FORK = 1  # cause in a PROCESS_START record of a truth
NamesOf = Callable[[int, int, int], str | None]


class Names:
    """The function at each address over time, according to the truth: the last one loaded there."""

    def __init__(self, directory: str) -> None:
        truth = Truth(os.path.join(directory, "truth"))
        parts: dict[int, dict[int, bytes]] = {}
        for slot in map(truth.get, truth.find(Truth.TEXT)):
            parts.setdefault(slot[6] & 0xffffffff, {})[slot[1]] = struct.pack("<3Q", *slot[7:])
        texts = {id: b"".join(data[part] for part in sorted(data)).split(b"\0")[0].decode()
                 for id, data in parts.items()}
        loads = {slot[9] & 0xffffffff: slot for slot in map(truth.get, truth.find(Truth.CODE_LOAD))}
        self.places = [(slot[4], slot[2], slot[6], slot[7], texts[slot[8] >> 32])
                       for slot in loads.values()]
        for slot in map(truth.get, truth.find(Truth.CODE_MOVE)):
            load = loads[slot[6]]
            self.places.append((slot[4], slot[2], slot[7], load[7], texts[load[8] >> 32]))
        self.places.sort()
        self.by_page: dict[tuple[int, int], list[tuple[int, int, int, int, str]]] = {}
        for place in self.places:
            _, pid, start, size, _ = place
            for page in range(start >> PAGE_BITS, (start + size - 1 >> PAGE_BITS) + 1):
                self.by_page.setdefault((pid, page), []).append(place)
        # A forked child inherits its parent's code.
        self.forks = {slot[2]: (slot[6] & 0xffffffff, slot[4])
                      for slot in map(truth.get, truth.find(Truth.PROCESS_START))
                      if slot[7] == FORK}

    def name_at(self, pid: int, address: int, time: int) -> str | None:
        places = self.by_page.get((pid, address >> PAGE_BITS), [])
        for index in range(bisect.bisect(places, (time + 1,)) - 1, -1, -1):
            _, _, start, size, text = places[index]
            if start <= address < start + size:
                return text
        if pid in self.forks:
            parent, forked = self.forks[pid]
            return self.name_at(parent, address, min(time, forked))
        return None


def format_permissions(record: rd.Map) -> str:
    letters = "".join(letter if record.prot & bit else "-"
                      for letter, bit in (("r", rd.READ), ("w", rd.WRITE), ("x", rd.EXECUTE)))
    return letters + ("s" if record.flags & 1 else "p")


def write_side(stream: Stream, record: rd.Side) -> None:
    body = bytes(record.body)
    if isinstance(record, rd.Map):
        if record.pid == KERNEL:
            return
        name = "" if record.name == "//anon" else record.name
        stream.mapping(record.time, record.pid, record.start, record.start + record.size,
                       format_permissions(record), record.pgoff if name else 0,
                       "%02x:%02x" % (record.maj, record.min), record.ino, name)
    elif record.kind == rd.COMM:
        pid, tid = struct.unpack_from("<II", body)
        name = body[8:record.tail()[0]].split(b"\0")[0].decode(errors="surrogateescape")
        if record.misc & rd.COMM_EXEC:
            stream.exec(record.time, pid, name)
        else:
            stream.comm(record.time, pid, tid, name)
    elif record.kind in (rd.FORK, rd.EXIT):
        pid, ppid, tid, ptid = struct.unpack_from("<IIII", body)
        if record.kind == rd.FORK:
            stream.fork(record.time, pid, tid, ppid, ptid)
        else:
            stream.exit(record.time, pid, tid)


def find_frames(sample: rd.Sample) -> list[int]:
    begin = sample.user()
    return [] if begin is None else [ip for ip in sample.chain[begin:] if ip < rd.CONTEXT_MAX]


def convert(perf: rd.PerfData, declares: Sequence[str] = (), name_of: NamesOf | None = None,
            period: int = 0) -> str:
    """Returns the stream as text. @declares: what the profiler declares that it lacks; @name_of:
    maps (pid, address, time) to a name; @period: nanoseconds between samples."""
    file = io.StringIO()
    lacks = list(declares)
    sums: collections.Counter[tuple[int, int, tuple[Frame, ...]]] = collections.Counter()
    if not name_of:
        lacks.append("no-names")
    stream = Stream(file, "made 1", lacks, "frame-pointers", period)
    for record in perf.records:
        if isinstance(record, rd.Sample):
            frames: list[Frame] = []
            for index, ip in enumerate(find_frames(record)):
                name = name_of(record.pid, ip - (index > 0), record.time) if name_of else None
                if "no-addresses" in lacks:
                    frames.append(name or "?")
                else:
                    frames.append((ip, name))
            tid = -1 if "no-threads" in lacks else record.tid
            if "no-time" in lacks:
                sums[record.pid, tid, tuple(frames)] += 1
            else:
                stream.sample(record.time, record.pid, tid, frames)
        elif isinstance(record, rd.Side) and "no-time" not in lacks and \
                not (isinstance(record, rd.Map) and "no-mappings" in lacks) and \
                not (record.kind in (rd.COMM, rd.FORK, rd.EXIT) and "no-tasks" in lacks):
            write_side(stream, record)
    for (pid, tid, stack), weight in sums.items():
        stream.sample(weight, pid, tid, stack)
    return file.getvalue()
