# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of the truth, maps, `watched`, `capture` and kept ELF files."""

from functools import partial
import re
from typing import Callable
import zlib

from ci.tamper.case import Case, change_field
from ci.tamper.kinds import Absent, Changes, Make, add, kind, make_if, require, require_clock
from ci.tamper.window import edit_lines, pack_truth, read_lines
from harness.selftest.support import run_directory as rd

T = rd.Truth


def change_header(at: int, layout: str, value: Callable[[int], int]) -> Callable[[Case], Changes]:
    def alter_case(case: Case) -> Changes:
        changed = bytearray(case.truth.header)
        change_field(at, layout, value)(changed)
        return {"truth": bytes(changed) + b"".join(case.truth.slots)}
    return alter_case


def add_to_header(at: int, layout: str, by: int) -> Callable[[Case], Changes]:
    return change_header(at, layout, lambda old: old + by)


add("truth.header.magic", add_to_header(0, "B", 1))
add("truth.header.version", add_to_header(8, "I", 1))
for older in (1, 2):
    add("truth.header.version-%d" % older, add_to_header(8, "I", -older))
add("truth.header.record-size", add_to_header(12, "I", 8))
add("truth.header.machine", add_to_header(24, "I", 1))
add("truth.header.clock", add_to_header(28, "I", 1))
add("truth.header.more-slots", add_to_header(32, "Q", 1_000_000_000))
add("truth.header.next-id", change_header(40, "Q", lambda old: 0))


def find_slots(case: Case, number: int) -> list[int]:
    found = require(case.truth.find(number), "the truth holds no such record")
    return found


def replace_slots(case: Case, new: dict[int, bytes]) -> Changes:
    """Replaces slots without changing their seals."""
    return pack_truth(case.truth, [bytearray(new.get(index, slot))
                                   for index, slot in enumerate(case.truth.slots)])


@kind("truth.seal.one")
def break_seal(case: Case) -> Changes:
    """Flips a bit of a record in the middle, without changing its seal."""
    index = len(case.truth.slots) // 2
    slot = bytearray(case.truth.slots[index])
    slot[40] ^= 1
    return replace_slots(case, {index: slot})


def change_slots(case: Case, number: int, field: int, change: Callable[[int], int]) -> Changes:
    """Changes a field of every third record of a type, and seals the records again."""
    new = {}
    for index in find_slots(case, number)[::3]:
        fields = list(case.truth.get(index))
        fields[field] = change(fields[field]) & (2**64 - 1 if field > 3 else 2**32 - 1)
        slot = bytearray(case.truth.slots[index])
        T.pack(slot, fields)
        new[index] = bytes(slot)
    if all(bytes(case.truth.slots[index]) == slot for index, slot in new.items()):
        raise Absent("the records have this value already")
    if number == T.FILE:
        case.require_image_until_sampling(new)
    return replace_slots(case, new)


