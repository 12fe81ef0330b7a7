# SPDX-License-Identifier: GPL-2.0-only
"""Measures how cost grows with size: captures of 10^3 to 10^6 mappings, processes, forks, names or
samples in one round, generated here, read by jitproof and by perf report."""

import os
import random
import shutil
import struct
import subprocess
import sys
from typing import BinaryIO, Callable, Iterator, Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.bench import usage
from harness.selftest.support import made_jitdump as mj
from harness.selftest.support import run_directory as rd

SIZES = (10**3, 10**4, 10**5, 10**6)
MOST_FORKS = 10**4  # each fork inherits all mappings of its parent
PERF_SECONDS = 60
PID, HEAP = 100, 0x10000000000
IDENTITY = 7
ATTR = rd.Attr.make(1 << 0 | 1 << 1 | 1 << 2, (IDENTITY,))  # IP, TID, TIME
TAIL = struct.Struct("<IIQ")


def pack_record(kind: int, misc: int, body: bytes) -> bytes:
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def pack_mapping(pid: int, start: int, name: bytes, time: int) -> bytes:
    name += bytes(8 - len(name) % 8)
    return pack_record(10, 2,
                       struct.pack("<IIQQQIIQQII", pid, pid, start, 4096, 0, 0, 0, 0, 0, 5, 2) +
                       name + TAIL.pack(pid, pid, time))


def pack_fork(pid: int, parent: int, time: int) -> bytes:
    return pack_record(7, 0, struct.pack("<IIIIQ", pid, parent, pid, parent, time) +
                       TAIL.pack(pid, pid, time))


def pack_sample(start: int, time: int) -> bytes:
    return pack_record(9, 2, struct.pack("<QIIQ", start, PID, PID, time))


def make_mappings(order: Callable[[int], Sequence[int]]) -> Callable[[int], Iterator[bytes]]:
    return lambda count: (pack_mapping(PID, HEAP + 8192 * slot, b"//anon", 10 + nth)
                          for nth, slot in enumerate(order(count)))


def shuffle_numbers(count: int) -> Sequence[int]:
    order = list(range(count))
    random.Random(1).shuffle(order)
    return order


def make_processes(count: int) -> Iterator[bytes]:
    for nth in range(count):
        yield pack_fork(1000 + nth, PID, 10 + 2 * nth) + pack_mapping(1000 + nth, HEAP, b"//anon",
                                                                      11 + 2 * nth)


def make_forks(count: int) -> Iterator[bytes]:
    for nth in range(count):
        yield pack_fork(1000 + nth, 999 + nth if nth else PID, 10 + 2 * nth) + \
            pack_mapping(1000 + nth, HEAP + 8192 * nth, b"//anon", 11 + 2 * nth)


def make_forks_of_many(count: int) -> Iterator[bytes]:
    """Yields a process with @count mappings, then @count forks of it. Each fork replaces a single
    mapping."""
    yield from make_mappings(range)(count)
    for nth in range(count):
        time = 10 + count + 2 * nth
        yield pack_fork(1000 + nth, PID, time) + pack_mapping(1000 + nth, HEAP + 8192 * nth,
                                                              b"//other",
                                                              time + 1)


def make_names(count: int) -> Iterator[bytes]:
    for nth in range(count):
        yield pack_mapping(PID, HEAP + 8192 * nth, b"/lib/name%d.so" % nth, 10 + nth)


def make_samples(count: int) -> Iterator[bytes]:
    """Yields samples as if drained from 64 rings, one ring after the other."""
    for ring in range(64):
        for time in range(10 + ring, 10 + count, 64):
            yield pack_sample(HEAP, time)


