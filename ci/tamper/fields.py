# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of fields whose values are known for all records: ids, reserved bytes after the CPU,
and padding of names."""

import struct
from typing import Any, Callable

from ci.tamper.case import Case, clone, set_body_field
from ci.tamper.kinds import Absent, Unobservable, require
from ci.tamper.native import SIDE, add_shares, is_live_map, is_live_side
from harness.selftest.support import run_directory as rd

RESERVED = 4  # offset of the reserved bytes from the CPU's number


def set_reserved(_: Case, one: rd.Side) -> rd.Side:
    require(rd.CPU in one.tail(), "records hold no CPU")
    return set_body_field(one, one.tail()[rd.CPU] + RESERVED, "I", 1)


def set_sample_field(at: Callable[[rd.Sample], int], layout: str, value: int) \
        -> Callable[[Case, Any], Any]:
    """Sets bytes of a sample. @at: returns their offset."""
    def change(_: Case, one: rd.Sample) -> rd.Sample:
        made, raw = clone(one), bytearray(one.pack())
        struct.pack_into("<" + layout, raw, at(one), value)
        object.__setattr__(made, "pack", lambda: bytes(raw))
        return made
    return change


def has_id_and_cpu(_: Case, one: Any) -> bool:
    return isinstance(one, rd.Sample) and bool(one.attr.sample_type & rd.IDENTIFIER) and \
        bool(one.attr.sample_type & rd.CPU)


def find_reserved(one: rd.Sample) -> int:
    bits = rd.IDENTIFIER | rd.IP | rd.TID | rd.TIME | rd.ADDR | rd.ID | rd.STREAM_ID
    return 8 + 8 * (one.attr.sample_type & bits).bit_count() + RESERVED


add_shares("sample.id.0", has_id_and_cpu, set_sample_field(lambda one: 8, "Q", 0),
           "sample with an id")
add_shares("sample.reserved", has_id_and_cpu, set_sample_field(find_reserved, "I", 1),
           "sample with a CPU")
add_shares("side.reserved", is_live_side, set_reserved, SIDE)


def change_cpu(case: Case, one: rd.Side) -> rd.Side:
    """Changes the CPU of a record whose event wrote other records on the same CPU."""
    if rd.CPU not in one.tail() or rd.IDENTIFIER not in one.tail():
        raise Absent("records hold no CPU, or no id")
    at, place = one.tail()[rd.CPU], one.tail()[rd.IDENTIFIER]
    mine = one.body[place:place + 8]
    if not any(two is not one and is_live_side(case, two) and
               two.body[two.tail()[rd.IDENTIFIER]:][:8] == mine
               for two in case.capture("perf.data").records):
        raise Unobservable("its event wrote no other record")
    return set_body_field(one, at, "I", struct.unpack_from("<I", one.body, at)[0] ^ 1)


def is_map_after_start(case: Case, one: Any) -> bool:
    return "first_enabled" in case.facts and is_live_map(case, one) and \
        one.time > int(case.facts["first_enabled"]) and "maps" in case.list_files() and \
        not case.read("maps") and not case.read("case").count(b" : gated ")


add_shares("side.cpu.other", is_map_after_start, change_cpu, SIDE)


def set_mode(number: int) -> Callable[[Case, Any], Any]:
    return lambda case, one: clone(one, misc=one.misc & ~7 | number)


for mode_name, mode_number in (("unknown", 0), ("hypervisor", 3), ("guest-user", 5)):
    add_shares("map.mode." + mode_name, is_live_map, set_mode(mode_number), SIDE)


def is_padded(case: Case, one: Any) -> bool:
    """Returns whether a live record's name is followed by at least two bytes of padding."""
    return (is_live_map(case, one) or is_live_side(case, one) and one.kind == rd.COMM) and \
        len(get_name(one)) % 8 < 6


def get_name(one: rd.Side) -> bytes:
    return bytes(one.body[64 if one.kind == rd.MMAP2 else 8:one.tail()[0]]).split(b"\0")[0]


def set_padding(_: Case, one: rd.Side) -> rd.Side:
    at = 64 if one.kind == rd.MMAP2 else 8
    return set_body_field(one, at + len(get_name(one)) + 1, "B", 0x78)


add_shares("side.name.padding", is_padded, set_padding, SIDE)
