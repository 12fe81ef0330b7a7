# SPDX-License-Identifier: GPL-2.0-only
"""Records of mappings: longer, shorter, elsewhere, of another file, gone, invented."""

from functools import partial
import os
import re
import struct
from typing import Any, Callable

from ci.tamper.case import Capture, Case, clone
from ci.tamper.kinds import Absent, Changes, add, rewriting
from ci.tamper.samples import CODE, NOBODY
from harness.selftest.support import run_directory as rd

PAGE = 4096
LONG = 10_000_000
# What tells less than it did.
PARTS = ("length.-1", "start.+1")
# Where a record may as well not be there, or so many ns earlier or later.
UNTOLD = {"deleted": 0, "prot.read": 0, "prot.none": 0, "time.+100ms": 100_000_000,
          "time.-100ms": 100_000_000}
# The same of one that the next record tells again, before all events are on, too.
GROWN = ("prot.none", "time.+1ms", "time.-1ms")
Change = Callable[[Case, rd.Map], Any]
Where = Callable[[Case, rd.Map], bool]


def is_injected(record: Any) -> bool:
    """A record of an injector, not of the capture."""
    return isinstance(record, rd.Map) and \
        os.path.basename(record.name).startswith(("jit-", "jitted-")) and \
        not record.name.endswith(".dump")


def executable(case: Case, one: rd.Map) -> bool:
    return bool(one.prot & rd.EXECUTE) and one.pid in case.watched and not is_injected(one)


def of_code(case: Case, one: rd.Map) -> bool:
    return executable(case, one) and case.overlaps_code(one)


def of_file(case: Case, one: rd.Map) -> bool:
    return executable(case, one) and one.name.startswith("/") and one.ino != 0 and \
        not case.overlaps_code(one)


def other(case: Case, one: rd.Map) -> bool:
    return executable(case, one) and not of_code(case, one) and not of_file(case, one)


def data(case: Case, one: rd.Map) -> bool:
    return not one.prot & rd.EXECUTE and one.pid in case.watched


TARGETS: dict[str, tuple[Where, str]] = {
    "code": (of_code, "mapping record of emitted code"),
    "file": (of_file, "executable mapping record of another file"),
    "other": (other, "executable mapping record without a file, but of no emitted code"),
    "data": (data, "mapping record of data"),
}


def put(one: rd.Map, at: int, layout: str, value: int) -> rd.Map:
    made = clone(one)
    struct.pack_into("<" + layout, made.body, at, value)
    return made


def named(one: rd.Map, name: str) -> rd.Map:
    return clone(one, name=name)


def timed(one: rd.Map, by: int) -> rd.Map:
    return clone(one, time=max(0, one.time + by))


def without_build_id(one: rd.Map) -> rd.Map:
    if not one.misc & rd.BUILD_ID:
        raise Absent("mapping records hold no build id")
    made = clone(one)
    made.body[36:56] = b"\x5a" * 20
    return made


def identity(one: rd.Map, at: int, layout: str, by: int) -> rd.Map:
    """A field of the file's identity, which a build id takes the place of."""
    if one.misc & rd.BUILD_ID:
        raise Absent("mapping records hold a build id instead")
    return put(one, at, layout, struct.unpack_from("<" + layout, one.body, at)[0] + by)


