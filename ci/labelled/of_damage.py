# SPDX-License-Identifier: GPL-2.0-only
"""Captures without stacks or samples, damaged jitdumps, and what a failed inject leaves."""

import glob
import os
import struct
from typing import Callable

from ci.base import files, process
from ci.labelled.bench import Bench, CHAINS
from ci.labelled.of_workloads import FP, JITDUMP
from ci.labelled.recipe import add, add_workload, LIBC

add("no-call-graph-6.1", "no-call-graph", lambda bench: [bench.build_chain(), "100"],
    record=("-F", "999"))
add("no-samples-6.1", "no-samples", lambda bench: [bench.build_chain(), "100"],
    record=("-e", "alignment-faults", "-c", "1", "-g"))


def add_damaged(name: str, label: str, change: Callable[[Bench, str], object]) -> None:
    """Adds a recipe that damages the jitdump of a workload. @change: gets the jitdump's path."""
    add_workload(name, label, "anon_exec", FP, JITDUMP, after=lambda bench: change(
        bench, glob.glob(bench.place("jit-*.dump"))[0]))


def insert_copy(bench: Bench, dump: str) -> None:
    """Inserts a copy of earlier bytes between two records, as a forked child does that flushes the
    stdio buffer of its parent."""
    raw = files.read_bytes(dump)
    at = 40
    while at < len(raw) // 2:
        at += int.from_bytes(raw[at + 4:at + 8], "little") or len(raw)
    files.write_bytes(dump, raw[:at] + raw[60:160] + raw[at:])
    bench.steps.append("# %s: bytes 60 to 160 again at %d" % (os.path.basename(dump), at))


def set_bytes(at: int, value: bytes) -> Callable[[Bench, str], None]:
    def change(bench: Bench, dump: str) -> None:
        raw = files.read_bytes(dump)
        files.write_bytes(dump, raw[:at] + value + raw[at + len(value):])
        bench.steps.append("# %s: %s at %d" % (os.path.basename(dump), value.hex(), at))
    return change


def fail_inject(bench: Bench, dump: str) -> None:
    set_bytes(0, bytes(4))(bench, dump)
    merged = bench.place("injected.data")
    command = [bench.perf("6.1"), "inject", "--jit", "-i", bench.data, "-o", merged]
    bench.add_note(command, "! ")
    if not process.run(command, cwd=bench.folder, env=bench.environment).returncode:
        raise RuntimeError("perf inject did not fail")
    os.replace(merged, bench.data)


def split_block(bench: Bench) -> None:
    """Moves the head of the first zstd frame to a record of its own, as perf does if a block is
    longer than a record; the dumps that cause this are too large for an archive."""
    raw, record = files.read_bytes(bench.data), struct.Struct("<IHH")
    data, size = struct.unpack_from("<QQ", raw, 40)
    at, compressed, head = data, 81, 6
    while record.unpack_from(raw, at)[0] != compressed:
        at += record.unpack_from(raw, at)[2]
    body = at + record.size
    raw = b"".join([
        raw[:at], record.pack(compressed, 0, record.size + head), raw[body:body + head],
        record.pack(compressed, 0, record.unpack_from(raw, at)[2] - head), raw[body + head:]])
    changed = bytearray(raw)
    struct.pack_into("<Q", changed, 48, size + record.size)
    for feature in range(sum(word.bit_count() for word in struct.unpack_from("<4Q", raw, 72))):
        entry = data + size + record.size + 16 * feature
        struct.pack_into("<Q", changed, entry,
                         struct.unpack_from("<Q", raw, entry)[0] + record.size)
    files.write_bytes(bench.data, bytes(changed))
    bench.extra += [bench.place("chain"), LIBC]  # which our reader does not decompress
    if not process.run([bench.perf("6.1"), "script", "-i", bench.data]).returncode:
        raise RuntimeError("perf reads the file")
    bench.steps.append("# perf.data: compressed record at %d divided after %d bytes" % (at, head))


def truncate(size: int) -> Callable[[Bench, str], object]:
    return lambda bench, dump: bench.must(["truncate", "-s", str(size), dump])


add("compressed-block-6.1", "unreadable-by-perf", lambda bench: [bench.build_chain(), "100"],
    record=("-F", "999", "-g", "-z"), after=split_block)
add_damaged("jitdump-damaged-ours", "damaged-jitdump", insert_copy)
add_damaged("jitdump-empty-6.1", "empty-jitdump", truncate(0))
add_damaged("inject-failed-6.1", "failed-inject", fail_inject)
add_damaged("dump-magic-6.12", "stacks:- names:damaged-jitdump", set_bytes(0, b"JiTT"))
add_damaged("dump-first-size-6.12", "stacks:- names:damaged-jitdump",
            set_bytes(44, b"\xff\xff\xff\x7f"))
add_damaged("dump-header-only-6.12", "stacks:- names:empty-jitdump", truncate(40))


def inject_after(version: str, change: Callable[[Bench, str], object]
                 ) -> Callable[[Bench, str], None]:
    """Returns a function that changes the jitdump and injects it all the same."""
    def make(bench: Bench, dump: str) -> None:
        change(bench, dump)
        bench.inject(version)
    return make


# perf inject accepts no load, and removes the records of the memory.
add_damaged("size-injected-6.12", "stacks:- names:damaged-jitdump",
            inject_after("6.12", set_bytes(44, b"\xff\xff\xff\x7f")))
add_damaged("empty-injected-7.3", "stacks:- names:damaged-jitdump|empty-jitdump",
            inject_after("7.3", truncate(40)))
# perf inject adds nothing to a compressed recording.
add_workload("compressed-injected-6.12", "stacks:- names:jitdump-not-injected", "anon_exec", FP,
             JITDUMP, record=(*CHAINS, "-z"), inject="6.12",
             after=lambda bench: bench.extra.extend((bench.jitproof, LIBC)))
