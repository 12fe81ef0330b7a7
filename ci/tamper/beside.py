# SPDX-License-Identifier: GPL-2.0-only
"""The oracle and the runner's own notes: seals, fields of the truth, maps, what was asked for."""

from functools import partial
import re
import struct
from typing import Callable
import zlib

from ci.tamper.case import Case
from ci.tamper.kinds import Absent, Changes, Unobservable, add, kind, of_clock
from ci.tamper.window import REPLACED, is_replaced, is_reset, lines_of, packed
from harness.selftest.support import run_directory as rd

T = rd.Truth


def header(at: int, layout: str, by: int) -> Callable[[Case], Changes]:
    def alter(case: Case) -> Changes:
        changed = bytearray(case.truth.header)
        old = struct.unpack_from("<" + layout, changed, at)[0]
        struct.pack_into("<" + layout, changed, at, old + by)
        return {"truth": bytes(changed) + b"".join(case.truth.slots)}
    return alter


add("truth.header.magic", header(0, "B", 1))
add("truth.header.version", header(8, "I", 1))
for older in (1, 2):
    add("truth.header.version-%d" % older, header(8, "I", -older))
add("truth.header.record-size", header(12, "I", 8))
add("truth.header.machine", header(24, "I", 1))
add("truth.header.clock", header(28, "I", 1))
add("truth.header.more-slots", header(32, "Q", 1_000_000_000))


@kind("truth.header.next-id")
def no_id(case: Case) -> Changes:
    changed = bytearray(case.truth.header)
    struct.pack_into("<Q", changed, 40, 0)
    return {"truth": bytes(changed) + b"".join(case.truth.slots)}


@kind("truth.older")
def older_truth(case: Case) -> Changes:
    """As a writer of version 2 would have left it: several validators ask for what it lacks."""
    new = []
    for slot in case.truth.slots:
        kind_of, = struct.unpack_from("<H", slot, 4)
        if kind_of < T.MAPS:
            new.append(bytearray(slot))
    changed = packed(case.truth, new)["truth"]
    assert changed is not None
    return {"truth": changed[:8] + struct.pack("<I", 2) + changed[12:]}


def slots(case: Case, number: int) -> list[int]:
    found = case.truth.of(number)
    if not found:
        raise Absent("the truth holds no such record")
    return found


def with_slots(case: Case, new: dict[int, bytes]) -> Changes:
    """Slots replaced, as they are: their seals are whoever's made them."""
    return packed(case.truth, [bytearray(new.get(index, slot))
                               for index, slot in enumerate(case.truth.slots)])


@kind("truth.seal.one")
def bad_seal(case: Case) -> Changes:
    """One bit of one record in the middle."""
    index = len(case.truth.slots) // 2
    slot = bytearray(case.truth.slots[index])
    slot[40] ^= 1
    return with_slots(case, {index: slot})


