# SPDX-License-Identifier: GPL-2.0-only
"""Each type of record of the truth: one deleted, one written twice, one at another time."""

from functools import partial
from typing import Callable
import zlib

from ci.tamper.beside import MS, NO_CLOCK, slots
from ci.tamper.case import Case
from ci.tamper.kinds import Changes, Unobservable, add, of_clock
from ci.tamper.tasks import head
from ci.tamper.window import packed
from harness.selftest import run_directory as rd

T = rd.Truth
TYPES = {"process-start": T.PROCESS_START, "process-exit": T.PROCESS_EXIT,
         "thread-start": T.THREAD_START, "thread-exit": T.THREAD_EXIT, "gone": T.GONE,
         "comm": T.COMM, "map": T.MAP, "protect": T.PROTECT, "remap": T.REMAP, "unmap": T.UNMAP,
         "file": T.FILE, "maps": T.MAPS, "mark": T.MARK, "wait": T.WAIT, "load": T.CODE_LOAD,
         "move": T.CODE_MOVE, "unload": T.CODE_UNLOAD, "enter": T.ENTER, "leave": T.LEAVE,
         "text": T.TEXT, "layout": T.LAYOUT, "path": T.PATH, "root": T.ROOT, "frames": T.FRAMES}
ITEMS = (T.TEXT, T.LAYOUT, T.PATH, T.ROOT)
# Of code, with acts on memory within their brackets; and what is over before its text is written.
WRAPPING = (T.CODE_LOAD, T.CODE_MOVE, T.CODE_UNLOAD)
TEXTED = (T.COMM, T.MAPS, T.MARK, T.FILE)
# What takes no time.
MOMENTS = (*ITEMS, T.FRAMES, T.ENTER, T.FILE, T.THREAD_EXIT, T.PROCESS_EXIT, T.GONE)
LAUNCH = 0
OFF = 0.05  # of validators/cpu_time.c
Times = tuple[int, int]


def chosen(case: Case, number: int) -> int:
    """The slot of one record of a type; of an item, that of its first part."""
    found = [at for at in slots(case, number) if not case.truth.get(at)[1]]
    return found[zlib.crc32(("%d %s" % (case.seed, case.kind)).encode()) % len(found)]


def parts(case: Case, at: int) -> range:
    """The slots of what begins at @at: an item may take several."""
    truth, end = case.truth, at + 1
    if truth.get(at)[0] in ITEMS:
        while end < len(truth.slots) and truth.get(end)[0] == truth.get(at)[0] and \
                truth.get(end)[1]:
            end += 1
    return range(at, end)


def deleted(case: Case, number: int) -> Changes:
    at = chosen(case, number)
    gone, old = parts(case, at), case.truth.get(at)
    if old[0] == T.GONE and old[2] != old[3]:
        raise Unobservable("who joins a thread may find it there still, and tells nothing")
    if old[0] == T.MAPS:
        raise Unobservable("its process's acts tell what it said: it was held against them")
    return packed(case.truth, [slot for at, slot in enumerate(case.truth.slots) if at not in gone])


def doubled(case: Case, number: int) -> Changes:
    twice = parts(case, chosen(case, number))
    every = case.truth.slots
    return packed(case.truth, [*every[:twice.stop], *map(every.__getitem__, twice),
                               *every[twice.stop:]])


def at_times(case: Case, at: int, times: Times) -> Changes:
    fields = list(case.truth.get(at))
    fields[4:6] = times
    slot = bytearray(case.truth.slots[at])
    T.pack(slot, fields)
    return packed(case.truth, [slot if other == at else bytearray(old)
                               for other, old in enumerate(case.truth.slots)])


def room(case: Case, at: int) -> Times:
    """What the records of its thread leave to one: an act begins when the ones before are over."""
    truth, old = case.truth, case.truth.get(at)
    own = [truth.get(other) for other in range(len(truth.slots))
           if other != at and truth.get(other)[2:4] == old[2:4]]
    split = sum(other < at and truth.get(other)[2:4] == old[2:4]
                for other in range(len(truth.slots)))
    begin = max([one[5] for one in own[:split] if old[0] not in WRAPPING or
                 one[0] in (T.ENTER, T.LEAVE)] or [0])
    if old[0] in TEXTED:
        return max([one[5] for one in own[:split - 1]] or [0]), own[split - 1][4]
    return begin, min([one[4] for one in own[split:] if one[0] not in WRAPPING] or [2**64])