CHANGES: dict[str, Change] = {
    "length.+1": lambda case, one: clone(one, size=one.size + PAGE),
    "length.+16": lambda case, one: clone(one, size=one.size + 16 * PAGE),
    "length.-1": lambda case, one: clone(one, size=max(0, one.size - PAGE)),
    "length.0": lambda case, one: clone(one, size=0),
    "start.+1": lambda case, one: clone(one, start=one.start + PAGE, size=max(0, one.size - PAGE)),
    "start.-1": lambda case, one: clone(one, start=one.start - PAGE, size=one.size + PAGE),
    "moved.1": lambda case, one: clone(one, start=one.start + PAGE),
    "moved.far": lambda case, one: clone(one, start=one.start ^ 1 << 32),
    "deleted": lambda case, one: None,
    "doubled.renamed": lambda case, one: [one, named(one, "/usr/lib/other.so")],
    "pgoff.+1": lambda case, one: clone(one, pgoff=one.pgoff + PAGE),
    "prot.read": lambda case, one: clone(one, prot=rd.READ),
    "prot.write": lambda case, one: clone(one, prot=one.prot ^ rd.WRITE),
    "flags.sharing": lambda case, one: put(
        one, 60, "I", struct.unpack_from("<I", one.body, 60)[0] ^ 3),
    "ino": lambda case, one: identity(one, 40, "Q", 1),
    "maj": lambda case, one: identity(one, 32, "I", 1),
    "min": lambda case, one: identity(one, 36, "I", 1),
    "generation": lambda case, one: identity(one, 48, "Q", 1),
    "build-id": lambda case, one: without_build_id(one),
    "name": lambda case, one: named(one, "/usr/lib/other.so"),
    "name.anon": lambda case, one: named(one, "//anon"),
    "name.empty": lambda case, one: named(one, ""),
    "pid": lambda case, one: clone(one, pid=NOBODY, tid=NOBODY),
    "tid": lambda case, one: clone(one, tid=NOBODY),
    "mode.kernel": lambda case, one: clone(one, misc=one.misc & ~7 | rd.KERNEL),
    "time.+100ms": lambda case, one: timed(one, 100_000_000),
    "time.-100ms": lambda case, one: timed(one, -100_000_000),
    "time.0": lambda case, one: timed(one, -one.time),
}


def within_act(case: Case, one: rd.Map, name: str) -> str | None:
    """The proof that a record may be there or not: the workload told of many acts as one, whose
    bracket holds it, earlier and later too."""
    truth, by = case.truth, UNTOLD.get(name)
    if by is None:
        return None
    for index in truth.of(truth.MAP):
        _, _, pid, _, before, after, addr, size = truth.get(index)[:8]
        if pid == one.pid and addr <= one.start < addr + size and \
                after - before > LONG and before + by < one.time < after - by:
            return "the record is of an act that the truth brackets with thousands of others"
    return None


def read_again(case: Case, one: rd.Map, name: str) -> str | None:
    """The proof that what a record does not say any more is told again, by a reading of /proc: of a
    record from before all events were on, or of a neighbour that a mapping was merged with."""
    early = 0 < one.time < int(case.facts["enabled"])
    if name not in PARTS and not (early and (name in UNTOLD or name in ("time.0", *GROWN))):
        return None
    start, end = one.start, one.start + one.size
    if name == "length.-1":
        start = end - PAGE
    elif name == "start.+1":
        end = start + PAGE

    def says_it(two: rd.Map) -> bool:
        return two is not one and two.pid == one.pid and two.prot == one.prot and \
            two.start <= start and end <= two.start + two.size
    if not any(map(says_it, case.readings)) or name in GROWN and not any(
            one.time < two.time < int(case.facts["enabled"])
            for two in filter(says_it, case.capture("perf.data").maps())):
        return None
    return "a reading of /proc tells the same"


def only_generation(case: Case, one: rd.Map, name: str) -> str | None:
    """The proof that nothing else tells the generation of the record's inode: maps do not."""
    if name != "generation" or one.misc & rd.BUILD_ID:
        return None
    identity = bytes(one.body[32:48])
    maj, minor, ino = struct.unpack("<IIQ", identity)
    if not ino or not (one.time or any(one.body[48:56])):
        return None  # a generation of nothing, or where a reading of /proc has none
    kept = case.read("elf/index").decode() if "elf" in case.names() else ""
    if "%x:%x %d." % (maj, minor, ino) in kept or \
            any(two is not one and bytes(two.body[32:48]) == identity and
                (two.time or any(two.body[48:56])) for two in case.capture("perf.data").maps()):
        return None
    return "no other record, and no kept file, tells the generation of the record's inode"


def written_twice(case: Case, where: Where, share: float, name: str) -> str | None:
    """The proof that its writer may tell as many records twice by itself."""
    allowed = re.search(rb"allow twice <=(\d+)", case.read("case"))
    if name != "doubled" or not allowed:
        return None
    count = round(share * sum(where(case, one) for one in case.capture("perf.data").maps()))
    return "perf itself writes as many records twice" if max(1, count) <= int(allowed[1]) else None


