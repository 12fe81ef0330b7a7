# SPDX-License-Identifier: GPL-2.0-only
"""Alterations that delete or repeat a record of each type of the truth, or move an activation."""

from functools import partial
from typing import Callable
import zlib

from ci.tamper.evidence import MS, find_slots
from ci.tamper.case import Case
from ci.tamper.kinds import Absent, Changes, Unobservable, add
from ci.tamper.window import REPLACED, is_process_over, is_replaced, pack_truth
from harness.selftest.support import run_directory as rd

T = rd.Truth
TYPES = {"process-start": T.PROCESS_START, "process-exit": T.PROCESS_EXIT,
         "thread-start": T.THREAD_START, "thread-exit": T.THREAD_EXIT, "gone": T.GONE,
         "comm": T.COMM, "map": T.MAP, "protect": T.PROTECT, "remap": T.REMAP, "unmap": T.UNMAP,
         "file": T.FILE, "maps": T.MAPS, "mark": T.MARK, "wait": T.WAIT, "load": T.CODE_LOAD,
         "move": T.CODE_MOVE, "unload": T.CODE_UNLOAD, "enter": T.ENTER, "leave": T.LEAVE,
         "text": T.TEXT, "layout": T.LAYOUT, "path": T.PATH, "root": T.ROOT, "frames": T.FRAMES}
ITEMS = (T.TEXT, T.LAYOUT, T.PATH, T.ROOT)
Times = tuple[int, int]


def choose_record_of_type(case: Case, number: int) -> int:
    """Chooses a record of a type by the seed. Returns its slot, or that of its first part."""
    found = [at for at in find_slots(case, number) if not case.truth.get(at)[1]]
    return found[zlib.crc32(("%d %s" % (case.seed, case.kind)).encode()) % len(found)]


def find_slots_of_record(case: Case, at: int) -> range:
    """Returns the slots of the record that begins at @at. TEXT and similar records may have
    several."""
    truth, end = case.truth, at + 1
    if truth.get(at)[0] in ITEMS:
        while end < len(truth.slots) and truth.get(end)[0] == truth.get(at)[0] and \
                truth.get(end)[1]:
            end += 1
    return range(at, end)


def get_function_id(old: tuple[int, ...]) -> int:
    return (old[9] if old[0] == T.CODE_LOAD else old[6]) & 0xffffffff


def find_places(case: Case, old: tuple[int, ...]) -> list[range]:
    """Returns the ranges of the code of an act on code, before and after the act."""
    loads, moves = ([one for one in case.acts(number)
                     if get_function_id(one) == get_function_id(old)]
                    for number in (T.CODE_LOAD, T.CODE_MOVE))
    sizes, starts = [one[7] for one in loads], [one[6] for one in loads]
    starts += [one[7] for one in moves]
    return [range(start, start + max(sizes, default=0)) for start in starts]


def was_ever_executable(case: Case, mapped: tuple[int, ...]) -> bool:
    """Returns whether the memory was ever executable. Captures and maps show no other memory."""
    acts = [*case.acts(T.PROTECT), *([mapped] if mapped[0] == T.MAP else case.acts(T.MAP))]
    return any(one[2] == mapped[2] and one[8] & rd.EXECUTE and one[6] < mapped[6] + mapped[7] and
               mapped[6] < one[6] + one[7] for one in acts)


def is_unused(case: Case, load: tuple[int, ...]) -> bool:
    """Returns whether no path calls the loaded function, no sample has an address in it, and
    nothing was published."""
    place = range(load[6], load[6] + load[7])
    end = min([one[5] for one in case.acts(T.PROCESS_EXIT)
               if one[2] == load[2] and one[4] > load[5]] or [2**64])
    called = {number for one in case.acts(T.PATH) if one[2] == load[2]
              for word in one[6:10] for number in (word & 0xffffffff, word >> 32)}
    return get_function_id(load) not in called and \
        not any(name.endswith((".dump", ".map")) for name in case.list_files()) and \
        not any(one.pid == load[2] and load[4] <= one.time <= end and
                (one.ip in place or any(address in place for address in one.chain))
                for one in case.capture("perf.data").samples())


def is_same_memory(case: Case, mapped: tuple[int, ...]) -> bool:
    """Returns whether memory of the same kind was there before, with the same protection later."""
    end = mapped[6] + mapped[7]
    before = [one for one in case.acts(T.MAP, T.UNMAP, T.REMAP)
              if one[2] == mapped[2] and one[5] <= mapped[4] and
              one[6] < end and mapped[6] < one[6] + one[7]]
    last = max(before, key=lambda one: one[4], default=None)
    return last is not None and last[0] == T.MAP and last[6] <= mapped[6] and \
        end <= last[6] + last[7] and last[8] & ~7 == mapped[8] & ~7 and \
        not (last[8] | mapped[8]) & rd.EXECUTE


