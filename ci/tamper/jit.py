# SPDX-License-Identifier: GPL-2.0-only
"""What the workload published, before it was injected: jitdumps and perf maps."""

import os
import re
import struct
import subprocess
import tempfile
from typing import Callable

from ci.base import files
from ci.tamper.case import Case
from ci.tamper.kinds import Absent, Changes, add
from ci.tamper.samples import NOBODY
from harness.selftest.support import run_directory as rd

LOAD = rd.Jitdump.LOAD
Dump = rd.Jitdump


def dumps(case: Case) -> list[str]:
    found = [name for name in case.names() if re.match(r"jit-\d+\.dump$", name)]
    if not found:
        raise Absent("the case has no jitdump")
    return found


def mode_of(case: Case) -> str:
    match = re.search(r"inject=(strip|keep|cut)\b", case.read("case").decode())
    if not match:
        raise Absent("the case injects nothing, or by a profiler")
    return match.group(1)


def inject(case: Case, altered: dict[str, bytes]) -> Changes:
    """Injects altered jitdumps into the capture again, from a scratch folder: those at the places
    that the capture names are not the mapped files any more."""
    mode = mode_of(case)
    with tempfile.TemporaryDirectory(prefix="tamper-jit-", dir=case.scratch) as folder:
        target = os.path.join(folder, "injected.data")
        for name in dumps(case):
            files.write_bytes(os.path.join(folder, name), altered.get(name) or case.read(name))
        done = subprocess.run([case.jitproof, "inject", "--anon=" + mode, "--jitdump-dir", folder,
                               "-i", case.path("perf.data"), "-o", target],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=60)
        changes: dict[str, bytes | None] = dict(altered)
        changes["inject.txt"] = done.stderr
        changes["injected.data"] = files.read_bytes(target) if os.path.exists(target) else None
        for where, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(where, name)
                if name.startswith("jit-") and not name.endswith(".dump"):
                    changes["jit/" + name] = files.read_bytes(path)
        return changes


def dump(change: Callable[[Case, rd.Jitdump], None]) -> Callable[[Case], Changes]:
    """Alters each jitdump, and injects."""
    def alter(case: Case) -> Changes:
        mode_of(case)
        altered = {}
        for name in dumps(case):
            one = Dump(case.path(name))
            change(case, one)
            raw = one.header + b"".join(one.records)
            if raw != case.read(name):
                altered[name] = raw
        if not altered:
            raise Absent("the jitdumps hold nothing of the kind")
        return inject(case, altered)
    return alter


