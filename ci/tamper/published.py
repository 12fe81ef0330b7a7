# SPDX-License-Identifier: GPL-2.0-only
"""What a workload published and an injector made of it, altered in one field or one file."""

from functools import partial
import os
import re
import struct
from typing import Callable

from ci.tamper.case import Capture, Case, clone
from ci.tamper.injected import FILE, WHAT
from ci.tamper.jit import Dump, dump, each, joined, parts, perf_map, some, with_name
from ci.tamper.kinds import Absent, Changes, Unobservable, add, kind, rewriting
from ci.tamper.mappings import is_injected
from harness.selftest.support import run_directory as rd

DEBUG, CLOSE, UNWINDING = 2, 3, 4


def put(record: bytearray, at: int, layout: str, value: int) -> None:
    struct.pack_into("<" + layout, record, at, value)


def get(record: bytes, at: int) -> int:
    number: int = struct.unpack_from("<Q", record, at)[0]
    return number


def time_by(by: int) -> Callable[[bytearray], None]:
    return lambda record: Dump.set_time(record, Dump.time(record) + by)


def swap_loads(case: Case, one: rd.Jitdump) -> None:
    """Two loads at each other's time."""
    loads = one.loads()
    for first, second in zip(loads[0::4], loads[1::4]):
        before, after = Dump.time(first), Dump.time(second)
        Dump.set_time(first, after)
        Dump.set_time(second, before)


def swap_code(case: Case, one: rd.Jitdump) -> None:
    """Two loads at each other's address."""
    loads = one.loads()
    for first, second in zip(loads[0::4], loads[1::4]):
        first[24:40], second[24:40] = second[24:40], first[24:40]