def require_needed(case: Case, at: int) -> None:
    """Raises Unobservable if no other file shows that the record is missing."""
    old = case.truth.get(at)
    if old[0] == T.MAP:
        if is_process_over(case, old):
            raise Unobservable("what was mapped was gone before samples were taken")
        if is_replaced(case, old):
            raise Unobservable(REPLACED)
        if not was_ever_executable(case, old):
            raise Unobservable("what was mapped was never executable, and holds no code")
        if is_same_memory(case, old):
            raise Unobservable("memory of the same kind was there already, as little executable")
    if old[0] == T.UNMAP and not was_ever_executable(case, old):
        raise Unobservable("what was unmapped was never executable, and held no code")
    if old[0] == T.CODE_LOAD:
        case.require_image_until_sampling([at])
        if is_unused(case, old):
            raise Unobservable("no path calls the function, nobody saw it, and none published it")
    if old[0] == T.CODE_UNLOAD and old[4] > case.window[1] and not any(
            one[2] == old[2] and one[5] >= old[4] and one[6] < place.stop and
            place.start < one[6] + one[7] for place in find_places(case, old)
            for one in case.acts(T.UNMAP, T.REMAP)):
        raise Unobservable("samples were over, and its memory stayed")
    if old[0] == T.WAIT and not any(
            one.tid == old[3] and old[7] <= one.time <= old[5]
            for one in case.capture("perf.data").samples()):
        raise Unobservable("its thread has no sample of when it waited")
    if old[0] == T.PATH and all(enter[6] & 0xffffffff != old[6] & 0xffffffff
                                for enter in case.acts(T.ENTER)):
        raise Unobservable("nobody ever entered the path")


def delete_record(case: Case, number: int) -> Changes:
    at = choose_record_of_type(case, number)
    gone, old = find_slots_of_record(case, at), case.truth.get(at)
    require_needed(case, at)
    if old[0] == T.GONE and old[2] != old[3]:
        raise Unobservable("who joins a thread may find it there still, and tells nothing")
    if old[0] == T.MAPS:
        raise Unobservable("its process's acts tell what it said: it was held against them")
    return pack_truth(case.truth, [slot for at,
                                   slot in enumerate(case.truth.slots) if at not in gone])


def double_record(case: Case, number: int) -> Changes:
    twice = find_slots_of_record(case, choose_record_of_type(case, number))
    every = case.truth.slots
    return pack_truth(case.truth, [*every[:twice.stop], *map(every.__getitem__, twice),
                                   *every[twice.stop:]])


def set_times(case: Case, at: int, times: Times) -> Changes:
    fields = list(case.truth.get(at))
    fields[4:6] = times
    slot = bytearray(case.truth.slots[at])
    T.pack(slot, fields)
    return pack_truth(case.truth, [slot if other == at else bytearray(old)
                                   for other, old in enumerate(case.truth.slots)])


def find_free_time(case: Case, at: int) -> Times:
    """Returns the earliest begin and latest end that the other records of the thread allow."""
    truth, old = case.truth, case.truth.get(at)
    before, after = ([one for one in map(truth.get, slots) if one[2:4] == old[2:4]]
                     for slots in (range(at), range(at + 1, len(truth.slots))))
    # The bracket of an act on code contains acts on memory.
    return max([one[5] for one in before] or [0]), \
        min([one[4] for one in after
             if one[0] not in (T.CODE_LOAD, T.CODE_MOVE, T.CODE_UNLOAD)] or [2**64])


def require_visible(case: Case, at: int, times: Times) -> None:
    """Raises Unobservable if no file contradicts @times as the times of an ENTER or LEAVE, whose
    thread's samples in user space show them."""
    old = case.truth.get(at)
    begin, end = find_free_time(case, at)
    spans = [(min(one, other), max(one, other)) for one, other in zip(old[4:6], times)]
    if (old[4] == old[5] and times[0] != times[1]) or times[0] < begin or end < times[1]:
        return
    if times[0] <= old[4] and old[5] <= times[1]:
        raise Unobservable("the wider bracket holds the act still, and nothing else that its "
                           "thread did")
    if not any(one.misc & 7 == rd.USER and (one.pid, one.tid) == old[2:4] and
               any(first <= one.time <= last for first, last in spans)
               for one in case.capture("perf.data").samples()):
        raise Unobservable("its thread wrote nothing, and nothing was seen that tells of the act, "
                           "in the time by which it was moved")


def move_record(case: Case, number: int, change: Callable[[int, int], Times]) -> Changes:
    at = choose_record_of_type(case, number)
    before, after = case.truth.get(at)[4:6]
    times = change(before, after)
    if times == (before, after):
        raise Absent("the truth has no time of the act's begin")
    require_visible(case, at, times)
    return set_times(case, at, times)


MOVES: dict[str, Callable[[int, int], Times]] = {
    "earlier": lambda before, after: (max(before - MS, 0), after - MS),
    "later": lambda before, after: (before + MS, after + MS),
    "begins.earlier": lambda before, after: (max(before - MS, 0), after),
    "ends.later": lambda before, after: (before, after + MS),
    "begins.much-earlier": lambda before, after: (max(before - 100 * MS, 0), after),
    "ends.much-later": lambda before, after: (before, after + 100 * MS),
}

for name, number in TYPES.items():
    add("truth.%s.deleted.one" % name, partial(delete_record, number=number))
    add("truth.%s.doubled.one" % name, partial(double_record, number=number))
# Times of acts on tasks and memory are moved in the capture's records.
for name, number in (("enter", T.ENTER), ("leave", T.LEAVE)):
    for move_name, move in MOVES.items():
        add("truth.%s.%s" % (name, move_name), partial(move_record, number=number, change=move))


def change_cpu_time(case: Case, change: Callable[[int], int]) -> Changes:
    new = [bytearray(slot) for slot in case.truth.slots]
    for at in find_slots(case, T.LEAVE):
        fields = list(case.truth.get(at))
        fields[7] = change(fields[7] >> 8) << 8 | fields[7] & 0xff
        T.pack(new[at], fields)
    return pack_truth(case.truth, new)


add("truth.leave.cpu.double.all", partial(change_cpu_time, change=lambda old: 2 * old))
add("truth.leave.cpu.+10ms.all", partial(change_cpu_time, change=lambda old: old + 10 * MS))