def some(one: rd.Jitdump, share: float) -> list[bytearray]:
    loads = one.loads()
    return loads[::max(1, round(1 / share))] if share else loads[len(loads) // 2:][:1]


def each(change: Callable[[bytearray], None]) -> Callable[[Case, rd.Jitdump], None]:
    """A share of the loads."""
    def alter(case: Case, one: rd.Jitdump) -> None:
        for record in some(one, 0.3):
            change(record)
    return alter


def code_bytes(record: bytearray) -> None:
    size = Dump.load(record)[2]
    record[-size:] = b"\x90" * size


def moved(record: bytearray) -> None:
    addr = struct.unpack_from("<Q", record, 32)[0]
    struct.pack_into("<QQ", record, 24, addr + 16, addr + 16)


def shorter(record: bytearray) -> None:
    size = struct.unpack_from("<Q", record, 40)[0]
    struct.pack_into("<Q", record, 40, size // 2)
    del record[-(size - size // 2):]
    struct.pack_into("<I", record, 4, len(record))


def unloaded(case: Case, one: rd.Jitdump, share: float) -> None:
    gone = {id(record) for record in some(one, share)}
    one.records = [record for record in one.records if id(record) not in gone]


def with_name(record: bytearray, name: bytes) -> bytearray:
    _, _, size, old = Dump.load(record)
    code = record[len(record) - size:]
    made = record[:56] + name + b"\0" + code
    struct.pack_into("<I", made, 4, len(made))
    return made


def swapped(case: Case, one: rd.Jitdump) -> None:
    loads = [index for index, record in enumerate(one.records) if Dump.kind(record) == LOAD]
    for first, second in zip(loads[0::4], loads[1::4]):
        a, b = one.records[first], one.records[second]
        name_a, name_b = (Dump.load(record)[3].encode() for record in (a, b))
        one.records[first], one.records[second] = with_name(a, name_b), with_name(b, name_a)


def renamed(case: Case, one: rd.Jitdump) -> None:
    for index, record in enumerate(one.records):
        if Dump.kind(record) == LOAD and index % 3 == 0:
            one.records[index] = with_name(record, b"tampered")


def doubled(case: Case, one: rd.Jitdump) -> None:
    """A second load over the same code under another name, right after it."""
    records = []
    for index, record in enumerate(one.records):
        records.append(record)
        if Dump.kind(record) == LOAD and index % 3 == 0:
            again = with_name(record, b"tampered")
            Dump.set_time(again, Dump.time(record) + 1)
            records.append(again)
    one.records = records


add("jitdump.pid", dump(each(lambda one: struct.pack_into("<II", one, 16, NOBODY, NOBODY))))
add("jitdump.time.later", dump(each(
    lambda one: Dump.set_time(one, Dump.time(one) + 1_000_000_000_000))))
add("jitdump.time.1", dump(each(lambda one: Dump.set_time(one, 1))))
add("jitdump.code", dump(each(code_bytes)))
add("jitdump.addr.+16", dump(each(moved)))
add("jitdump.size.half", dump(each(shorter)))
add("jitdump.deleted.one", dump(lambda case, one: unloaded(case, one, 0.0)))
add("jitdump.deleted.some", dump(lambda case, one: unloaded(case, one, 0.3)))
add("jitdump.deleted.all", dump(lambda case, one: unloaded(case, one, 1.0)))
add("jitdump.names.swapped", dump(swapped))
add("jitdump.names.other", dump(renamed))
add("jitdump.doubled", dump(doubled))


def perf_map(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Case], Changes]:
    def alter(case: Case) -> Changes:
        found = [name for name in case.names() if re.match(r"perf-\d+\.map$", name)]
        if not found:
            raise Absent("the case has no perf map")
        changes = {}
        for name in found:
            lines = case.read(name).splitlines(True)
            new = change(lines)
            if new != lines:
                changes[name] = b"".join(new)
        if not changes:
            raise Absent("the perf maps hold nothing of the kind")
        return changes
    return alter


def parts(line: bytes) -> list[bytes]:
    return line.rstrip(b"\n").split(b" ", 2)


def joined(words: list[bytes]) -> bytes:
    return b" ".join(words) + b"\n"


def swap_lines(lines: list[bytes]) -> list[bytes]:
    new = list(lines)
    for at in range(0, len(lines) - 1, 4):
        first, second = parts(lines[at]), parts(lines[at + 1])
        first[2], second[2] = second[2], first[2]
        new[at:at + 2] = [joined(first), joined(second)]
    return new


def rename_lines(lines: list[bytes]) -> list[bytes]:
    return [joined(parts(line)[:2] + [b"tampered"]) if at % 3 == 0 else line
            for at, line in enumerate(lines)]


def move_lines(lines: list[bytes]) -> list[bytes]:
    return [joined([b"%x" % (int(parts(line)[0], 16) + 16)] + parts(line)[1:])
            if at % 3 == 0 else line for at, line in enumerate(lines)]


add("perf-map.names.swapped", perf_map(swap_lines))
add("perf-map.names.other", perf_map(rename_lines))
add("perf-map.addr.+16", perf_map(move_lines))
add("perf-map.deleted.some", perf_map(
    lambda lines: [line for at, line in enumerate(lines) if at % 3]))
add("perf-map.deleted.one", perf_map(lambda lines: lines[:len(lines) // 2] +
                                     lines[len(lines) // 2 + 1:]))
add("perf-map.deleted.all", perf_map(lambda lines: []))
add("perf-map.invented", perf_map(lambda lines: lines + [b"1000 100 invented\n"]))


def of_another(case: Case) -> Changes:
    """Of two processes' maps, each under the other's pid."""
    found = [name for name in case.names() if re.match(r"perf-\d+\.map$", name)]
    if len(found) < 2:
        raise Absent("fewer than two processes have perf maps")
    first, second = found[0], found[1]
    if case.read(first) == case.read(second):
        raise Absent("the perf maps of two processes are the same, byte by byte")
    return {first: case.read(second), second: case.read(first)}


add("perf-map.of-another", of_another)