MS = 1_000_000
# Fields that other files show, too: (type of record, index of the field, change). Those of mappings
# are altered in the capture.
FIELDS: dict[str, tuple[int, int, Callable[[int], int]]] = {
    "load.addr": (T.CODE_LOAD, 6, lambda old: old + 16),
    "load.size": (T.CODE_LOAD, 7, lambda old: old // 2),
    "load.pid": (T.CODE_LOAD, 2, lambda old: old + 1),
    "enter.sp": (T.ENTER, 7, lambda old: old + 8),
    "enter.tid": (T.ENTER, 3, lambda old: old + 1),
    "leave.time": (T.LEAVE, 5, lambda old: old - 1000 * MS),
    "protect.prot": (T.PROTECT, 8, lambda old: old ^ rd.EXECUTE),
    "file.inode": (T.FILE, 8, lambda old: old + 1),
}
for name, (number, field, change) in FIELDS.items():
    add("truth." + name, partial(change_slots, number=number, field=field, change=change))


# Unused fields, and pid and tid of the writer: (type of record, index of the field)
SPARE = {"exit.spare": (T.PROCESS_EXIT, 6), "thread.spare": (T.THREAD_START, 7),
         "unmap.spare": (T.UNMAP, 8), "unload.spare": (T.CODE_UNLOAD, 7), "comm.spare": (T.COMM, 7),
         "maps.spare": (T.MAPS, 7), "gone.spare": (T.GONE, 6),
         "text.tid": (T.TEXT, 3), "layout.pid": (T.LAYOUT, 2), "path.tid": (T.PATH, 3),
         "root.tid": (T.ROOT, 3), "map.tid": (T.MAP, 3), "unmap.tid": (T.UNMAP, 3),
         "file.pid": (T.FILE, 2), "file.tid": (T.FILE, 3), "comm.pid": (T.COMM, 2),
         "maps.tid": (T.MAPS, 3), "exit.tid": (T.PROCESS_EXIT, 3), "end.tid": (T.THREAD_EXIT, 3),
         "gone.tid": (T.GONE, 3), "unload.tid": (T.CODE_UNLOAD, 3)}
for name, (number, field) in SPARE.items():
    add("truth." + name, partial(change_slots, number=number, field=field,
                                 change=lambda old: old + 4_000_000))


def edit_executable_line(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
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
    add("maps." + line_name, edit_lines("maps", edit_executable_line(line_change)))


@kind("maps.invented")
def insert_line(case: Case) -> Changes:
    lines = read_lines(case, "maps")
    at = next((index for index, line in enumerate(lines) if b"r-xp" in line), None)
    if at is None:
        raise Absent("the case's maps show nothing executable")
    lines.insert(at, b"10000-11000 r-xp 00000000 00:00 0 \n")
    return {"maps": b"".join(lines)}


def change_number(name: str, key: bytes, value: Callable[[int], int]) -> Callable[[Case], Changes]:
    """Changes a number in a file of keys and values."""
    return edit_lines(name, lambda line: re.sub(
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
    make = change_number("watched", key, value)
    add("watched." + note_name,
        require_clock(NO_CLOCK, make) if note_name == "task_clock" else make)
add("witness.gone", lambda case: {"witness": None} if case.read("witness") else {})
add("watched.gone", lambda case: {"watched": None} if case.read("watched") else {})


def add_or_zero(old: int, by: int) -> int:
    return max(0, old + by)


# A counted time of 0, as if the kernel's clocks did not count.
add("capture.counted.0", make_if(
    lambda case: b'"clocks_count": "yes"' in case.read("env.json"),
    "clocks do not count there, or env.json does not record whether they do",
    change_number("capture", b"counted", lambda old: 0)))

# Statements of `capture` that perf.data or the runner's files also show.
for key_name, by in (("frequency", 1), ("cpus", 1), ("samples", -1), ("samples", 1),
                     ("first_enabled", 10**9)):
    make = change_number("capture", key_name.encode(), partial(add_or_zero, by=by))
    add("capture.%s.%+d" % (key_name, by),
        require_clock(NO_CLOCK, make) if key_name == "frequency" else make)


def has_quick_start(case: Case) -> bool:
    """Returns whether the capture was enabled less than a second after it was started."""
    started = re.search(rb"^started (\d+)$", case.read("watched"), re.M)
    return not started or int(case.facts.get("first_enabled", 0)) - int(started[1]) < SECOND


add("capture.first_enabled.%+d" % -SECOND, make_if(
    has_quick_start, "a capture that starts slowly may have enabled its events a second earlier",
    change_number("capture", b"first_enabled", partial(add_or_zero, by=-SECOND))))


def require_own_capture(make: Make) -> Make:
    """Makes a kind for jitproof's own captures only."""
    return make_if(lambda case: "first_enabled" in case.facts, "another profiler captured", make)


def change_statement(pattern: bytes, new: bytes) -> Callable[[Case], Changes]:
    """Replaces lines of `capture` of jitproof's own captures."""
    return require_own_capture(edit_lines("capture", lambda line: re.sub(pattern, new, line)))


for key_name in ("samples", "counted", "frequency", "frequency_asked", "first_enabled", "cpus",
                 "event", "order", "capture", "kernel"):
    add("capture.without." + key_name, change_statement(rb"^%s .*\n" % key_name.encode(), b""))
add("capture.kernel", change_statement(rb"^kernel yes$", b"kernel no"))
add("capture.event", change_statement(rb"^event .*$", b"event cycles"))
add("capture.order", change_statement(rb"^order .*$", b"order none"))
add("capture.capture", change_statement(rb"^capture .*$", b"capture perf"))
add("capture.frequency_asked", require_clock(NO_CLOCK, change_number(
    "capture", b"frequency_asked", partial(add_or_zero, by=1))))


add("watched.cpus", require_own_capture(change_number("watched", b"cpus", lambda old: 64)))


def invent_published_file(name: str) -> Callable[[Case], Changes]:
    def alter_case(case: Case) -> Changes:
        if b" publish=" in case.read("case") and b" publish=none" not in case.read("case"):
            raise Absent("the case publishes")
        return {name: b""}
    return alter_case


add("published.perf-map.invented", require_own_capture(invent_published_file("perf-77.map")))
add("published.jitdump.invented", require_own_capture(invent_published_file("jit-77.dump")))
add("outcome.skip", lambda case: {"outcome": b"SKIP because\n"})


def demand_digest(case: Case) -> None:
    if b" #" not in case.read("elf/index"):
        raise Absent("the index has no digests: an older capture")


@kind("elf.byte")
def change_elf_byte(case: Case) -> Changes:
    """Changes a byte of a kept file; most bytes are of code that is in no stack."""
    demand_digest(case)
    lines = read_lines(case, "elf/index")
    chance = zlib.crc32(b"%d elf" % case.seed)
    name = "elf/" + lines[chance % len(lines)].split()[0].decode()
    made = bytearray(case.read(name))
    made[chance % len(made)] ^= 0x10
    return {name: bytes(made)}


@kind("elf.index.names")
def change_names(case: Case) -> Changes:
    return {"elf/index": b"".join(line.rstrip(b"\n") + b"x\n"
                                  for line in read_lines(case, "elf/index"))}
