# SPDX-License-Identifier: GPL-2.0-only
"""What an injector made of a capture: injected.data alone, while perf.data stays as it was."""

import struct
from typing import Any, Callable

from ci.tamper.case import Capture, Case, clone
from ci.tamper.kinds import Absent, Changes, Unobservable, add, kind, rewriting
from ci.tamper.mappings import inserted, invented, is_injected, put
from ci.tamper.samples import CODE, NOBODY
from harness.selftest.support import run_directory as rd

FILE = "injected.data"
WHAT = "injected mapping record"


def is_anonymous(record: Any) -> bool:
    return isinstance(record, rd.Map) and record.name.startswith(("//anon", "/memfd:"))


def is_native(record: Any) -> bool:
    return isinstance(record, rd.Map) and record.name.startswith("/") and \
        not is_injected(record) and not is_anonymous(record) and \
        bool(record.prot & rd.EXECUTE)


def each(where: Callable[[Any], bool], change: Callable[[Any], Any], share: float, what: str) \
        -> Callable[[Case], Changes]:
    return lambda case: case.each(where, change, share, what, FILE)


for share_name, share in (("one", 0.0), ("some", 0.3), ("all", 1.0)):
    add("injected.map.deleted." + share_name, each(is_injected, lambda one: None, share, WHAT))
    add("injected.map.pid." + share_name, each(
        is_injected, lambda one: clone(one, pid=NOBODY, tid=NOBODY), share, WHAT))
add("injected.map.moved", each(
    is_injected, lambda one: clone(one, start=one.start + 16), 0.3, WHAT))
add("injected.map.writable", each(is_injected, lambda one: clone(one, prot=7), 0.3, WHAT))
add("injected.map.sharing", each(
    is_injected, lambda one: put(one, 60, "I", struct.unpack_from("<I", one.body, 60)[0] ^ 3), 0.3,
    WHAT))
add("injected.map.pgoff", each(
    is_injected, lambda one: clone(one, pgoff=one.pgoff + 4096), 0.3, WHAT))
add("injected.map.later", each(
    is_injected, lambda one: clone(one, time=one.time + 100_000_000), 0.3, WHAT))
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


@rewriting("injected.map.swapped", FILE)
def swap(case: Case, capture: Capture) -> Capture:
    """Two injected records at each other's place."""
    found = [one for one in capture.maps() if is_injected(one)]
    new: dict[int, Any] = {}
    for first, second in zip(found[0::4], found[1::4]):
        new[id(first)] = clone(first, start=second.start, size=second.size)
        new[id(second)] = clone(second, start=first.start, size=first.size)
    if not new:
        raise Absent("fewer than two " + WHAT + "s")
    return capture.replaced(new)


@rewriting("injected.map.invented", FILE)
def invent(case: Case, capture: Capture) -> Capture:
    """A record of jitted code where no code is."""
    for one in capture.maps():
        if is_injected(one):
            lowest = min(other.start for other in capture.maps() if other.pid == one.pid)
            return capture.inserted(clone(one, start=lowest - (1 << 30)))
    raise Absent("the case holds no " + WHAT)


add("injected.anon.invented", inserted(
    lambda case, capture, pid, time: invented(case, 1 << 30, 1 << 20, "//anon", time, pid), FILE))


def in_sample(change: Callable[[Any], Any], share: float = 0.3) -> Callable[[Case], Changes]:
    return lambda case: case.each(
        lambda record: isinstance(record, rd.Sample) and case.in_code(record), change, share,
        CODE, FILE)


add("injected.sample.deleted.fifth", in_sample(lambda one: None, 0.2))
add("injected.sample.deleted.all", in_sample(lambda one: None, 1.0))
add("injected.sample.ip", in_sample(lambda one: clone(one, ip=0x1234)))
add("injected.sample.pid", in_sample(lambda one: clone(one, pid=NOBODY)))
add("injected.sample.doubled", in_sample(lambda one: [one, one]))
add("injected.sample.cpu", in_sample(lambda one: clone(one, cpu=one.cpu ^ 1)))


def is_kind(number: int) -> Callable[[Any], bool]:
    return lambda record: record.kind == number


def other_body(one: Any) -> Any:
    """Its first number, mostly the pid, is another."""
    made = clone(one)
    made.body[0] ^= 1
    return made


# What injecting has nothing to do with.
for kind_name, number in (("comm", rd.COMM), ("fork", rd.FORK), ("exit", rd.EXIT)):
    what = kind_name.upper() + " record"
    add("injected.%s.pid" % kind_name, each(is_kind(number), other_body, 0.0, what))
add("injected.kernel-map", each(is_kind(1), other_body, 0.0, "mapping record of the kernel"))
NATIVE: dict[str, Callable[[Any], Any]] = {
    "inode": lambda one: clone(one, ino=one.ino + 1),
    "name": lambda one: clone(one, name=one.name + ".x"),
    "pgoff": lambda one: clone(one, pgoff=one.pgoff + 4096),
    "moved": lambda one: clone(one, start=one.start + (1 << 30)),
    "time": lambda one: clone(one, time=one.time + 50_000_000),
}
for native_name, change in NATIVE.items():
    add("injected.native." + native_name, each(is_native, change, 1.0,
                                               "mapping record of a file"))


def in_attr(at: int, layout: str, value: int) -> Callable[[Case], Changes]:
    def change(index: int, attr: rd.Attr) -> rd.Attr | None:
        if index:
            return None
        struct.pack_into("<" + layout, attr.raw, at, value)
        return attr
    return lambda case: case.rewrite(lambda capture: capture.with_attrs(change), FILE)


add("injected.attr.period", in_attr(16, "Q", 5))
add("injected.attr.config", in_attr(8, "Q", 2))
add("injected.attr.clock", in_attr(92, "i", 4))
