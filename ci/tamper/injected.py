# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of injected.data, an injector's output, without changing perf.data."""

from typing import Any, Callable

from ci.tamper.case import ALL_ONE, CODE, Capture, Case, Target, clone, set_to
from ci.tamper.kinds import Absent, Changes, Unobservable, add, kind, register_rewrite
from ci.tamper.mappings import insert_record, is_injected, make_map
from ci.tamper.samples import NOBODY
from harness.selftest.support import run_directory as rd

FILE = "injected.data"


def is_anonymous(record: Any) -> bool:
    return isinstance(record, rd.Map) and record.name.startswith(("//anon", "/memfd:"))


def is_native(record: Any) -> bool:
    """Returns whether a file is mapped, except a jitdump, which inject may remove."""
    return isinstance(record, rd.Map) and record.name.startswith("/") and \
        not is_injected(record) and not is_anonymous(record) and \
        not record.name.endswith(".dump") and bool(record.prot & rd.EXECUTE)


def make_target(where: Callable[[Any], bool], what: str) -> Target:
    return Target(lambda _, record: where(record), what, (FILE,))


INJECTED = make_target(is_injected, "injected mapping record")
ANONYMOUS = make_target(is_anonymous, "anonymous mapping record")
NATIVE = make_target(is_native, "mapping record of a file")
SAMPLES = CODE._replace(files=(FILE,))

INJECTED.add((".one", ".some", ".all"), {"injected.map.deleted": lambda *_: None,
                                         "injected.map.pid": set_to(pid=NOBODY, tid=NOBODY)})
INJECTED.add([""], {
    "injected.map.moved": lambda _, record: clone(record, start=record.start + 16),
    "injected.map.writable": set_to(prot=7),
    "injected.map.pgoff": lambda _, record: clone(record, pgoff=record.pgoff + 4096),
    "injected.map.length": lambda _, record: clone(record, size=record.size // 2),
    "injected.map.longer": lambda _, record: clone(record, size=record.size + 4096),
    "injected.map.name": lambda _, record: clone(record, name=record.name + "x"),
    "injected.map.sooner": lambda _, record: clone(record, time=max(1, record.time - 100_000_000)),
})


@kind("injected.anon.deleted")
def delete_anonymous(case: Case) -> Changes:
    changes = ANONYMOUS.alter(lambda *_: None, 1.0)(case)
    if b"inject=strip" in case.read("case"):
        raise Unobservable("the case's mode of injecting takes anonymous mappings away")
    return changes


NATIVE.add(ALL_ONE, {"injected.native.deleted": lambda *_: None})
for name, change in {
        "inode": lambda _, record: clone(record, ino=record.ino + 1),
        "name": lambda _, record: clone(record, name=record.name + ".x"),
        "pgoff": lambda _, record: clone(record, pgoff=record.pgoff + 4096),
        "moved": lambda _, record: clone(record, start=record.start + (1 << 30)),
        "time": lambda _, record: clone(record, time=record.time + 50_000_000)}.items():
    add("injected.native." + name, NATIVE.alter(change, 1.0))
add("injected.gone", lambda case: {FILE: None} if case.read(FILE) else {})


@register_rewrite("injected.map.invented", FILE)
def invent_map(case: Case, capture: Capture) -> Capture:
    """Inserts a record of jitted code at an address without code."""
    for record in capture.maps():
        if is_injected(record):
            lowest = min(other.start for other in capture.maps() if other.pid == record.pid)
            return capture.insert_records(clone(record, start=lowest - (1 << 30)))
    raise Absent("the case holds no " + INJECTED.what)


add("injected.anon.invented", insert_record(
    lambda case, capture, pid, time: make_map(case, 1 << 30, 1 << 20, "//anon", time, pid), FILE))
add("injected.sample.deleted.fifth", SAMPLES.alter(lambda *_: None, 0.2))
SAMPLES.add([""], {"injected.sample.ip": set_to(ip=0x1234),
                   "injected.sample.cpu": lambda _, record: clone(record, cpu=record.cpu ^ 1)})


def change_first_byte(_: Case, record: Any) -> Any:
    """Changes the first number of the body, mostly the pid."""
    made = clone(record)
    made.body[0] ^= 1
    return made


def match_type(number: int, what: str) -> Target:
    return make_target(lambda record: record.kind == number, what)


# Records that injecting must not change.
for name, number in (("comm", rd.COMM), ("fork", rd.FORK), ("exit", rd.EXIT)):
    add("injected.%s.pid" % name, match_type(number, name.upper() + " record").alter(
        change_first_byte, 0.0))
    add("injected.%s.deleted" % name, match_type(number, "such record").alter(
        lambda *_: None, 1.0))
add("injected.kernel-map", match_type(rd.MMAP, "mapping record of the kernel").alter(
    change_first_byte, 0.0))
