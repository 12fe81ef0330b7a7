# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of the truth, maps, `watched`, `capture`, kept ELF files, env.json and features of
perf.data."""

from functools import partial
import json
import re
import struct
from typing import Any, Callable
import zlib

from ci.tamper.case import Case, change_field
from ci.tamper.kinds import Absent, Changes, Make, add, kind, make_if, require, require_clock
from ci.tamper.window import edit_lines, pack_truth, read_lines
from harness.selftest.support import run_directory as rd

T = rd.Truth
EVENT_DESC, SAMPLE_TIME, CLOCKID = 12, 21, 23
ARCH, NRCPUS = 6, 7
ATTR_AT = 8  # offset of the first attr in EVENT_DESC


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
    slots = require(case.truth.find(number), "the truth holds no such record")
    return slots


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
    "inode": lambda line: re.sub(rb"^((?:\S+ ){4})(\d+)", lambda match: match[1] + b"%d" % (
        int(match[2]) + 1), line),
    "device": lambda line: re.sub(rb"^((?:\S+ ){3})\S+", rb"\1ff:ff", line),
    "offset": lambda line: re.sub(rb"^((?:\S+ ){2})(\S+)", lambda match: match[1] + b"%08x" % (
        int(match[2], 16) + 4096), line),
    "name": lambda line: line.rstrip(b"\n") + b"x\n",
    "sharing": lambda line: line.replace(b" r-xp ", b" r-xs ", 1),
    "writable": lambda line: line.replace(b" r-xp ", b" rwxp ", 1),
    "end": lambda line: re.sub(rb"^([0-9a-f]+)-([0-9a-f]+)", lambda match: b"%s-%x" % (
        match[1], int(match[2], 16) + 4096), line),
}
for line_name, line_change in LINES.items():
    add("maps." + line_name, edit_lines("maps", edit_executable_line(line_change)))


@kind("maps.invented")
def insert_line(case: Case) -> Changes:
    lines = read_lines(case, "maps")
    position = next((index for index, line in enumerate(lines) if b"r-xp" in line), None)
    if position is None:
        raise Absent("the case's maps show nothing executable")
    lines.insert(position, b"10000-11000 r-xp 00000000 00:00 0 \n")
    return {"maps": b"".join(lines)}


def change_number(name: str, key: bytes, value: Callable[[int], int]) -> Callable[[Case], Changes]:
    """Changes a number in a file of keys and values."""
    return edit_lines(name, lambda line: re.sub(
        rb"^(%s) (\d+)$" % key, lambda match: match[1] + b" %d" % value(int(match[2])), line,
        flags=re.M))


def parse_change(text: str) -> Callable[[int], int]:
    """Returns the change that a text describes: "+N" and "-N" add, down to 0; "N" replaces."""
    number = int(text)
    return (lambda old: max(0, old + number)) if text[0] in "+-" else lambda old: number


def require_own_capture(make: Make) -> Make:
    """Makes a kind for jitproof's own captures only."""
    return make_if(lambda case: "first_enabled" in case.facts, "another profiler captured", make)


SECOND = 1_000_000_000
NO_CLOCK = "the case samples by breakpoints, not by a clock"
NOTES: dict[str, Callable[[int], int]] = {
    "started": lambda old: old + 3600 * SECOND,
    "begun.early": lambda old: old - 3600 * SECOND,
    "ending.late": lambda old: old + 3600 * SECOND,
    "ended.early": lambda old: old - 3600 * SECOND,
    "slack": parse_change("+1"),
    "max_stack": parse_change("+1"),
    "stack_dump": parse_change("+8"),
    "synth": lambda old: old + 1 & 3,
    # Figures of the runner, which do not depend on the profiler.
    **{key + ".2": parse_change("+2") for key in ("chain", "user_only", "task_clock")},
    **{key + ".0": parse_change("0") for key in ("silent", "cpus", "witness", "witness_since")},
}
for note_name, value in NOTES.items():
    add("watched." + note_name, change_number("watched", note_name.split(".")[0].encode(), value))
