# SPDX-License-Identifier: GPL-2.0-only
"""What an injector made of a capture: injected.data alone, while perf.data stays as it was."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable

from ci.tamper.case import Capture, Case, clone
from ci.tamper.kinds import Absent, Changes, Unobservable, add, kind
from ci.tamper.mappings import NOBODY, busiest, invented, is_injected
from harness.selftest import run_directory as rd

FILE = "injected.data"
WHAT = "injected mapping record"


def is_anonymous(record: Any) -> bool:
    return isinstance(record, rd.Map) and record.name.startswith(("//anon", "/memfd:"))


def is_native(record: Any) -> bool:
    return isinstance(record, rd.Map) and record.name.startswith("/") and \
        not is_injected(record) and not is_anonymous(record) and \
        bool(record.prot & rd.EXECUTE)


def code_sample(case: Case) -> Callable[[Any], bool]:
    return lambda record: isinstance(record, rd.Sample) and case.in_code(record)


def later(one: Any, by: int) -> Any:
    made = clone(one)
    made.time = one.time + by
    return made


def each(where: Callable[[Any], bool], change: Callable[[Any], Any], share: float, what: str) \
        -> Callable[[Case], Changes]:
    return lambda case: case.each(where, change, share, what, FILE)


for share_name, share in (("one", 0.0), ("some", 0.3), ("all", 1.0)):
    add("injected.map.deleted." + share_name, each(is_injected, lambda one: None, share, WHAT))
    add("injected.map.pid." + share_name, each(
        is_injected, lambda one: clone(one, pid=NOBODY, tid=NOBODY), share, WHAT))
add("injected.map.moved", each(
    is_injected, lambda one: clone(one, start=one.start + 16), 0.3, WHAT))
add("injected.map.pgoff", each(
    is_injected, lambda one: clone(one, pgoff=one.pgoff + 4096), 0.3, WHAT))
add("injected.map.later", each(is_injected, lambda one: later(one, 100_000_000), 0.3, WHAT))
add("injected.map.length", each(
    is_injected, lambda one: clone(one, size=one.size // 2), 0.3, WHAT))


@kind("injected.anon.deleted")
def delete_anonymous(case: Case) -> Changes:
    changes = case.each(is_anonymous, lambda one: None, 1.0, "anonymous mapping record", FILE)
    if b"inject=strip" in case.read("case"):
        raise Unobservable("the case's mode of injecting takes anonymous mappings away")
    return changes


add("injected.native.deleted.one", each(is_native, lambda one: None, 0.0,
                                        "mapping record of a file"))
add("injected.native.deleted.all", each(is_native, lambda one: None, 1.0,
                                        "mapping record of a file"))
add("injected.gone", lambda case: {FILE: None} if case.read(FILE) else {})
add("injected.empty", lambda case: {FILE: b""} if case.read(FILE) else {})


@kind("injected.map.swapped")
def swap(case: Case) -> Changes:
    """Two injected records at each other's place."""
    def alter(capture: Capture) -> Capture:
        found = [one for one in capture.maps() if is_injected(one)]
        new: dict[int, Any] = {}
        for first, second in zip(found[0::4], found[1::4]):
            new[id(first)] = clone(first, start=second.start, size=second.size)
            new[id(second)] = clone(second, start=first.start, size=first.size)
        if not new:
            raise Absent("fewer than two " + WHAT + "s")
        return capture.altered(new.get(id(one), one) for one in capture.records)
    return case.rewrite(alter, FILE)


@kind("injected.map.invented")
def invent(case: Case) -> Changes:
    """A record of jitted code where no code is."""
    pid, time = busiest(case)

    def alter(capture: Capture) -> Capture:
        for one in capture.maps():
            if is_injected(one):
                lowest = min(other.start for other in capture.maps() if other.pid == one.pid)
                return capture.inserted(clone(one, start=lowest - (1 << 30)))
        raise Absent("the case holds no " + WHAT)
    return case.rewrite(alter, FILE)


@kind("injected.anon.invented")
def invent_anonymous(case: Case) -> Changes:
    pid, time = busiest(case)
    return case.rewrite(lambda capture: capture.inserted(
        invented(case, 1 << 30, 1 << 20, "//anon", time, pid)), FILE)


def delete_samples(case: Case, share: float) -> Changes:
    return case.each(code_sample(case), lambda one: None, share,
                     "sample in emitted code within the window", FILE)


for name, share in (("fifth", 0.2), ("all", 1.0)):
    add("injected.sample.deleted." + name, partial(delete_samples, share=share))
add("injected.sample.ip", lambda case: case.each(
    code_sample(case), lambda one: clone(one, ip=0x1234), 0.3,
    "sample in emitted code within the window", FILE))
add("injected.sample.pid", lambda case: case.each(
    code_sample(case), lambda one: clone(one, pid=NOBODY), 0.3,
    "sample in emitted code within the window", FILE))
add("injected.sample.doubled", lambda case: case.each(
    code_sample(case), lambda one: [one, one], 0.3,
    "sample in emitted code within the window", FILE))
