# SPDX-License-Identifier: GPL-2.0-only
"""Records of mappings and tasks, altered so that each stays possible by itself."""

from functools import partial
import struct
from typing import Any, Callable

from ci.tamper.case import Capture, Case, clone
from ci.tamper.events import sampling, sideband
from ci.tamper.kinds import Absent, Changes, add, rewriting
from ci.tamper.mappings import PAGE, TARGETS, inserted, of, put, timed
from ci.tamper.tasks import field, head, put_time, task, text
from harness.selftest.support import run_directory as rd

MS = 1_000_000


def other_process(case: Case, one: rd.Map) -> rd.Map:
    others = sorted(case.watched - {one.pid})
    if not others:
        raise Absent("the case watches one process")
    pid = others[one.start // PAGE % len(others)]
    return clone(one, pid=pid, tid=pid)


def swapped_device(case: Case, one: rd.Map) -> rd.Map:
    if one.misc & rd.BUILD_ID:
        raise Absent("mapping records hold a build id instead")
    return put(put(one, 32, "I", one.min), 36, "I", one.maj)


def split(case: Case, one: rd.Map) -> Any:
    half = one.size // 2 // PAGE * PAGE
    if not half:
        return one
    return [clone(one, size=half),
            clone(one, start=one.start + half, size=one.size - half,
                  pgoff=one.pgoff + half if one.ino else one.pgoff)]


def live(one: Any) -> Any:
    """A record of the kernel's, not of a reading of /proc."""
    if not one.time:
        raise Absent("the record is of a reading of /proc")
    return one


CHANGES: dict[str, Callable[[Case, rd.Map], Any]] = {
    "pid.watched": other_process,
    "device.swapped": swapped_device,
    "split": split,
    "doubled": lambda case, one: [live(one), one],
    "prot.execute": lambda case, one: clone(one, prot=rd.EXECUTE),
    "prot.none": lambda case, one: clone(one, prot=0),
    "pgoff.zero": lambda case, one: clone(one, pgoff=0),
    "time.+1ms": lambda case, one: timed(live(one), MS),
    "time.-1ms": lambda case, one: timed(live(one), -MS),
    "tail.pid": lambda case, one: tail(live(one), 0),
    "tail.tid": lambda case, one: tail(live(one), 4),
    "name.case": lambda case, one: renamed(one),
}


def tail(one: Any, at: int) -> Any:
    """The pid or tid of the record's sample_id: whose act the kernel says it was."""
    if rd.TID not in one.tail():
        raise Absent("records do not say whose they are")
    made = clone(one)
    place = one.tail()[rd.TID] + at
    struct.pack_into("<I", made.body, place, struct.unpack_from("<I", one.body, place)[0] + 1)
    return made


def renamed(one: rd.Map) -> rd.Map:
    if not one.name.strip():
        return one
    return clone(one, name=one.name[:-1] + chr(ord(one.name[-1]) ^ 1))


for target in ("code", "file", "other"):
    where, what = TARGETS[target]
    for name, change in CHANGES.items():
        # While a program starts, the truth tells of nothing so closely.
        if name.startswith("time") and target != "code":
            continue
        for share_name, share in (("some", 0.3), ("one", 0.0)):
            add("map.%s.%s.%s" % (target, name, share_name), of(where, what, change, share, name))


def acts_of(case: Case, one: rd.Map) -> list[tuple[int, ...]]:
    """The acts of the truth that change the memory of a live record in a bracket that holds it."""
    truth = case.truth
    found = [truth.get(index) for number in (truth.MAP, truth.PROTECT, truth.REMAP, truth.UNMAP)
             for index in truth.of(number)]
    return [slot for slot in found if slot[2] == one.pid and slot[4] <= live(one).time <= slot[5]
            and slot[6] < one.start + one.size and one.start < slot[6] + slot[7]]


def may_be_twice(case: Case, one: rd.Map) -> str | None:
    if rd.IDENTIFIER not in one.tail():
        return "records have no ids: a reading of /proc may have a time, too"
    if len(acts_of(case, one)) == 1:
        return None
    return "the truth tells of no act in whose bracket the record is, or of several"


def other_thread(case: Case, one: rd.Map) -> int:
    others = {sample.tid for sample in case.capture("perf.data").samples()
              if sample.pid == one.pid} - {one.tid}
    if not others:
        raise Absent("the process has no other thread with samples")
    return min(others)


def may_be_others(case: Case, one: rd.Map) -> str | None:
    if rd.IDENTIFIER not in one.tail():
        return may_be_twice(case, one)
    tids = {slot[3] for slot in acts_of(case, one)}
    if tids and other_thread(case, one) not in tids:
        return None
    return "the truth does not tell that no other thread did it"


def by_other_thread(case: Case, one: rd.Map) -> rd.Map:
    made = clone(one, tid=other_thread(case, one))
    place = made.tail().get(rd.TID)
    if place is not None:
        struct.pack_into("<I", made.body, place + 4, made.tid)
    return made


for share_name, share in (("some", 0.3), ("one", 0.0)):
    add("map.code.again.%s" % share_name, partial(
        lambda case, share: case.each(
            lambda one: isinstance(one, rd.Map) and TARGETS["code"][0](case, one),
            lambda one: [live(one), timed(one, 1)], share, TARGETS["code"][1],
            proof=lambda one: may_be_twice(case, one)), share=share))
    add("map.code.other-thread.%s" % share_name, partial(
        lambda case, share: case.each(
            lambda one: isinstance(one, rd.Map) and TARGETS["code"][0](case, one),
            lambda one: by_other_thread(case, live(one)), share, TARGETS["code"][1],
            proof=lambda one: may_be_others(case, one)), share=share))


def of_data(case: Case, capture: Capture, pid: int, time: int) -> rd.Map:
    """A record that no event of ours is asked for."""
    for one in capture.maps():
        if "first_enabled" in case.facts and one.pid == pid and one.time and \
                one.prot & rd.EXECUTE:
            return clone(one, start=1 << 30, size=1 << 20, prot=rd.READ | rd.WRITE, time=time,
                         misc=one.misc | 1 << 13)
    raise Absent("the capture is not ours, or has no live record of the busiest process")


add("map.invented.data", inserted(of_data))


def pairs(case: Case, target: str, change: Callable[[rd.Map, rd.Map], tuple[rd.Map, rd.Map]]) \
        -> Changes:
    """Two different records of a process."""
    where, what = TARGETS[target]

    def alter(capture: Capture) -> Capture:
        found = [one for one in capture.maps() if where(case, one)]
        for first in found:
            for second in found:
                if first.pid == second.pid and first.range() != second.range():
                    new = change(first, second)
                    if (bytes(new[0].body), bytes(new[1].body)) == (bytes(first.body),
                                                                   bytes(second.body)):
                        continue
                    made = {id(first): new[0], id(second): new[1]}
                    return capture.replaced(made)
        raise Absent("no two records differ: " + what)
    return case.rewrite(alter)


def names_swapped(first: rd.Map, second: rd.Map) -> tuple[rd.Map, rd.Map]:
    one, two = clone(first), clone(second)
    one.name, two.name = second.name, first.name
    return one, two


def identities_swapped(first: rd.Map, second: rd.Map) -> tuple[rd.Map, rd.Map]:
    one, two = clone(first), clone(second)
    one.body[32:56], two.body[32:56] = second.body[32:56], first.body[32:56]
    one.misc, two.misc = second.misc, first.misc
    return one, two


for target in ("code", "file", "other"):
    add("map.%s.names.swapped" % target,
        partial(pairs, target=target, change=names_swapped))
    add("map.%s.identities.swapped" % target,
        partial(pairs, target=target, change=identities_swapped))


@rewriting("map.code.merged")
def merged(case: Case, capture: Capture) -> Capture:
    """Two neighbouring mappings of emitted code, told as one."""
    found = [one for one in capture.maps() if TARGETS["code"][0](case, one)]
    for first in found:
        for second in found:
            if first.pid == second.pid and first.start + first.size == second.start:
                long = clone(second, start=first.start, size=first.size + second.size,
                             pgoff=first.pgoff)
                return capture.altered(
                    long if one is second else one for one in capture.records
                    if one is not first)
    raise Absent("no two mappings of emitted code are neighbours")


@rewriting("map.code.behind-sample")
def behind_sample(case: Case, capture: Capture) -> Capture:
    """A mapping's record one microsecond after the first sample in it."""
    samples = [one for one in capture.samples() if case.in_code(one)]
    for mapped in capture.maps():
        if not TARGETS["code"][0](case, mapped) or not mapped.time:
            continue
        for sample in samples:
            if sample.pid == mapped.pid and sample.time > mapped.time and \
                    mapped.start <= sample.ip < mapped.start + mapped.size:
                moved = timed(mapped, sample.time + 1000 - mapped.time)
                return capture.altered(
                    one for one in capture.records if one is not mapped).inserted(moved)
    raise Absent("no live record of emitted code comes before a sample in it")


def known_task(case: Case, one: rd.Side, index: int) -> rd.Side:
    """Another thread or process of the workload in a field of FORK or EXIT."""
    tids = {sample.tid for sample in case.capture("perf.data").samples()} | case.watched
    pids = sorted(case.watched if index < 2 else tids)
    others = [number for number in pids if number not in head(one, 4)]
    if not others:
        raise Absent("the case has no other task")
    return field(one, index, others[0])


def body_time(one: rd.Side) -> rd.Side:
    made = clone(one)
    struct.pack_into("<Q", made.body, 16, struct.unpack_from("<Q", one.body, 16)[0] + 1000 * MS)
    return made


TASKS: dict[str, Callable[[Case, rd.Side], Any]] = {
    "pid.known": lambda case, one: known_task(case, one, 0),
    "ppid.known": lambda case, one: known_task(case, one, 1),
    "tid.known": lambda case, one: known_task(case, one, 2),
    "ptid.known": lambda case, one: known_task(case, one, 3),
    "time.+5ms": lambda case, one: put_time(live(one), 5 * MS),
    "time.-5ms": lambda case, one: put_time(live(one), -5 * MS),
    "body-time": lambda case, one: body_time(live(one)),
    "tail.pid": lambda case, one: tail(live(one), 0),
    "tail.tid": lambda case, one: tail(live(one), 4),
}


def within_bracket(case: Case, one: rd.Side, by: int) -> str | None:
    """The proof that a record may be so much later: the truth's bracket of the thread's start or
    end holds that time too, and a start comes before all that the thread does."""
    truth, tid, pid = case.truth, head(one, 3)[2], head(one, 1)[0]
    times = [one.time, one.time + by, struct.unpack_from("<Q", one.body, 16)[0] + by]

    def slots(number: int) -> list[tuple[int, ...]]:
        return [slot for slot in map(truth.get, truth.of(number))
                if slot[2] == pid and slot[3] == tid]
    if one.kind == rd.FORK:
        brackets = [slot[4:6] for slot in slots(truth.THREAD_START)]
        if any(times[0] <= sample.time <= times[2] for sample in
               case.capture("perf.data").samples() if sample.tid == tid):
            return None
    else:
        # Whoever joined it, and found it gone, says by when.
        brackets = [(slot[4], min(gone)) for slot in slots(truth.THREAD_EXIT) if (
            gone := [late[5] for late in slots(truth.GONE) if late[5] >= slot[5]])]
    if any(begin < min(times) and max(times) < end for begin, end in brackets):
        return "the truth's bracket of the thread's start or end holds that time, too"
    return None


LATER = {"time.+5ms": 5 * MS}


def some_tasks(case: Case, number: int, whom: str, change: Callable[[Case, rd.Side], Any],
               later: int) -> Changes:
    where = task(number, whom == "process")
    return case.each(
        lambda one: where(case, one), lambda one: change(case, one), 0.3,
        "FORK or EXIT record of a " + whom,
        proof=(lambda one: within_bracket(case, one, later)) if later else None)


for record_name, number in (("fork", rd.FORK), ("exit", rd.EXIT)):
    for whom in ("process", "thread"):
        for name, task_change in TASKS.items():
            add("%s.%s.%s" % (record_name, whom, name), partial(
                some_tasks, number=number, whom=whom, change=task_change,
                later=LATER.get(name, 0)))


def swapped_tasks(case: Case, number: int, processes: bool) -> Changes:
    """Two records of that type, of different tasks, at each other's time."""
    where = task(number, processes)

    def alter(capture: Capture) -> Capture:
        found = [one for one in capture.records if where(case, one) and one.time]
        others = [one for one in found if head(one, 4) != head(found[0], 4)]
        if not others:
            raise Absent("fewer than two such records")
        first, last = found[0], others[-1]
        new = {id(first): put_time(last, first.time - last.time),
               id(last): put_time(first, last.time - first.time)}
        return capture.replaced(new)
    return case.rewrite(alter)


for record_name, number in (("fork", rd.FORK), ("exit", rd.EXIT)):
    add("%s.process.swapped" % record_name,
        partial(swapped_tasks, number=number, processes=True))
    add("%s.thread.swapped" % record_name,
        partial(swapped_tasks, number=number, processes=False))


def comm_text(one: rd.Side) -> bytes:
    return bytes(one.body[8:one.tail()[0]]).split(b"\0")[0]


@rewriting("comm.swapped")
def swapped_names(case: Case, capture: Capture) -> Capture:
    """Two threads of different names have each other's."""
    found = [one for one in capture.records
             if one.kind == rd.COMM and head(one, 1)[0] in case.watched]
    for first in found:
        for second in found:
            if comm_text(first) != comm_text(second) and \
                    head(first, 2)[1] != head(second, 2)[1]:
                new = {id(first): text(first, comm_text(second)),
                       id(second): text(second, comm_text(first))}
                return capture.replaced(new)
    raise Absent("no two threads have different names")


def comm_each(change: Callable[[Any], Any]) -> Callable[[Case], Changes]:
    return lambda case: case.each(
        lambda one: one.kind == rd.COMM and head(one, 1)[0] in case.watched, change, 0.3,
        "COMM record of a watched process")


add("comm.doubled", comm_each(lambda one: [live(one), one]))
add("comm.text.longer", comm_each(lambda one: text(one, comm_text(one) + b"x")))
add("comm.tail.tid", comm_each(lambda one: tail(live(one), 4)))


@rewriting("side.id.sampling")
def of_another_event(case: Case, capture: Capture) -> Capture:
    """Records of the sideband under an id of the sampling event, which asks for none."""
    first, last = capture.attrs[sampling(capture)], capture.attrs[sideband(capture)]
    if first.sample_type != last.sample_type and \
            bool(first.sample_type & rd.IDENTIFIER) != bool(last.sample_type & rd.IDENTIFIER):
        raise Absent("the events' records are laid out differently")
    records = []
    for one in capture.records:
        if isinstance(one, rd.Map) and one.attr is last and rd.IDENTIFIER in one.tail():
            one = clone(one)
            struct.pack_into("<Q", one.body, one.tail()[rd.IDENTIFIER], first.ids[0])
        records.append(one)
    return capture.altered(records)


# Of the kernel's types, what no event of ours asks for: (number, what follows the header).
UNASKED = {"switch": (14, b""), "switch-cpu-wide": (15, bytes(8)), "namespaces": (16, bytes(32)),
           "ksymbol": (17, struct.pack("<QIHH", 0xffffffffc0000000, 64, 1, 0) + b"invented"),
           "bpf": (18, bytes(16)), "cgroup": (19, bytes(8) + b"/invented" + bytes(7)),
           "text-poke": (20, bytes(16)), "read": (8, bytes(24)), "aux": (11, bytes(24))}


# perf asks for these, so that a file may well have them: bits of an attr's flags.
ASKED = {17: 1 << 29, 18: 1 << 30}


def unasked(number: int, body: bytes, case: Case, capture: Capture, pid: int, time: int) -> Any:
    if any(attr.flags & ASKED.get(number, 0) for attr in capture.attrs):
        raise Absent("an event asks for such records")
    return capture.side(number, body, time, 0, pid, pid)


for name, (number, body) in UNASKED.items():
    add("unasked." + name, inserted(partial(unasked, number, body)))


def lost_ones(one: Any) -> bool:
    return one.kind in (rd.LOST, rd.LOST_SAMPLES)


add("lost.doubled", lambda case: case.each(
    lost_ones, lambda one: [one, one], 1.0, "record of lost ones"))