def of(where: Where, what: str, change: Change, share: float, name: str) \
        -> Callable[[Case], Changes]:
    return lambda case: case.each(
        lambda record: isinstance(record, rd.Map) and where(case, record),
        lambda one: change(case, one), share, what,
        proof=lambda one: within_act(case, one, name) or read_again(case, one, name) or
        only_generation(case, one, name) or written_twice(case, where, share, name))


for target, (where, what) in TARGETS.items():
    for name, change in CHANGES.items():
        for share_name, share in (("some", 0.3), ("one", 0.0)):
            add("map.%s.%s.%s" % (target, name, share_name),
                of(where, what, change, share, name))


def busiest(case: Case) -> tuple[int, int]:
    """The process with most samples in emitted code, and a time in the middle of them."""
    times: dict[int, list[int]] = {}
    for sample in case.code_samples:
        times.setdefault(sample.pid, []).append(sample.time)
    if not times:
        raise Absent("the case holds no " + CODE)
    pid = max(sorted(times), key=lambda one: len(times[one]))
    return pid, sorted(times[pid])[len(times[pid]) // 3]


def model(case: Case, pid: int) -> rd.Map:
    """Any mapping record of the process, for its layout."""
    for one in case.capture("perf.data").maps():
        if one.pid == pid or one.pid in case.watched:
            return one
    raise Absent("the case holds no mapping record of a watched process")


def invented(case: Case, start: int, size: int, name: str, time: int, pid: int) -> rd.Map:
    made = clone(model(case, pid), pid=pid, tid=pid, start=start, size=size, pgoff=0,
                 prot=rd.READ | rd.EXECUTE)
    made.body[32:56] = bytes(24)
    made.misc &= ~rd.BUILD_ID
    return clone(made, name=name, time=time)


def inserted(make: Callable[[Case, Capture, int, int], Any], *names: str) \
        -> Callable[[Case], Changes]:
    """With a record that never was: @make(case, capture, pid, time), of the busiest process."""
    def alter(case: Case) -> Changes:
        pid, time = busiest(case)
        return case.rewrite(lambda capture: capture.inserted(make(case, capture, pid, time)),
                            *names)
    return alter


def where_nothing_is(case: Case, capture: Capture, pid: int, time: int) -> rd.Map:
    lowest = min(one.start for one in case.capture("perf.data").maps() if one.pid in case.watched)
    return invented(case, max(lowest - (1 << 30), 1 << 16), 1 << 20, "//anon", time, pid)


def over_libc(case: Case, capture: Capture, pid: int, time: int) -> rd.Map:
    """Another file over the last page of libc's text."""
    for one in case.capture("perf.data").maps():
        if "/libc.so" in one.name and one.prot & rd.EXECUTE and one.pid in case.watched:
            end = one.start + one.size
            return invented(case, end - PAGE, PAGE, "/usr/lib/other.so", time, pid)
    raise Absent("no mapping of libc is in the capture")


def over_code(case: Case, capture: Capture, pid: int, time: int) -> rd.Map:
    """A file over a page of emitted code, in the middle of its samples."""
    ip = next(one.ip for one in case.code_samples if one.pid == pid)
    return invented(case, ip & -PAGE, PAGE, "/usr/lib/other.so", time, pid)


add("map.invented.anon", inserted(where_nothing_is))
add("map.invented.over-libc", inserted(over_libc))
add("map.invented.over-code", inserted(over_code))
# In a process that has no samples in emitted code.
add("map.invented.other-process", inserted(
    lambda case, capture, pid, time: invented(case, 1 << 30, 1 << 20, "//anon", time, NOBODY)))


def all_gone(case: Case, target: str) -> Changes:
    where, what = TARGETS[target]
    return case.each(lambda one: isinstance(one, rd.Map) and where(case, one),
                     lambda one: None, 1.0, what)


for target in TARGETS:
    add("map.%s.deleted.all" % target, partial(all_gone, target=target))


@rewriting("map.code.order")
def reordered(case: Case, capture: Capture) -> Capture:
    """Two records of emitted code of one process with each other's time."""
    found = [one for one in capture.maps() if of_code(case, one)]
    for first, second in zip(found, found[1:]):
        if first.pid == second.pid and first.range() != second.range():
            new = {id(first): clone(first), id(second): clone(second)}
            new[id(first)].time, new[id(second)].time = second.time, first.time
            return capture.replaced(new)
    raise Absent("no two different records of emitted code are of one process")