KINDS: dict[str, Callable[[int], Iterator[bytes]]] = {
    "mappings, ascending": make_mappings(range),
    "mappings, descending": make_mappings(lambda count: range(count - 1, -1, -1)),
    "mappings, any order": make_mappings(shuffle_numbers),
    "mappings, ascending below others": make_mappings(
        lambda count: [*range(count // 2, count), *range(count // 2)]),
    "processes alive": make_processes,
    "forks, each with one mapping more": make_forks,
    "forks of many mappings, each with another": make_forks_of_many,
    "names": make_names,
    "samples in one round": make_samples,
}


def make(path: str, records: Iterator[bytes]) -> None:
    """Writes a perf.data whose records form one round that ends with a sample."""
    empty = rd.PerfData([ATTR])
    with open(path, "wb") as file:
        file.write(empty.pack())
        start = file.tell()
        write_records(file, records)
        size = file.tell() - start
        # Set the position and size of the data section in the header.
        head = bytearray(empty.pack())
        struct.pack_into("<QQ", head, 40, start, size)
        file.seek(0)
        file.write(head)


def write_records(file: BinaryIO, records: Iterator[bytes]) -> None:
    last = 1 << 40
    file.write(pack_record(3, 0,
                           struct.pack("<II", PID, PID) + b"grower\0\0" + TAIL.pack(PID, PID, 1)))
    file.writelines(records)
    file.write(pack_sample(HEAP, last) + pack_record(68, 0, b""))


def make_heap(folder: str, count: int) -> str:
    """Writes a capture and its jitdump: code in each page of a heap that grows page by page; each
    growth is recorded as a mapping of the whole heap. Returns the path of the capture."""
    path, dump = os.path.join(folder, "growth.data"), mj.Made(PID)
    jitdump = os.path.join(folder, f"jit-{PID}.dump")
    for nth in range(count):
        dump.load(11 + 2 * nth, HEAP + 4096 * nth, bytes(64), nth, f"function{nth}")
    dump.save(jitdump)
    perf = mj.capture()
    perf.records = [perf.map(PID, 4096, 4096, jitdump, 1, ino=os.stat(jitdump).st_ino),
                    *(perf.map(PID, HEAP, 4096 * (1 + nth), "//anon", 10 + 2 * nth)
                      for nth in range(count))]
    perf.save(path)
    return path


def bench_heap(jitproof: str, folder: str) -> None:
    out = os.path.join(folder, "injected.data")
    print("growth: CPU seconds and peak memory of jitproof inject --anon=cut:")
    for size in SIZES[:3]:
        path = make_heap(folder, size)
        shutil.rmtree(out + ".jit", ignore_errors=True)
        cpu, peak = usage.measure_command([jitproof, "inject", "--anon=cut", "-i", path, "-o", out])
        print(f"  {'pages of a growing heap':<41} {size:8} "
              f"{os.path.getsize(path) / 1e6:7.1f} MB: {cpu:7.2f} s {peak / 1024:7.0f} MB",
              flush=True)


def measure_perf(perf: str, path: str) -> str:
    with subprocess.Popen([perf, "report", "--stdio", "--no-children", "-g", "none", "-i", path],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as child:
        try:
            child.wait(PERF_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            return f"more than {PERF_SECONDS} s"
        return "" if not child.returncode else f"exit {child.returncode}"


def bench(jitproof: str, perf: str, folder: str, sizes: Sequence[int] = SIZES) -> None:
    path = os.path.join(folder, "growth.data")
    print("growth: CPU seconds and peak memory of jitproof judge and of perf report:")
    for name, kind in KINDS.items():
        for size in sizes:
            if name.startswith("forks") and size > MOST_FORKS:
                continue
            make(path, kind(size))
            judged, memory = usage.measure_command([jitproof, "judge", path])
            late = measure_perf(perf, path)
            cpu, peak = (0.0, 0) if late else usage.measure_command(
                [perf, "report", "--stdio", "--no-children", "-g", "none", "-i", path])
            print(f"  {name:<41} {size:8} {os.path.getsize(path) / 1e6:7.1f} MB: {judged:7.2f} s "
                  f"{memory / 1024:7.0f} MB; perf " +
                  (late or f"{cpu:7.2f} s {peak / 1024:7.0f} MB"), flush=True)
    os.unlink(path)
    bench_heap(jitproof, folder)