add("watched.task_clock", require_clock(NO_CLOCK, change_number(
    "watched", b"task_clock", lambda old: 1 - old)))
add("watched.chain.other", require_own_capture(
    change_number("watched", b"chain", lambda old: 1 - old)))
add("watched.cpus", require_own_capture(change_number("watched", b"cpus", lambda old: 64)))
for name, count in (("witness", 2), ("silent", 3), ("cpus", 6)):
    add("watched.ends.before-" + name, partial(lambda count, case: {
        "watched": b"".join(read_lines(case, "watched")[:-count])}, count))
add("witness.gone", lambda case: {"witness": None} if case.read("witness") else {})
add("watched.gone", lambda case: {"watched": None} if case.read("watched") else {})

# A counted time of 0, as if the kernel's clocks did not count.
add("capture.counted.0", make_if(
    lambda case: b'"clocks_count": "yes"' in case.read("env.json"),
    "clocks do not count there, or env.json does not record whether they do",
    change_number("capture", b"counted", lambda old: 0)))


def change_figure(name: str) -> Make:
    """Makes a kind that changes a figure of `capture`. @name: KEY.CHANGE, as in parse_change()."""
    key, _, change = name.partition(".")
    return change_number("capture", key.encode(), parse_change(change))


# Statements of `capture` that perf.data or the runner's files also show.
for name in ("cpus.+1", "samples.-1", "samples.+1", "first_enabled.+%d" % SECOND):
    add("capture." + name, change_figure(name))
# The same, only for jitproof's own captures.
for name in ("first_enabled.0", "samples.0", "cpus.0", "cpus.-1", "threads.0", "threads.+1",
             "ring_sampling.0", "ring_sampling.+1", "ring_sideband.0", "ring_sideband.+1",
             "snapshots.0", "snapshots.+1", "snapshot_readings.0", "snapshots_unstable.+1000",
             "breakpoints_hit.+1000000"):
    add("capture." + name, require_own_capture(change_figure(name)))
add("capture.frequency.+1", require_clock(NO_CLOCK, change_figure("frequency.+1")))
add("capture.frequency_asked", require_clock(NO_CLOCK, change_figure("frequency_asked.+1")))
add("capture.frequency.0", require_own_capture(make_if(
    lambda case: not int(case.facts["breakpoints"]),
    "the case samples by breakpoints, not by a clock", change_figure("frequency.0"))))
add("capture.duplicates_sideband.+1", require_own_capture(make_if(
    lambda case: not int(case.facts["thread_passes"]),
    "a capture that lists threads may find a thread twice",
    change_figure("duplicates_sideband.+1"))))


def has_quick_start(case: Case) -> bool:
    """Returns whether the capture was enabled less than a second after it was started."""
    started = re.search(rb"^started (\d+)$", case.read("watched"), re.M)
    return not started or int(case.facts.get("first_enabled", 0)) - int(started[1]) < SECOND


add("capture.first_enabled.-%d" % SECOND, make_if(
    has_quick_start, "a capture that starts slowly may have enabled its events a second earlier",
    change_figure("first_enabled.-%d" % SECOND)))