def seen_within(case: Case, pids: set[int], spans: list[Times]) -> bool:
    """Whether the capture tells of anything of these processes in that time."""
    return any(isinstance(one, (rd.Sample, rd.Side)) and
               (one.pid if isinstance(one, rd.Sample) else head(one, 1)[0]) in pids and
               any(begin <= one.time <= end for begin, end in spans)
               for one in case.capture("perf.data").records)


def demand_seen(case: Case, at: int, times: Times) -> None:
    """Whether anybody can know that the act was not at @times."""
    old = case.truth.get(at)
    begin, end = room(case, at)
    spans = [(min(one, other), max(one, other)) for one, other in zip(old[4:6], times)]
    if old[0] == T.PROCESS_START and old[7] == LAUNCH:
        raise Unobservable("what was launched began at any time before")
    if old[0] == T.LEAVE and times[1] == old[5]:
        raise Unobservable("an activation is over when leaving ended")
    if old[0] == T.GONE and times[0] >= old[4]:
        raise Unobservable("one may be found gone later than it was")
    if old[4] == old[5] and times[0] != times[1] and old[0] in MOMENTS:
        return
    if begin <= times[0] and times[1] <= end and \
            not seen_within(case, {old[2], old[6] & 0xffffffff if old[0] == T.PROCESS_START
                                   else 0}, spans):
        raise Unobservable("its thread wrote nothing, and of its process nothing was seen, in "
                           "the time by which it was moved")


def moved(case: Case, number: int, change: Callable[[int, int], Times]) -> Changes:
    at = chosen(case, number)
    before, after = case.truth.get(at)[4:6]
    demand_seen(case, at, change(before, after))
    return at_times(case, at, change(before, after))


MOVES: dict[str, Callable[[int, int], Times]] = {
    "earlier": lambda before, after: (max(before - MS, 0), after - MS),
    "later": lambda before, after: (before + MS, after + MS),
    "begins.earlier": lambda before, after: (max(before - MS, 0), after),
    "ends.later": lambda before, after: (before, after + MS),
    "begins.much-earlier": lambda before, after: (max(before - 100 * MS, 0), after),
    "ends.much-later": lambda before, after: (before, after + 100 * MS),
}

for name, number in TYPES.items():
    add("truth.%s.deleted.one" % name, partial(deleted, number=number))
    add("truth.%s.doubled.one" % name, partial(doubled, number=number))
    for move_name, move in MOVES.items():
        add("truth.%s.%s" % (name, move_name), partial(moved, number=number, change=move))


def demand_share(case: Case, at: int, by: int) -> None:
    """Whether its thread's sum differs by more than the event's time and the thread's may."""
    thread = case.truth.get(at)[2:4]
    every = sum(one[7] >> 8 for one in map(case.truth.get, slots(case, T.LEAVE))
                if one[2:4] == thread)
    if abs(by) <= every * OFF:
        raise Unobservable("the CPU time of its thread differs by less than 5 % for it")


def other_cpu(change: Callable[[int], int], every: bool) -> Callable[[Case], Changes]:
    """The CPU time that an activation took: of one, or of all."""
    def alter(case: Case) -> Changes:
        alone = chosen(case, T.LEAVE)
        new = [bytearray(slot) for slot in case.truth.slots]
        if not every:
            old = case.truth.get(alone)[7] >> 8
            demand_share(case, alone, change(old) - old)
        for at in slots(case, T.LEAVE) if every else (alone,):
            fields = list(case.truth.get(at))
            fields[7] = change(fields[7] >> 8) << 8 | fields[7] & 0xff
            T.pack(new[at], fields)
        return packed(case.truth, new)
    return alter


for share, every in (("one", False), ("all", True)):
    for cpu_name, cpu in (("0", lambda old: 0), ("half", lambda old: old // 2),
                          ("double", lambda old: 2 * old), ("+10ms", lambda old: old + 10 * MS)):
        make = other_cpu(cpu, every)
        # More than there was is contradicted by times alone, less by samples of a clock.
        add("truth.leave.cpu.%s.%s" % (cpu_name, share),
            of_clock(NO_CLOCK, make) if cpu_name in ("0", "half") else make)