def of_kind(number: int, change: Callable[[list[bytearray], int], list[bytearray]]) \
        -> Callable[[Case, rd.Jitdump], None]:
    def alter(case: Case, one: rd.Jitdump) -> None:
        found = [index for index, record in enumerate(one.records) if Dump.kind(record) == number]
        if found:
            one.records = change(one.records, found[len(found) // 2])
    return alter


def without(records: list[bytearray], index: int) -> list[bytearray]:
    return records[:index] + records[index + 1:]


def bad_unwinding(records: list[bytearray], index: int) -> list[bytearray]:
    records[index][40:] = b"\xff" * len(records[index][40:])
    return records


def same_name(case: Case, one: rd.Jitdump) -> None:
    """All functions have the first one's name."""
    loads = one.loads()
    name = Dump.load(loads[0])[3].encode() if loads else b""
    one.records = [with_name(record, name) if Dump.kind(record) == Dump.LOAD else record
                   for record in one.records]


def longer(case: Case, one: rd.Jitdump) -> None:
    for at, record in enumerate(one.records):
        if Dump.kind(record) == Dump.LOAD and at % 3 == 0:
            made = record + b"\x90" * 16
            put(made, 40, "Q", get(record, 40) + 16)
            put(made, 4, "I", len(made))
            one.records[at] = made


add("jitdump.vma.+16", dump(each(lambda record: put(record, 24, "Q", get(record, 24) + 16))))
add("jitdump.code-addr.+16", dump(each(lambda record: put(record, 32, "Q", get(record, 32) + 16))))
add("jitdump.addr.-4096", dump(each(lambda record: struct.pack_into(
    "<QQ", record, 24, get(record, 24) - 4096, get(record, 32) - 4096))))
add("jitdump.time.+1ms", dump(each(time_by(1_000_000))))
add("jitdump.time.+1s", dump(each(time_by(1_000_000_000))))
add("jitdump.time.-1s", dump(each(time_by(-1_000_000_000))))
add("jitdump.loads.swapped", dump(swap_loads))
add("jitdump.addresses.swapped", dump(swap_code))
add("jitdump.names.same", dump(same_name))
add("jitdump.size.longer", dump(longer))
add("jitdump.move.deleted", dump(of_kind(Dump.MOVE, without)))
add("jitdump.unwinding.bytes", dump(of_kind(UNWINDING, bad_unwinding)))
add("jitdump.unwinding.deleted", dump(of_kind(UNWINDING, without)))


def field(at: int, layout: str, value: Callable[[int], int]) -> Callable[[bytearray], None]:
    """Another number at @at of a record."""
    return lambda record: put(record, at, layout, value(
        struct.unpack_from("<" + layout, record, at)[0]))


def each_of(number: int, change: Callable[[bytearray], None]) \
        -> Callable[[Case, rd.Jitdump], None]:
    """All records of a type."""
    def alter(case: Case, one: rd.Jitdump) -> None:
        for record in one.records:
            if Dump.kind(record) == number:
                change(record)
    return alter


def without_close(one: rd.Jitdump) -> list[bytearray]:
    return [record for record in one.records if Dump.kind(record) != CLOSE]


def close_middle(case: Case, one: rd.Jitdump) -> None:
    rest = without_close(one)
    closing = [record for record in one.records if Dump.kind(record) == CLOSE]
    one.records = rest[:len(rest) // 2] + closing + rest[len(rest) // 2:]


def close_gone(case: Case, one: rd.Jitdump) -> None:
    one.records = without_close(one)


def before_middle(one: rd.Jitdump, kind: int, body: Callable[[int, int], bytes]) -> None:
    """A record before the load in the middle, of what @body makes of its address and size."""
    for load in some(one, 0.0):
        _, addr, size, _ = Dump.load(load)
        made = body(addr, size)
        index = next(at for at, record in enumerate(one.records) if record is load)
        one.records.insert(index, bytearray(struct.pack(
            "<IIQ", kind, 16 + len(made), Dump.time(load)) + made))


def debug_invented(case: Case, one: rd.Jitdump) -> None:
    before_middle(one, DEBUG, lambda addr, size: struct.pack("<QQQII", addr, 1, addr, 1, 0) +
                  b"/tampered/source.c\0")


def move_invented(case: Case, one: rd.Jitdump) -> None:
    loads = some(one, 0.0)
    for load in loads:
        pid, addr, size, _ = Dump.load(load)
        index = get(load, 48)
        one.records.insert(next(at for at, record in enumerate(one.records) if record is load) + 1,
                           bytearray(struct.pack("<IIQIIQQQQQ", Dump.MOVE, 64,
                                                 Dump.time(load) + 1, pid, pid, addr + 65536,
                                                 addr, addr + 65536, size, index)))


def header(at: int, layout: str, value: Callable[[int], int]) \
        -> Callable[[Case, rd.Jitdump], None]:
    def alter(case: Case, one: rd.Jitdump) -> None:
        raw = bytearray(one.header)
        field(at, layout, value)(raw)
        one.header = bytes(raw)
    return alter


def last_byte(case: Case, one: rd.Jitdump) -> None:
    """Of a share of the loads: what functions of the same layout have, too."""
    loaded = {one[2:3] + one[6:7]: (one[8] & 0xffffffff, one[9] >> 32) for one in
              map(case.truth.get, case.truth.of(case.truth.CODE_LOAD))}
    layouts = [loaded.get(Dump.load(record)[:2], (0, 1)) for record in one.loads()]
    chosen = {id(record) for record in some(one, 0.3)}
    seen = False
    for record, (layout, frames) in zip(one.loads(), layouts):
        if id(record) in chosen:
            record[-1] ^= 0x5a
            seen |= not frames and layouts.count((layout, 0)) > 1
    if chosen and not seen:
        raise Unobservable("no other function has the same layout: nothing else tells the bytes")


def index_bit(record: bytearray) -> None:
    """The version of its tables' index: padding may stand behind that."""
    size, hdr_size = struct.unpack_from("<QQ", record, 16)
    record[40 + size - hdr_size] ^= 1


add("jitdump.load.tid", dump(each(field(20, "I", lambda old: old + 1))))
add("jitdump.load.vma.0", dump(each(field(24, "Q", lambda old: 0))))
add("jitdump.load.index.same", dump(each(field(48, "Q", lambda old: 1))))
add("jitdump.load.index.+1000", dump(each(field(48, "Q", lambda old: old + 1000))))
add("jitdump.code.last-byte", dump(last_byte))
add("jitdump.close.middle", dump(close_middle))
add("harmless.jitdump.close.gone", dump(close_gone), harmless=True)
add("jitdump.debug.invented", dump(debug_invented))
add("jitdump.move.invented", dump(move_invented))
add("jitdump.move.from.+4096", dump(each_of(Dump.MOVE, field(32, "Q", lambda old: old + 4096))))
add("jitdump.unwinding.index", dump(each_of(UNWINDING, index_bit)))
add("jitdump.unwinding.hdr-size", dump(each_of(UNWINDING, field(24, "Q", lambda old: old + 8))))
add("jitdump.unwinding.mapped-size", dump(each_of(UNWINDING, field(
    32, "Q", lambda old: old ^ 8))))
add("jitdump.header.machine", dump(header(12, "I", lambda old: 183)))
add("jitdump.header.pid", dump(header(20, "I", lambda old: old + 1)))
add("jitdump.header.clock", dump(header(32, "Q", lambda old: old | 1)))
add("jitdump.header.version", dump(header(4, "I", lambda old: 2)))


def all_lines(change: Callable[[list[bytes]], list[bytes]], least: int) \
        -> Callable[[Case], Changes]:
    return perf_map(lambda lines: change(lines) if len(lines) >= least else lines)


def named_next(lines: list[bytes]) -> list[bytes]:
    """Each line has the next one's name."""
    names = [parts(line)[2] for line in lines]
    return [joined(parts(line)[:2] + [name])
            for line, name in zip(lines, names[1:] + names[:1])]


def sized(line: bytes, by: int | None) -> bytes:
    words = parts(line)
    words[1] = b"0" if by is None else b"%x" % (int(words[1], 16) + by)
    return joined(words)


def third(change: Callable[[bytes], list[bytes]]) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [new for at, line in enumerate(lines)
                          for new in (change(line) if at % 3 == 0 else [line])]


add("perf-map.names.next", all_lines(named_next, 2))
add("perf-map.length.0", perf_map(third(lambda line: [sized(line, None)])))
add("perf-map.length.-1", perf_map(third(lambda line: [sized(line, -1)])))
add("perf-map.length.+1", perf_map(third(lambda line: [sized(line, 1)])))
add("perf-map.length.all", perf_map(third(lambda line: [sized(line, 1 << 20)])))
add("perf-map.doubled.renamed", perf_map(third(
    lambda line: [line, joined(parts(line)[:2] + [b"tampered"])])))
add("perf-map.name.longer", perf_map(third(lambda line: [line[:-1] + b"x\n"])))
add("perf-map.cut", perf_map(lambda lines: [b"".join(lines)[:len(b"".join(lines)) // 2]]))


def jit_files(case: Case, least: int) -> list[str]:
    """The ELF files that the injector wrote, relative to the case."""
    found = []
    for folder in ("", "jit"):
        path = case.path(folder)
        if os.path.isdir(path):
            for root, _, names in os.walk(path):
                found += [os.path.relpath(os.path.join(root, name), case.path(""))
                          for name in sorted(names)
                          if re.match(r"jit(ted)?-\d+-", name) and not name.endswith(".dump")]
    found = sorted(set(found))
    if len(found) < least:
        raise Absent("the case has fewer than %d files of jitted code" % least)
    return found


@kind("jit-file.gone.one")
def no_file(case: Case) -> Changes:
    found = jit_files(case, 1)
    return {found[len(found) // 2]: None}


@kind("jit-file.swapped")
def swapped_files(case: Case) -> Changes:
    """Of two ELF files, each under the other's name."""
    found = jit_files(case, 2)
    first, second = found[0], found[-1]
    if case.read(first) == case.read(second):
        raise Absent("the files are the same, byte by byte")
    return {first: case.read(second), second: case.read(first)}


@kind("jit-file.names")
def other_symbols(case: Case) -> Changes:
    """The names of functions within an ELF file, each a letter off."""
    changes = {name: re.sub(rb"(\0[a-z]\w*)_fp_", rb"\1_fq_", case.read(name))
               for name in jit_files(case, 1)}
    if all(case.read(name) == raw for name, raw in changes.items()):
        raise Absent("no ELF file holds such a name")
    return changes


@kind("jit-file.cut")
def cut_file(case: Case) -> Changes:
    found = jit_files(case, 1)
    name = found[len(found) // 2]
    return {name: case.read(name)[:100]}


def executable_parts(raw: bytearray) -> list[slice]:
    """Where the code of an ELF file stands in it: its sections that are executable."""
    start, = struct.unpack_from("<Q", raw, 40)
    count, = struct.unpack_from("<H", raw, 60)
    found = []
    for at in range(start, start + 64 * count, 64):
        kind_of, flags = struct.unpack_from("<IQ", raw, at + 4)
        if kind_of == 1 and flags & 4:
            offset, size = struct.unpack_from("<QQ", raw, at + 24)
            found.append(slice(offset, offset + size))
    return found


@kind("jit-file.code")
def other_code(case: Case) -> Changes:
    changes = {}
    for name in jit_files(case, 1):
        raw = bytearray(case.read(name))
        for code in executable_parts(raw):
            raw[code] = b"\xcc" * (code.stop - code.start)
        changes[name] = bytes(raw)
    return changes


@kind("jit-file.tables")
def other_tables(case: Case) -> Changes:
    """A word of the call frame information of each file that has some of its function."""
    changes: dict[str, bytes | None] = {}
    for name in jit_files(case, 1):
        raw = bytearray(case.read(name))
        at = raw.find(b"\x01zR\0")
        if at >= 0:
            raw[at + 5] ^= 0xff
            changes[name] = bytes(raw)
    if not changes:
        raise Absent("no ELF file holds call frame information")
    return changes


@kind("jit-file.machine")
def other_machine(case: Case) -> Changes:
    changes = {}
    for name in jit_files(case, 1):
        raw = bytearray(case.read(name))
        put(raw, 18, "H", 183)
        changes[name] = bytes(raw)
    return changes


@kind("jit-file.zeroed")
def zeroed_file(case: Case) -> Changes:
    return {name: bytes(len(case.read(name))) for name in jit_files(case, 1)}


def one_injected(change: Callable[[rd.Map], object]) -> Callable[[Case], Changes]:
    return lambda case: case.each(is_injected, change, 0.3, WHAT, FILE)


add("injected.map.name", one_injected(lambda one: clone(one, name=one.name + "x")))
add("injected.map.prot", one_injected(lambda one: clone(one, prot=rd.READ)))
add("injected.map.longer", one_injected(lambda one: clone(one, size=one.size + 4096)))


def gone(case: Case, number: int) -> Changes:
    return case.each(lambda one: one.kind == number, lambda one: None, 1.0, "such record", FILE)


add("injected.map.sooner", one_injected(
    lambda one: clone(one, time=max(1, one.time - 100_000_000))))
for name, number in (("comm", rd.COMM), ("fork", rd.FORK), ("exit", rd.EXIT)):
    add("injected.%s.deleted" % name, partial(gone, number=number))


@rewriting("injected.map.names.swapped", FILE)
def names_swapped(case: Case, capture: Capture) -> Capture:
    """Two injected records lead to each other's file."""
    found = [one for one in capture.maps() if is_injected(one)]
    for first, second in zip(found, found[1:]):
        if first.name != second.name or first.pgoff != second.pgoff:
            one, two = clone(first, pgoff=second.pgoff), clone(second, pgoff=first.pgoff)
            one.name, two.name = second.name, first.name
            new = {id(first): one, id(second): two}
            return capture.replaced(new)
    raise Absent("no two injected records differ")


def in_sample(change: Callable[[rd.Sample], rd.Sample]) -> Callable[[Case], Changes]:
    return lambda case: case.each(
        lambda one: isinstance(one, rd.Sample) and case.in_code(one) and bool(one.chain), change,
        0.0, "sample in emitted code with a callchain", FILE)


add("injected.sample.chain.one", in_sample(lambda one: clone(one, chain=one.chain[:-1])))
add("injected.sample.dump.one", in_sample(
    lambda one: clone(one, stack=one.stack[:-8] + b"\xff" * 8) if one.stack else one))
