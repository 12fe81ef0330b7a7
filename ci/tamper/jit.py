# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of the jitdumps and perf maps that the workload published."""

import os
import re
import struct
import subprocess
import tempfile
from typing import Callable

from ci.base import files
from ci.tamper.case import Case
from ci.tamper.kinds import Changes, add, require
from harness.selftest.support import run_directory as rd

LOAD = rd.Jitdump.LOAD
Dump = rd.Jitdump


def find_dumps(case: Case) -> list[str]:
    found = [name for name in case.list_files() if re.match(r"jit-\d+\.dump$", name)]
    require(found, "the case has no jitdump")
    return found


def read_mode(case: Case) -> str:
    modes: list[str] = re.findall(r"inject=(strip|keep|cut)\b", case.read("case").decode())
    return require(modes, "the case injects nothing, or by a profiler")[0]


def inject(case: Case, alter: dict[str, bytes]) -> Changes:
    """Injects altered jitdumps into the capture again. Works in a scratch folder, because the files
    at the recorded paths are no longer the mapped ones."""
    mode = read_mode(case)
    with tempfile.TemporaryDirectory(prefix="tamper-jit-", dir=case.scratch) as folder:
        target = os.path.join(folder, "injected.data")
        for name in find_dumps(case):
            files.write_bytes(os.path.join(folder, name), alter.get(name) or case.read(name))
        done = subprocess.run([case.jitproof, "inject", "--anon=" + mode, "--jitdump-dir", folder,
                               "-i", case.path("perf.data"), "-o", target],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=60)
        changes: dict[str, bytes | None] = dict(alter)
        changes["inject.txt"] = done.stderr
        changes["injected.data"] = files.read_bytes(target) if os.path.exists(target) else None
        for where, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(where, name)
                if name.startswith("jit-") and not name.endswith(".dump"):
                    changes["jit/" + name] = files.read_bytes(path)
        return changes


def alter_dumps(change: Callable[[Case, rd.Jitdump], None]) -> Callable[[Case], Changes]:
    """Alters each jitdump, and injects the altered jitdumps."""
    def alter_case(case: Case) -> Changes:
        read_mode(case)
        alter_case = {}
        for name in find_dumps(case):
            one = Dump(case.path(name))
            change(case, one)
            raw = one.header + b"".join(one.records)
            if raw != case.read(name):
                alter_case[name] = raw
        require(alter_case, "the jitdumps hold nothing of the kind")
        return inject(case, alter_case)
    return alter_case


def choose_loads(one: rd.Jitdump, share: float) -> list[bytearray]:
    loads = one.loads()
    return loads[::max(1, round(1 / share))] if share else loads[len(loads) // 2:][:1]


def alter_loads(change: Callable[[bytearray], None]) -> Callable[[Case, rd.Jitdump], None]:
    def alter_case(case: Case, one: rd.Jitdump) -> None:
        for record in choose_loads(one, 0.3):
            change(record)
    return alter_case


def remove_loads(case: Case, one: rd.Jitdump, share: float) -> None:
    gone = {id(record) for record in choose_loads(one, share)}
    one.records = [record for record in one.records if id(record) not in gone]


def set_name(record: bytearray, name: bytes) -> bytearray:
    _, _, size, old = Dump.load(record)
    code = record[len(record) - size:]
    made = record[:56] + name + b"\0" + code
    struct.pack_into("<I", made, 4, len(made))
    return made


def rename_loads(case: Case, one: rd.Jitdump) -> None:
    for index, record in enumerate(one.records):
        if Dump.kind(record) == LOAD and index % 3 == 0:
            one.records[index] = set_name(record, b"tampered")


add("jitdump.time.later", alter_dumps(alter_loads(
    lambda one: Dump.set_time(one, Dump.time(one) + 1_000_000_000_000))))
add("jitdump.deleted.one", alter_dumps(lambda case, one: remove_loads(case, one, 0.0)))
add("jitdump.deleted.some", alter_dumps(lambda case, one: remove_loads(case, one, 0.3)))
add("jitdump.names.other", alter_dumps(rename_loads))


def alter_perf_maps(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Case], Changes]:
    def alter_case(case: Case) -> Changes:
        found = [name for name in case.list_files() if re.match(r"perf-\d+\.map$", name)]
        require(found, "the case has no perf map")
        changes = {}
        for name in found:
            lines = case.read(name).splitlines(True)
            new = change(lines)
            if new != lines:
                changes[name] = b"".join(new)
        require(changes, "the perf maps hold nothing of the kind")
        return changes
    return alter_case


def split_line(line: bytes) -> list[bytes]:
    return line.rstrip(b"\n").split(b" ", 2)


def join_words(words: list[bytes]) -> bytes:
    return b" ".join(words) + b"\n"


def move_lines(lines: list[bytes]) -> list[bytes]:
    return [join_words([b"%x" % (int(split_line(line)[0], 16) + 16)] + split_line(line)[1:])
            if at % 3 == 0 else line for at, line in enumerate(lines)]


add("perf-map.addr.+16", alter_perf_maps(move_lines))
add("perf-map.deleted.one", alter_perf_maps(lambda lines: lines[:len(lines) // 2] +
                                            lines[len(lines) // 2 + 1:]))
add("perf-map.invented", alter_perf_maps(lambda lines: lines + [b"1000 100 invented\n"]))
