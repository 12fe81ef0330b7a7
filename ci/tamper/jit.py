# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of the jitdumps and perf maps that the workload published, and of the ELF files that
an injector made of them."""

import os
import re
import struct
import subprocess
import tempfile
from typing import Callable

from ci.base import files
from ci.tamper.case import Case, change_field
from ci.tamper.kinds import Changes, Unobservable, add, kind, require
from harness.selftest.support import run_directory as rd

LOAD = rd.Jitdump.LOAD
Dump = rd.Jitdump
DEBUG, CLOSE, UNWINDING = 2, 3, 4


def find_dumps(case: Case) -> list[str]:
    dumps = [name for name in case.list_files() if re.match(r"jit-\d+\.dump$", name)]
    require(dumps, "the case has no jitdump")
    return dumps


def read_mode(case: Case) -> str:
    modes: list[str] = re.findall(r"inject=(strip|keep|cut)\b", case.read("case").decode())
    return require(modes, "the case injects nothing, or a profiler injects")[0]


def inject(case: Case, alter: dict[str, bytes]) -> Changes:
    """Injects altered jitdumps into the capture again. Works in a scratch folder, because the files
    at the recorded paths are no longer the mapped ones."""
    mode = read_mode(case)
    with tempfile.TemporaryDirectory(prefix="tamper-jit-", dir=case.scratch) as folder:
        target = os.path.join(folder, "injected.data")
        for name in find_dumps(case):
            files.write_bytes(os.path.join(folder, name), alter.get(name) or case.read(name))
        result = subprocess.run([case.jitproof, "inject", "--anon=" + mode, "--jitdump-dir", folder,
                                 "-i", case.path("perf.data"), "-o", target],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=60)
        changes: dict[str, bytes | None] = dict(alter)
        changes["inject.txt"] = result.stderr
        changes["injected.data"] = files.read_bytes(target) if os.path.exists(target) else None
        for condition, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(condition, name)
                if name.startswith("jit-") and not name.endswith(".dump"):
                    changes["jit/" + name] = files.read_bytes(path)
        return changes


def alter_dumps(change: Callable[[Case, rd.Jitdump], None]) -> Callable[[Case], Changes]:
    """Alters each jitdump, and injects the altered jitdumps."""
    def alter_case(case: Case) -> Changes:
        read_mode(case)
        alter_case = {}
        for name in find_dumps(case):
            dump = Dump(case.path(name))
            change(case, dump)
            raw = dump.header + b"".join(dump.records)
            if raw != case.read(name):
                alter_case[name] = raw
        require(alter_case, "the jitdumps hold nothing of the kind")
        return inject(case, alter_case)
    return alter_case


def choose_loads(dump: rd.Jitdump, share: float) -> list[bytearray]:
    loads = dump.loads()
    return loads[::max(1, round(1 / share))] if share else loads[len(loads) // 2:][:1]


def alter_loads(change: Callable[[bytearray], None]) -> Callable[[Case, rd.Jitdump], None]:
    def alter_case(case: Case, dump: rd.Jitdump) -> None:
        for record in choose_loads(dump, 0.3):
            change(record)
    return alter_case


def remove_loads(case: Case, dump: rd.Jitdump, share: float) -> None:
    gone = {id(record) for record in choose_loads(dump, share)}
    dump.records = [record for record in dump.records if id(record) not in gone]


def set_name(record: bytearray, name: bytes) -> bytearray:
    _, _, size, old = Dump.load(record)
    code = record[len(record) - size:]
    new_record = record[:56] + name + b"\0" + code
    struct.pack_into("<I", new_record, 4, len(new_record))
    return new_record


def rename_loads(case: Case, dump: rd.Jitdump) -> None:
    for index, record in enumerate(dump.records):
        if Dump.kind(record) == LOAD and index % 3 == 0:
            dump.records[index] = set_name(record, b"tampered")


add("jitdump.time.later", alter_dumps(alter_loads(
    lambda dump: Dump.set_time(dump, Dump.time(dump) + 1_000_000_000_000))))
add("jitdump.deleted.one", alter_dumps(lambda case, dump: remove_loads(case, dump, 0.0)))
add("jitdump.deleted.some", alter_dumps(lambda case, dump: remove_loads(case, dump, 0.3)))
add("jitdump.names.other", alter_dumps(rename_loads))


def alter_perf_maps(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Case], Changes]:
    def alter_case(case: Case) -> Changes:
        matches = [name for name in case.list_files() if re.match(r"perf-\d+\.map$", name)]
        require(matches, "the case has no perf map")
        changes = {}
        for name in matches:
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
            if index % 3 == 0 else line for index, line in enumerate(lines)]


add("perf-map.addr.+16", alter_perf_maps(move_lines))
add("perf-map.deleted.one", alter_perf_maps(lambda lines: lines[:len(lines) // 2] +
                                            lines[len(lines) // 2 + 1:]))
add("perf-map.invented", alter_perf_maps(lambda lines: lines + [b"1000 100 invented\n"]))


def get_number(record: bytes, at: int) -> int:
    number: int = struct.unpack_from("<Q", record, at)[0]
    return number


def shift_time(by: int) -> Callable[[bytearray], None]:
    return lambda record: Dump.set_time(record, Dump.time(record) + by)


def swap_load_times(case: Case, dump: rd.Jitdump) -> None:
    loads = dump.loads()
    for first, second in zip(loads[0::4], loads[1::4]):
        before, after = Dump.time(first), Dump.time(second)
        Dump.set_time(first, after)
        Dump.set_time(second, before)


def change_middle_record(number: int, change: Callable[[list[bytearray], int], list[bytearray]]) \
        -> Callable[[Case, rd.Jitdump], None]:
    def alter_case(case: Case, dump: rd.Jitdump) -> None:
        found = [index for index, record in enumerate(dump.records) if Dump.kind(record) == number]
        if found:
            dump.records = change(dump.records, found[len(found) // 2])
    return alter_case


def remove_at(records: list[bytearray], index: int) -> list[bytearray]:
    return records[:index] + records[index + 1:]


def break_unwinding(records: list[bytearray], index: int) -> list[bytearray]:
    records[index][40:] = b"\xff" * len(records[index][40:])
    return records


def lengthen_code(case: Case, dump: rd.Jitdump) -> None:
    for at, record in enumerate(dump.records):
        if Dump.kind(record) == Dump.LOAD and at % 3 == 0:
            made = record + b"\x90" * 16
            change_field(40, "Q", lambda old: old + 16)(made)
            struct.pack_into("<I", made, 4, len(made))
            dump.records[at] = made


add("jitdump.vma.+16", alter_dumps(alter_loads(change_field(24, "Q", lambda old: old + 16))))
add("jitdump.code-addr.+16", alter_dumps(alter_loads(change_field(32, "Q", lambda old: old + 16))))
add("jitdump.addr.-4096", alter_dumps(alter_loads(lambda record: struct.pack_into(
    "<QQ", record, 24, get_number(record, 24) - 4096, get_number(record, 32) - 4096))))
add("jitdump.time.+1ms", alter_dumps(alter_loads(shift_time(1_000_000))))
add("jitdump.time.+1s", alter_dumps(alter_loads(shift_time(1_000_000_000))))
add("jitdump.loads.swapped", alter_dumps(swap_load_times))
add("jitdump.size.longer", alter_dumps(lengthen_code))
add("jitdump.move.deleted", alter_dumps(change_middle_record(Dump.MOVE, remove_at)))
add("jitdump.unwinding.bytes", alter_dumps(change_middle_record(UNWINDING, break_unwinding)))
add("jitdump.unwinding.deleted", alter_dumps(change_middle_record(UNWINDING, remove_at)))


def change_each(number: int, change: Callable[[bytearray], None]) \
        -> Callable[[Case, rd.Jitdump], None]:
    def alter_case(case: Case, dump: rd.Jitdump) -> None:
        for record in dump.records:
            if Dump.kind(record) == number:
                change(record)
    return alter_case


def remove_close_records(dump: rd.Jitdump) -> list[bytearray]:
    return [record for record in dump.records if Dump.kind(record) != CLOSE]


def move_close(case: Case, dump: rd.Jitdump) -> None:
    rest = remove_close_records(dump)
    closing = [record for record in dump.records if Dump.kind(record) == CLOSE]
    dump.records = rest[:len(rest) // 2] + closing + rest[len(rest) // 2:]


def remove_close(case: Case, dump: rd.Jitdump) -> None:
    dump.records = remove_close_records(dump)


def insert_before_middle(dump: rd.Jitdump, kind: int, body: Callable[[int, int], bytes]) -> None:
    """Inserts a record before the load in the middle. @body: makes its body from the load's address
    and size."""
    for load in choose_loads(dump, 0.0):
        _, addr, size, _ = Dump.load(load)
        made = body(addr, size)
        index = next(position for position, record in enumerate(dump.records) if record is load)
        dump.records.insert(index, bytearray(struct.pack(
            "<IIQ", kind, 16 + len(made), Dump.time(load)) + made))


def invent_debug(case: Case, dump: rd.Jitdump) -> None:
    insert_before_middle(dump, DEBUG, lambda addr,
                         size: struct.pack("<QQQII", addr, 1, addr, 1, 0) +
                         b"/tampered/source.c\0")


def change_header(at: int, layout: str, value: Callable[[int], int]) \
        -> Callable[[Case, rd.Jitdump], None]:
    def alter_case(case: Case, dump: rd.Jitdump) -> None:
        raw = bytearray(dump.header)
        change_field(at, layout, value)(raw)
        dump.header = bytes(raw)
    return alter_case


def change_last_byte(case: Case, dump: rd.Jitdump) -> None:
    """Changes the last byte of some loads, which differ then from functions of the same layout."""
    loaded = {dump[2:3] + dump[6:7]: (dump[8] & 0xffffffff, dump[9] >> 32) for dump in
              case.acts(rd.Truth.CODE_LOAD)}
    layouts = [loaded.get(Dump.load(record)[:2], (0, 1)) for record in dump.loads()]
    chosen = {id(record) for record in choose_loads(dump, 0.3)}
    seen = False
    for record, (layout, frames) in zip(dump.loads(), layouts):
        if id(record) in chosen:
            record[-1] ^= 0x5a
            seen |= not frames and layouts.count((layout, 0)) > 1
    if chosen and not seen:
        raise Unobservable("no function has the same layout, so no file shows the right bytes")


add("jitdump.load.tid", alter_dumps(alter_loads(change_field(20, "I", lambda old: old + 1))))
add("jitdump.load.index.same", alter_dumps(alter_loads(change_field(48, "Q", lambda old: 1))))
add("jitdump.code.last-byte", alter_dumps(change_last_byte))
add("jitdump.close.middle", alter_dumps(move_close))
add("harmless.jitdump.close.gone", alter_dumps(remove_close))
add("jitdump.debug.invented", alter_dumps(invent_debug))
add("jitdump.move.from.+4096", alter_dumps(change_each(
    Dump.MOVE, change_field(32, "Q", lambda old: old + 4096))))
add("jitdump.unwinding.hdr-size", alter_dumps(change_each(
    UNWINDING, change_field(24, "Q", lambda old: old + 8))))
add("jitdump.unwinding.mapped-size", alter_dumps(change_each(UNWINDING, change_field(
    32, "Q", lambda old: old ^ 8))))
add("jitdump.header.machine", alter_dumps(change_header(12, "I", lambda old: 183)))
add("jitdump.header.pid", alter_dumps(change_header(20, "I", lambda old: old + 1)))
add("jitdump.header.clock", alter_dumps(change_header(32, "Q", lambda old: old | 1)))
add("jitdump.header.version", alter_dumps(change_header(4, "I", lambda old: 2)))


def rotate_names(lines: list[bytes]) -> list[bytes]:
    names = [split_line(line)[2] for line in lines]
    return [join_words(split_line(line)[:2] + [name])
            for line, name in zip(lines, names[1:] + names[:1])]


def change_lengths(by: int) -> Callable[[Case], Changes]:
    """Changes the length in every third line."""
    def change(line: bytes) -> bytes:
        words = split_line(line)
        words[1] = b"%x" % (int(words[1], 16) + by)
        return join_words(words)
    return alter_perf_maps(lambda lines: [change(line) if index % 3 == 0 else line
                                          for index, line in enumerate(lines)])


add("perf-map.names.next", alter_perf_maps(rotate_names))
add("perf-map.length.-1", change_lengths(-1))
add("perf-map.length.+1", change_lengths(1))


def find_jit_files(case: Case) -> list[str]:
    """Returns the ELF files that the injector wrote, relative to the case."""
    jit_files = []
    for folder in ("", "jit"):
        path = case.path(folder)
        if os.path.isdir(path):
            for root, _, names in os.walk(path):
                jit_files += [os.path.relpath(os.path.join(root, name), case.path(""))
                          for name in sorted(names)
                          if re.match(r"jit(ted)?-\d+-", name) and not name.endswith(".dump")]
    jit_files = sorted(set(jit_files))
    require(jit_files, "the case has no file of jitted code")
    return jit_files


@kind("jit-file.gone.one")
def remove_file(case: Case) -> Changes:
    matches = find_jit_files(case)
    return {matches[len(matches) // 2]: None}


def find_code_sections(raw: bytearray) -> list[slice]:
    """Returns the places of executable sections in an ELF file."""
    start, = struct.unpack_from("<Q", raw, 40)
    count, = struct.unpack_from("<H", raw, 60)
    code_sections = []
    for position in range(start, start + 64 * count, 64):
        kind_of, flags = struct.unpack_from("<IQ", raw, position + 4)
        if kind_of == 1 and flags & 4:
            offset, size = struct.unpack_from("<QQ", raw, position + 24)
            code_sections.append(slice(offset, offset + size))
    return code_sections


def alter_jit_files(change: Callable[[bytearray], None]) -> Callable[[Case], Changes]:
    """Alters each ELF file that the injector wrote."""
    def alter_case(case: Case) -> Changes:
        changes = {}
        for name in find_jit_files(case):
            raw = bytearray(case.read(name))
            change(raw)
            if raw != case.read(name):
                changes[name] = bytes(raw)
        require(changes, "the ELF files hold nothing of the kind")
        return changes
    return alter_case


def change_code(raw: bytearray) -> None:
    for code in find_code_sections(raw):
        raw[code] = b"\xcc" * (code.stop - code.start)


def change_tables(raw: bytearray) -> None:
    """Changes a byte of the call frame information, if there is some."""
    position = raw.find(b"\x01zR\0")
    if position >= 0:
        raw[position + 5] ^= 0xff


add("jit-file.code", alter_jit_files(change_code))
add("jit-file.tables", alter_jit_files(change_tables))
add("jit-file.machine", alter_jit_files(change_field(18, "H", lambda old: 183)))
