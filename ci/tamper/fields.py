# SPDX-License-Identifier: GPL-2.0-only
"""Fields that the kernel fills alike whatever a record tells: ids, what follows the CPU and names,
and the record of the kernel's own text."""

import struct
from typing import Any, Callable

from ci.tamper.case import Case, clone
from ci.tamper.kinds import Absent, Changes, Unobservable, add
from ci.tamper.native import SIDE, both, live_map, live_side, put_body
from harness.selftest.support import run_directory as rd

RESERVED = 4  # behind the CPU's number
KERNEL_MAP = "mapping record of the kernel"


def reserved(_: Case, one: rd.Side) -> rd.Side:
    if rd.CPU not in one.tail():
        raise Absent("records hold no CPU")
    return put_body(one, one.tail()[rd.CPU] + RESERVED, 1)


def in_sample(at: Callable[[rd.Sample], int], layout: str, value: int) \
        -> Callable[[Case, Any], Any]:
    """A field of a sample, as bytes."""
    def change(_: Case, one: rd.Sample) -> rd.Sample:
        made, raw = clone(one), bytearray(one.pack())
        struct.pack_into("<" + layout, raw, at(one), value)
        object.__setattr__(made, "pack", lambda: bytes(raw))
        return made
    return change


def any_sample(_: Case, one: Any) -> bool:
    return isinstance(one, rd.Sample) and bool(one.attr.sample_type & rd.IDENTIFIER) and \
        bool(one.attr.sample_type & rd.CPU)


def behind_cpu(one: rd.Sample) -> int:
    bits = rd.IDENTIFIER | rd.IP | rd.TID | rd.TIME | rd.ADDR | rd.ID | rd.STREAM_ID
    return 8 + 8 * (one.attr.sample_type & bits).bit_count() + RESERVED


both("sample.id.0", any_sample, in_sample(lambda one: 8, "Q", 0), "sample with an id")
both("sample.reserved", any_sample, in_sample(behind_cpu, "I", 1), "sample with a CPU")
both("side.reserved", live_side, reserved, SIDE)


def other_cpu(case: Case, one: rd.Side) -> rd.Side:
    """Its event has other records on the CPU that it is on."""
    if rd.CPU not in one.tail() or rd.IDENTIFIER not in one.tail():
        raise Absent("records hold no CPU, or no id")
    at, place = one.tail()[rd.CPU], one.tail()[rd.IDENTIFIER]
    mine = one.body[place:place + 8]
    if not any(two is not one and live_side(case, two) and
               two.body[two.tail()[rd.IDENTIFIER]:][:8] == mine
               for two in case.capture("perf.data").records):
        raise Unobservable("its event wrote no other record")
    return put_body(one, at, struct.unpack_from("<I", one.body, at)[0] ^ 1)


def told_live(case: Case, one: Any) -> bool:
    return "first_enabled" in case.facts and live_map(case, one) and \
        one.time > int(case.facts["first_enabled"]) and "maps" in case.names() and \
        not case.read("maps") and not case.read("case").count(b" : gated ")


both("side.cpu.other", told_live, other_cpu, SIDE)


def mode(number: int) -> Callable[[Case, Any], Any]:
    return lambda case, one: clone(one, misc=one.misc & ~7 | number)


for mode_name, mode_number in (("unknown", 0), ("hypervisor", 3), ("guest-user", 5)):
    both("map.mode." + mode_name, live_map, mode(mode_number), SIDE)


def is_padded(case: Case, one: Any) -> bool:
    """A live record whose name ends before its last word does."""
    return (live_map(case, one) or live_side(case, one) and one.kind == rd.COMM) and \
        len(text_of(one)) % 8 < 6


def text_of(one: rd.Side) -> bytes:
    return bytes(one.body[64 if one.kind == rd.MMAP2 else 8:one.tail()[0]]).split(b"\0")[0]


def padded(_: Case, one: rd.Side) -> rd.Side:
    return put_body(one, (64 if one.kind == rd.MMAP2 else 8) + len(text_of(one)) + 1, 0x78, "<B")


both("side.name.padding", is_padded, padded, SIDE)


def longer(_: Case, one: rd.Side) -> rd.Side:
    at = one.tail()[0]
    return clone(one, body=one.body[:at] + b"leaked!\0" + one.body[at:])


both("side.name.longer", is_padded, longer, SIDE)


def is_kernel_map(case: Case, one: Any) -> bool:
    return "first_enabled" in case.facts and one.kind == rd.MMAP and one.misc & 7 == rd.KERNEL


def kernel_map(at: int, layout: str, value: int) -> Callable[[Case], Changes]:
    return lambda case: case.each(lambda one: is_kernel_map(case, one),
                                  lambda one: put_body(one, at, value, layout), 1.0, KERNEL_MAP)


for field_name, field_at, field_layout, field_value in (
        ("tid", 4, "<I", 7), ("start", 8, "<Q", 2**64 - 2**30), ("user", 8, "<Q", 4096),
        ("empty", 16, "<Q", 0), ("pgoff", 24, "<Q", 0), ("name", 32, "<B", 65)):
    add("kernel-map." + field_name, kernel_map(field_at, field_layout, field_value))