@kind("truth.seal.zero")
def zero_slot(case: Case) -> Changes:
    return with_slots(case, {len(case.truth.slots) // 2: bytes(T.SLOT)})


def sealed(case: Case, number: int, field: int, change: Callable[[int], int]) -> Changes:
    """A field of each third record, with the right seal."""
    new = {}
    for index in slots(case, number)[::3]:
        fields = list(case.truth.get(index))
        fields[field] = change(fields[field]) & (2**64 - 1 if field > 3 else 2**32 - 1)
        slot = bytearray(case.truth.slots[index])
        T.pack(slot, fields)
        new[index] = bytes(slot)
    if all(bytes(case.truth.slots[index]) == slot for index, slot in new.items()):
        raise Absent("the records say this already")
    if number == T.FILE:
        case.demand_present(new)
    maps = [case.truth.get(index) for index in new] if number == T.MAP else []
    if maps and field == ADDRESS and all(is_replaced(case, one) for one in maps):
        raise Unobservable(REPLACED)
    if maps and field == PROTECTION and all(is_reset(case, one) for one in maps):
        raise Unobservable("before any event was on its protection was set anew")
    return with_slots(case, new)


MS = 1_000_000
# Which field of a MAP they are.
ADDRESS, PROTECTION = 6, 8
# Of what something else tells, too: (kind of record, field of it, what becomes of it)
FIELDS: dict[str, tuple[int, int, Callable[[int], int]]] = {
    "load.addr": (T.CODE_LOAD, 6, lambda old: old + 16),
    "load.size": (T.CODE_LOAD, 7, lambda old: old // 2),
    "load.pid": (T.CODE_LOAD, 2, lambda old: old + 1),
    "enter.sp": (T.ENTER, 7, lambda old: old + 8),
    "enter.tid": (T.ENTER, 3, lambda old: old + 1),
    "leave.time": (T.LEAVE, 5, lambda old: old - 1000 * MS),
    "map.addr": (T.MAP, ADDRESS, lambda old: old + 4096),
    "map.prot": (T.MAP, PROTECTION, lambda old: old ^ rd.EXECUTE),
    "protect.prot": (T.PROTECT, 8, lambda old: old ^ rd.EXECUTE),
    "file.inode": (T.FILE, 8, lambda old: old + 1),
}
for name, (number, field, change) in FIELDS.items():
    add("truth." + name, partial(sealed, number=number, field=field, change=change))


# Words of which a type makes no use, and who writes: (kind of record, field of it)
SPARE = {"exit.spare": (T.PROCESS_EXIT, 6), "thread.spare": (T.THREAD_START, 7),
         "unmap.spare": (T.UNMAP, 8), "unload.spare": (T.CODE_UNLOAD, 7), "comm.spare": (T.COMM, 7),
         "maps.spare": (T.MAPS, 7), "gone.spare": (T.GONE, 6),
         "text.tid": (T.TEXT, 3), "layout.pid": (T.LAYOUT, 2), "path.tid": (T.PATH, 3),
         "root.tid": (T.ROOT, 3), "map.tid": (T.MAP, 3), "unmap.tid": (T.UNMAP, 3),
         "file.pid": (T.FILE, 2), "file.tid": (T.FILE, 3), "comm.pid": (T.COMM, 2),
         "maps.tid": (T.MAPS, 3), "exit.tid": (T.PROCESS_EXIT, 3), "end.tid": (T.THREAD_EXIT, 3),
         "gone.tid": (T.GONE, 3), "unload.tid": (T.CODE_UNLOAD, 3)}
for name, (number, field) in SPARE.items():
    add("truth." + name, partial(sealed, number=number, field=field,
                                 change=lambda old: old + 4_000_000))


@kind("truth.doubled.load")
def doubled(case: Case) -> Changes:
    """Each third function loaded twice, under the same id."""
    gone = slots(case, T.CODE_LOAD)[::3]
    extra = [bytearray(case.truth.slots[index]) for index in gone]
    return packed(case.truth, [*case.truth.slots, *extra])


def edited(name: str, change: Callable[[bytes], bytes]) -> Callable[[Case], Changes]:
    def alter(case: Case) -> Changes:
        new = [change(line) for line in lines_of(case, name)]
        if new == lines_of(case, name):
            raise Absent("the case's %s says this already" % name)
        return {name: b"".join(new)}
    return alter


def executable_line(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda line: change(line) if re.match(rb"\S+ r-xp .*/\S", line) else line


LINES: dict[str, Callable[[bytes], bytes]] = {
    "inode": lambda line: re.sub(rb"^((?:\S+ ){4})(\d+)", lambda found: found[1] + b"%d" % (
        int(found[2]) + 1), line),
    "device": lambda line: re.sub(rb"^((?:\S+ ){3})\S+", rb"\1ff:ff", line),
    "offset": lambda line: re.sub(rb"^((?:\S+ ){2})(\S+)", lambda found: found[1] + b"%08x" % (
        int(found[2], 16) + 4096), line),
    "name": lambda line: line.rstrip(b"\n") + b"x\n",
    "sharing": lambda line: line.replace(b" r-xp ", b" r-xs ", 1),
    "writable": lambda line: line.replace(b" r-xp ", b" rwxp ", 1),
    "end": lambda line: re.sub(rb"^([0-9a-f]+)-([0-9a-f]+)", lambda found: b"%s-%x" % (
        found[1], int(found[2], 16) + 4096), line),
}
for line_name, line_change in LINES.items():
    add("maps." + line_name, edited("maps", executable_line(line_change)))


@kind("maps.invented")
def invented_line(case: Case) -> Changes:
    lines = lines_of(case, "maps")
    at = next((index for index, line in enumerate(lines) if b"r-xp" in line), None)
    if at is None:
        raise Absent("the case's maps show nothing executable")
    lines.insert(at, b"10000-11000 r-xp 00000000 00:00 0 \n")
    return {"maps": b"".join(lines)}


def noted(name: str, key: bytes, value: Callable[[int], int]) -> Callable[[Case], Changes]:
    """A number in a file of keys and values."""
    return edited(name, lambda line: re.sub(
        rb"^(%s) (\d+)$" % key, lambda found: found[1] + b" %d" % value(int(found[2])), line,
        flags=re.M))


SECOND = 1_000_000_000
NOTES: dict[str, tuple[bytes, Callable[[int], int]]] = {
    "started": (b"started", lambda old: old + 3600 * SECOND),
    "begun.early": (b"begun", lambda old: old - 3600 * SECOND),
    "ending.late": (b"ending", lambda old: old + 3600 * SECOND),
    "ended.early": (b"ended", lambda old: old - 3600 * SECOND),
    "slack": (b"slack", lambda old: old + 1),
    "max_stack": (b"max_stack", lambda old: old + 1),
    "stack_dump": (b"stack_dump", lambda old: old + 8),
    "task_clock": (b"task_clock", lambda old: 1 - old),
    "synth": (b"synth", lambda old: old + 1 & 3),
}
NO_CLOCK = "breakpoints sample, and no clock"
for note_name, (key, value) in NOTES.items():
    make = noted("watched", key, value)
    add("watched." + note_name,
        of_clock(NO_CLOCK, make) if note_name == "task_clock" else make)
add("witness.gone", lambda case: {"witness": None} if case.read("witness") else {})
add("watched.gone", lambda case: {"watched": None} if case.read("watched") else {})

def raised(old: int, by: int) -> int:
    return max(0, old + by)


def counted_more(case: Case) -> Changes:
    """A second more than the events counted, which no sample shows."""
    changes = noted("capture", b"counted", partial(raised, by=SECOND))(case)
    watched = {key: int(value) for key, value in map(bytes.split, lines_of(case, "watched"))}
    ran = watched[b"ended"] - watched[b"started"]
    if not int(case.facts["breakpoints"]) and \
            not any(one.misc & 7 == rd.KERNEL for one in case.capture("perf.data").samples()) and \
            int(case.facts["counted"]) + SECOND <= ran * watched.get(b"cpus", 0):
        raise Unobservable("no sample is of the kernel, whose time counts, and the CPUs had more")
    return changes


def counted_nothing(case: Case) -> Changes:
    """As where the kernel's clocks do not count: the runner saw that, too, if they do not."""
    if b'"clocks_count": "yes"' not in case.read("env.json"):
        raise Absent("clocks do not count there, or nobody noted whether they do")
    return noted("capture", b"counted", lambda old: 0)(case)


add("capture.counted.+1000000000", counted_more)
add("capture.counted.0", counted_nothing)

# What a capture says of itself, and its file or the runner shows.
for key_name, by in (("frequency", 1), ("cpus", 1), ("samples", -1), ("samples", 1),
                     ("first_enabled", -10**9), ("first_enabled", 10**9)):
    make = noted("capture", key_name.encode(), partial(raised, by=by))
    add("capture.%s.%+d" % (key_name, by),
        of_clock(NO_CLOCK, make) if key_name == "frequency" else make)


def of_ours(make: Callable[[Case], Changes]) -> Callable[[Case], Changes]:
    """What only our own capture is asked for."""
    def alter(case: Case) -> Changes:
        if "first_enabled" not in case.facts:
            raise Absent("somebody else captured")
        return make(case)
    return alter


def stated(pattern: bytes, new: bytes) -> Callable[[Case], Changes]:
    """Another line of what our own capture states."""
    return of_ours(edited("capture", lambda line: re.sub(pattern, new, line)))


for key_name in ("samples", "counted", "frequency", "frequency_asked", "first_enabled", "cpus",
                 "event", "order", "capture", "kernel"):
    add("capture.without." + key_name, stated(rb"^%s .*\n" % key_name.encode(), b""))
add("capture.kernel", stated(rb"^kernel yes$", b"kernel no"))
add("capture.event", stated(rb"^event .*$", b"event cycles"))
add("capture.order", stated(rb"^order .*$", b"order none"))
add("capture.capture", stated(rb"^capture .*$", b"capture perf"))
add("capture.frequency_asked", of_clock(NO_CLOCK, noted(
    "capture", b"frequency_asked", partial(raised, by=1))))


def more_cpus(case: Case) -> Changes:
    return noted("watched", b"cpus", lambda old: 64)(case)


def feature(bit: int, raw: bytes) -> Callable[[Case], Changes]:
    def alter(case: Case) -> Changes:
        if bit not in case.capture("perf.data").features:
            raise Absent("perf.data has no such feature")
        return case.rewrite(lambda capture: capture.altered(
            features={**capture.features, bit: raw}), "perf.data")
    return alter


add("watched.cpus", of_ours(more_cpus))
add("feature.release", feature(4, struct.pack("<I64s", 64, b"5.10.0-other")))
add("feature.cpus", feature(7, struct.pack("<II", 1, 1)))


def unpublished(name: str) -> Callable[[Case], Changes]:
    def alter(case: Case) -> Changes:
        if b" publish=" in case.read("case") and b" publish=none" not in case.read("case"):
            raise Absent("the case publishes")
        return {name: b""}
    return alter


add("published.perf-map.invented", of_ours(unpublished("perf-77.map")))
add("published.jitdump.invented", of_ours(unpublished("jit-77.dump")))
add("outcome.skip", lambda case: {"outcome": b"SKIP because\n"})


@kind("elf.swapped")
def swapped_elf(case: Case) -> Changes:
    """The call frame information of two files, each under the other's build id."""
    found = [line.split()[0].decode() for line in lines_of(case, "elf/index")]
    if len(found) < 3:
        raise Absent("the case holds fewer than three ELF files")
    first, second = "elf/" + found[1], "elf/" + found[2]
    return {first: case.read(second), second: case.read(first)}


@kind("elf.cut")
def cut_elf(case: Case) -> Changes:
    name = "elf/" + lines_of(case, "elf/index")[-1].split()[0].decode()
    return {name: case.read(name)[:100]}


def demand_digest(case: Case) -> None:
    if b" #" not in case.read("elf/index"):
        raise Absent("older captures told no digest of the files that they kept")


@kind("elf.byte")
def elf_byte(case: Case) -> Changes:
    """One byte of a kept file: most are of code that no frame is in."""
    demand_digest(case)
    lines = lines_of(case, "elf/index")
    chance = zlib.crc32(b"%d elf" % case.seed)
    name = "elf/" + lines[chance % len(lines)].split()[0].decode()
    made = bytearray(case.read(name))
    made[chance % len(made)] ^= 0x10
    return {name: bytes(made)}


@kind("elf.index.digest")
def other_digest(case: Case) -> Changes:
    demand_digest(case)
    first, *rest = lines_of(case, "elf/index")
    at = first.index(b" #") + 2
    return {"elf/index": b"".join([first[:at], b"%x" % (int(first[at:at + 1], 16) ^ 1),
                                   first[at + 1:], *rest])}


@kind("elf.index.names")
def other_names(case: Case) -> Changes:
    return {"elf/index": b"".join(line.rstrip(b"\n") + b"x\n"
                                  for line in lines_of(case, "elf/index"))}
