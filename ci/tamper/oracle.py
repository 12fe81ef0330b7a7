# SPDX-License-Identifier: GPL-2.0-only
"""Alterations that delete or repeat a record of each type of the truth, or move an activation."""

from functools import partial
from typing import Callable
import zlib

from ci.tamper.evidence import MS, find_slots
from ci.tamper.case import Case
from ci.tamper.kinds import Absent, Changes, Unobservable, add
from ci.tamper.window import pack_truth
from harness.selftest.support import run_directory as rd

T = rd.Truth
TYPES = {"process-start": T.PROCESS_START, "process-exit": T.PROCESS_EXIT,
         "thread-start": T.THREAD_START, "thread-exit": T.THREAD_EXIT, "gone": T.GONE,
         "comm": T.COMM, "map": T.MAP, "protect": T.PROTECT, "remap": T.REMAP, "unmap": T.UNMAP,
         "file": T.FILE, "maps": T.MAPS, "mark": T.MARK, "wait": T.WAIT, "load": T.CODE_LOAD,
         "move": T.CODE_MOVE, "unload": T.CODE_UNLOAD, "enter": T.ENTER, "leave": T.LEAVE,
         "text": T.TEXT, "layout": T.LAYOUT, "path": T.PATH, "root": T.ROOT, "frames": T.FRAMES}
ITEMS = (T.TEXT, T.LAYOUT, T.PATH, T.ROOT)
# Records that may be missing unnoticed: of memory and code that nobody uses, and of observations.
UNNEEDED = (T.MAP, T.UNMAP, T.CODE_LOAD, T.CODE_UNLOAD, T.WAIT, T.PATH, T.GONE, T.MAPS)
Times = tuple[int, int]


def choose_record_of_type(case: Case, number: int) -> int:
    """Chooses a record of a type by the seed. Returns its slot, or that of its first part."""
    slots = [slot for slot in find_slots(case, number) if not case.truth.get(slot)[1]]
    return slots[zlib.crc32(("%d %s" % (case.seed, case.kind)).encode()) % len(slots)]


def find_slots_of_record(case: Case, first: int) -> range:
    """Returns the slots of the record that begins at @at. TEXT and similar records may have
    several."""
    truth, end = case.truth, first + 1
    if truth.get(first)[0] in ITEMS:
        while end < len(truth.slots) and truth.get(end)[0] == truth.get(first)[0] and \
                truth.get(end)[1]:
            end += 1
    return range(first, end)


def delete_record(case: Case, number: int) -> Changes:
    removed = find_slots_of_record(case, choose_record_of_type(case, number))
    return pack_truth(case.truth, [slot for offset,
                                   slot in enumerate(case.truth.slots) if offset not in removed])


def double_record(case: Case, number: int) -> Changes:
    twice = find_slots_of_record(case, choose_record_of_type(case, number))
    slots = case.truth.slots
    return pack_truth(case.truth, [*slots[:twice.stop], *map(slots.__getitem__, twice),
                                   *slots[twice.stop:]])


def set_times(case: Case, at: int, times: Times) -> Changes:
    fields = list(case.truth.get(at))
    fields[4:6] = times
    slot = bytearray(case.truth.slots[at])
    T.pack(slot, fields)
    return pack_truth(case.truth, [slot if number == at else bytearray(old)
                                   for number, old in enumerate(case.truth.slots)])


def find_free_time(case: Case, slot: int) -> Times:
    """Returns the earliest begin and latest end that the other records of the thread allow."""
    truth, old = case.truth, case.truth.get(slot)
    before, after = ([record for record in map(truth.get, slots) if record[2:4] == old[2:4]]
                     for slots in (range(slot), range(slot + 1, len(truth.slots))))
    # The bracket of an act on code contains acts on memory.
    return max([record[5] for record in before] or [0]), \
        min([record[4] for record in after
             if record[0] not in (T.CODE_LOAD, T.CODE_MOVE, T.CODE_UNLOAD)] or [2**64])


