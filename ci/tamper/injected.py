# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of injected.data, an injector's output, without changing perf.data."""

from typing import Any, Callable

from ci.tamper.case import Capture, Case, clone
from ci.tamper.kinds import Absent, Changes, Unobservable, add, kind, register_rewrite
from ci.tamper.mappings import insert_record, make_map, is_injected
from ci.tamper.samples import CODE, NOBODY
from harness.selftest.support import run_directory as rd

FILE = "injected.data"
WHAT = "injected mapping record"


def is_anonymous(record: Any) -> bool:
    return isinstance(record, rd.Map) and record.name.startswith(("//anon", "/memfd:"))


def is_native(record: Any) -> bool:
    """Returns whether a file is mapped, except a jitdump, which inject may remove."""
    return isinstance(record, rd.Map) and record.name.startswith("/") and \
        not is_injected(record) and not is_anonymous(record) and \
        not record.name.endswith(".dump") and bool(record.prot & rd.EXECUTE)


def alter_records(where: Callable[[Any], bool], change: Callable[[Any], Any], share: float,
                  what: str) \
        -> Callable[[Case], Changes]:
    return lambda case: case.alter_records(where, change, share, what, FILE)


for share_name, share in (("one", 0.0), ("some", 0.3), ("all", 1.0)):
    add("injected.map.deleted." + share_name, alter_records(is_injected, lambda one: None, share,
                                                            WHAT))
    add("injected.map.pid." + share_name, alter_records(
        is_injected, lambda one: clone(one, pid=NOBODY, tid=NOBODY), share, WHAT))
add("injected.map.moved", alter_records(
    is_injected, lambda one: clone(one, start=one.start + 16), 0.3, WHAT))
add("injected.map.writable", alter_records(is_injected, lambda one: clone(one, prot=7), 0.3, WHAT))
add("injected.map.pgoff", alter_records(
    is_injected, lambda one: clone(one, pgoff=one.pgoff + 4096), 0.3, WHAT))
add("injected.map.length", alter_records(
    is_injected, lambda one: clone(one, size=one.size // 2), 0.3, WHAT))


@kind("injected.anon.deleted")
def delete_anonymous(case: Case) -> Changes:
    changes = case.alter_records(is_anonymous, lambda one: None, 1.0, "anonymous mapping record",
                                 FILE)
    if b"inject=strip" in case.read("case"):
        raise Unobservable("the case's mode of injecting takes anonymous mappings away")
    return changes


add("injected.native.deleted.one", alter_records(is_native, lambda one: None, 0.0,
                                                 "mapping record of a file"))
add("injected.native.deleted.all", alter_records(is_native, lambda one: None, 1.0,
                                                 "mapping record of a file"))
add("injected.gone", lambda case: {FILE: None} if case.read(FILE) else {})


@register_rewrite("injected.map.invented", FILE)
def invent_map(case: Case, capture: Capture) -> Capture:
    """Inserts a record of jitted code at an address without code."""
    for one in capture.maps():
        if is_injected(one):
            lowest = min(other.start for other in capture.maps() if other.pid == one.pid)
            return capture.insert_records(clone(one, start=lowest - (1 << 30)))
    raise Absent("the case holds no " + WHAT)


add("injected.anon.invented", insert_record(
    lambda case, capture, pid, time: make_map(case, 1 << 30, 1 << 20, "//anon", time, pid), FILE))


def alter_injected_samples(change: Callable[[Any], Any],
                           share: float = 0.3) -> Callable[[Case], Changes]:
    return lambda case: case.alter_records(case.is_in_code, change, share, CODE, FILE)


add("injected.sample.deleted.fifth", alter_injected_samples(lambda one: None, 0.2))
add("injected.sample.ip", alter_injected_samples(lambda one: clone(one, ip=0x1234)))
add("injected.sample.cpu", alter_injected_samples(lambda one: clone(one, cpu=one.cpu ^ 1)))


def match_type(number: int) -> Callable[[Any], bool]:
    return lambda record: record.kind == number


def change_first_byte(one: Any) -> Any:
    """Changes the first number of the body, mostly the pid."""
    made = clone(one)
    made.body[0] ^= 1
    return made


# Records that injecting must not change.
for kind_name, number in (("comm", rd.COMM), ("fork", rd.FORK), ("exit", rd.EXIT)):
    what = kind_name.upper() + " record"
    add("injected.%s.pid" % kind_name, alter_records(match_type(number), change_first_byte, 0.0,
                                                     what))
add("injected.kernel-map", alter_records(match_type(1), change_first_byte, 0.0,
                                         "mapping record of the kernel"))
NATIVE: dict[str, Callable[[Any], Any]] = {
    "inode": lambda one: clone(one, ino=one.ino + 1),
    "name": lambda one: clone(one, name=one.name + ".x"),
    "pgoff": lambda one: clone(one, pgoff=one.pgoff + 4096),
    "moved": lambda one: clone(one, start=one.start + (1 << 30)),
    "time": lambda one: clone(one, time=one.time + 50_000_000),
}
for native_name, change in NATIVE.items():
    add("injected.native." + native_name, alter_records(
        is_native, change, 1.0, "mapping record of a file"))