def substitute(pattern: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda line: re.sub(pattern, new, line)


# Lines of `capture` of jitproof's own captures: (pattern, new text).
STATEMENTS = {
    **{"without." + key: (rb"^%s .*\n" % key.encode(), b"") for key in (
        "samples", "counted", "frequency", "frequency_asked", "first_enabled", "cpus", "event",
        "order", "capture", "kernel")},
    "kernel": (rb"^kernel yes$", b"kernel no"),
    "event": (rb"^event .*$", b"event cycles"),
    "order": (rb"^order .*$", b"order none"),
    "capture": (rb"^capture .*$", b"capture perf"),
}
for name, (pattern, text) in STATEMENTS.items():
    add("capture." + name, require_own_capture(edit_lines("capture", substitute(pattern, text))))
add("capture.format_lost", require_own_capture(edit_lines("capture", lambda line: {
    b"format_lost yes\n": b"format_lost no\n",
    b"format_lost no\n": b"format_lost yes\n"}.get(line, line))))


def invent_published_file(name: str) -> Callable[[Case], Changes]:
    def alter_case(case: Case) -> Changes:
        if b" publish=" in case.read("case") and b" publish=none" not in case.read("case"):
            raise Absent("the case publishes names")
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
    altered = bytearray(case.read(name))
    altered[chance % len(altered)] ^= 0x10
    return {name: bytes(altered)}


@kind("elf.index.names")
def change_names(case: Case) -> Changes:
    return {"elf/index": b"".join(line.rstrip(b"\n") + b"x\n"
                                  for line in read_lines(case, "elf/index"))}


def change_environment(change: Callable[[Any], Any]) -> Callable[[Case], Changes]:
    def alter_case(case: Case) -> Changes:
        environment = json.loads(case.read("env.json"))
        change(environment)
        return {"env.json": json.dumps(environment).encode()}
    return alter_case


add("env.gone", lambda case: {"env.json": None} if case.read("env.json") else {})
add("env.empty", lambda case: {"env.json": b""} if case.read("env.json") else {})
add("env.cut", lambda case: {"env.json": case.read("env.json")[:-3]})
add("env.machine", change_environment(lambda environment: environment.update(machine="riscv64")))


def raise_figure(key: str) -> Callable[[Case], Changes]:
    def change(environment: Any) -> None:
        require(key in environment, "env.json lacks " + key)
        environment[key] = type(environment[key])(int(environment[key]) + 1)
    return change_environment(change)


add("env.max_stack", raise_figure("perf_event_max_stack"))
add("env.cpus", raise_figure("cpus"))


def change_feature(number: int, change: Callable[[bytearray], Any]) -> Callable[[Case], Changes]:
    def alter_case(case: Case) -> Changes:
        capture = case.capture("perf.data")
        require(number in capture.features, "perf.data has no such feature")
        raw = bytearray(capture.features[number])
        change(raw)
        return case.rewrite(lambda old: old.copy_with(
            features={**old.features, number: bytes(raw)}), "perf.data")
    return alter_case


def add_to_number(at: int, layout: str, by: int) -> Callable[[bytearray], None]:
    return change_field(at, layout, lambda old: max(0, old + by))


NAME_AT = ATTR_AT + 120 + 8
add("feature.release", change_feature(4, lambda raw: raw.__setitem__(
    slice(None), rd.pack_string("5.10.0-other"))))
add("feature.cpus", change_feature(NRCPUS, lambda raw: raw.__setitem__(
    slice(None), struct.pack("<II", 1, 1))))
add("feature.arch", change_feature(ARCH, add_to_number(4, "B", 1)))
add("feature.cpus-on", change_feature(NRCPUS, add_to_number(4, "I", 1)))
add("feature.events.count", change_feature(EVENT_DESC, add_to_number(0, "I", 1)))
add("feature.events.period", change_feature(EVENT_DESC, add_to_number(ATTR_AT + 16, "Q", 1)))
add("feature.events.clock", change_feature(EVENT_DESC, add_to_number(ATTR_AT + 92, "i", 3)))
add("feature.events.name", require_own_capture(
    change_feature(EVENT_DESC, add_to_number(NAME_AT, "B", 1))))
add("feature.events.cut", change_feature(EVENT_DESC, lambda raw: raw.__delitem__(slice(-8, None))))
for by in (1, -1):
    add("feature.times.first.%+d" % by, change_feature(SAMPLE_TIME, add_to_number(0, "Q", by)))
    add("feature.times.last.%+d" % by, change_feature(SAMPLE_TIME, add_to_number(8, "Q", by)))
    add("feature.clock.%+d" % by, change_feature(CLOCKID, add_to_number(0, "Q", by)))