def require_visible(case: Case, slot: int, times: Times) -> None:
    """Raises Unobservable if no file contradicts @times as the times of an ENTER or LEAVE, whose
    thread's samples in user space show them."""
    old = case.truth.get(slot)
    begin, end = find_free_time(case, slot)
    spans = [(min(sample, other), max(sample, other)) for sample, other in zip(old[4:6], times)]
    if (old[4] == old[5] and times[0] != times[1]) or times[0] < begin or end < times[1]:
        return
    if times[0] <= old[4] and old[5] <= times[1]:
        raise Unobservable("the wider bracket still contains the act, and no other act of its "
                           "thread")
    if not any(sample.misc & 7 == rd.USER and (sample.pid, sample.tid) == old[2:4] and
               any(first <= sample.time <= last for first, last in spans)
               for sample in case.capture("perf.data").samples()):
        raise Unobservable("in the time by which the act was moved, its thread wrote nothing, "
                           "and no record or sample depends on the act")


def move_record(case: Case, number: int, change: Callable[[int, int], Times]) -> Changes:
    slot = choose_record_of_type(case, number)
    before, after = case.truth.get(slot)[4:6]
    times = change(before, after)
    if times == (before, after):
        raise Absent("the truth has no time of the act's begin")
    require_visible(case, slot, times)
    return set_times(case, slot, times)


ACT_MOVES: dict[str, Callable[[int, int], Times]] = {
    "earlier": lambda before, after: (max(before - MS, 0), after - MS),
    "later": lambda before, after: (before + MS, after + MS),
    "begins.earlier": lambda before, after: (max(before - MS, 0), after),
    "ends.later": lambda before, after: (before, after + MS),
    "begins.much-earlier": lambda before, after: (max(before - 100 * MS, 0), after),
    "ends.much-later": lambda before, after: (before, after + 100 * MS),
}

for name, number in TYPES.items():
    if number not in UNNEEDED:
        add("truth.%s.deleted.one" % name, partial(delete_record, number=number))
    add("truth.%s.doubled.one" % name, partial(double_record, number=number))
# Times of acts on tasks and memory are moved in the capture's records.
for name, number in (("enter", T.ENTER), ("leave", T.LEAVE)):
    for move_name, move in ACT_MOVES.items():
        add("truth.%s.%s" % (name, move_name), partial(move_record, number=number, change=move))


def require_longer_than_elapsed(case: Case, change: Callable[[int], int]) -> None:
    """Raises Unobservable if each activation lasted at least as long as its changed CPU time, until
    the next record of its thread: nothing else measures how long a thread waited for its CPU."""
    entered, used = dict[object, int](), dict[object, int]()
    for slot in map(case.truth.get, range(len(case.truth.slots))):
        task = slot[2:4]
        if slot[1]:
            continue
        if task in used and change(used.pop(task)) > slot[5] - entered[task]:
            return
        if slot[0] == T.ENTER:
            entered[task] = slot[4]
        elif slot[0] == T.LEAVE:
            used[task] = slot[7] >> 8
    raise Unobservable("each activation waited longer for a CPU than its CPU time grew")


def change_cpu_time(case: Case, change: Callable[[int], int]) -> Changes:
    require_longer_than_elapsed(case, change)
    new = [bytearray(slot) for slot in case.truth.slots]
    for offset in find_slots(case, T.LEAVE):
        fields = list(case.truth.get(offset))
        fields[7] = change(fields[7] >> 8) << 8 | fields[7] & 0xff
        T.pack(new[offset], fields)
    return pack_truth(case.truth, new)


add("truth.leave.cpu.double.all", partial(change_cpu_time, change=lambda old: 2 * old))
add("truth.leave.cpu.+10ms.all", partial(change_cpu_time, change=lambda old: old + 10 * MS))
