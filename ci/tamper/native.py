# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of samples outside of emitted code and of the kernel's part of samples, and field
values that no kernel writes. Judging can notice them without the truth."""

from functools import partial
import struct
from typing import Any, Callable

from ci.tamper.case import ALL_ONE, Case, Change, Target, change_field, clone, set_body_field
from ci.tamper.events import change_attr
from ci.tamper.frames import change_register
from ci.tamper.kinds import Absent, Unobservable, add, make_if, require
from harness.selftest.support import run_directory as rd

FLAGS, CS, SS = 9, 10, 11  # numbers of PERF_REG_X86_*
CONTEXT_GUEST = 2**64 - 2048
EXACT_IP, BUSY_BIT, DATA = 1 << 14, 1 << 12, 1 << 13
MAX_STACK, ATTR_FLAGS = 108, 40
EXCLUDE_CALLCHAIN_KERNEL = 1 << 21
RESERVED = 4  # offset of the reserved bytes from the CPU's number


def is_native_sample(case: Case, record: Any) -> bool:
    return isinstance(record, rd.Sample) and record.misc & 7 == rd.USER and \
        record.pid in case.watched_pids and not case.is_code(record.regs.get(rd.X86_IP, record.ip))


def is_kernel_sample(case: Case, record: Any) -> bool:
    return isinstance(record, rd.Sample) and record.misc & 7 == rd.KERNEL


def has_id_and_cpu(_: Case, record: Any) -> bool:
    return isinstance(record, rd.Sample) and bool(record.attr.sample_type & rd.IDENTIFIER) and \
        bool(record.attr.sample_type & rd.CPU)


def get_id(record: rd.Side) -> int:
    offset = record.tail().get(rd.IDENTIFIER)
    return 0 if offset is None else struct.unpack_from("<Q", record.body, offset)[0]


def is_live_map(case: Case, record: Any) -> bool:
    return isinstance(record,
                      rd.Map) and record.pid in case.watched_pids and bool(record.time) and \
        bool(record.prot & 4) and get_id(record) != 0


def is_live_side(_: Case, record: Any) -> bool:
    return isinstance(record, rd.Side) and bool(record.time) and get_id(record) != 0 and \
        not (record.kind == rd.MMAP and record.misc & 7 == rd.KERNEL)


def is_map_after_start(case: Case, record: Any) -> bool:
    return "first_enabled" in case.facts and is_live_map(case, record) and \
        record.time > int(case.facts["first_enabled"]) and "maps" in case.list_files() and \
        not case.read("maps") and not case.read("case").count(b" : gated ")


def is_padded(case: Case, record: Any) -> bool:
    """Returns whether a live record's name is followed by at least two bytes of padding."""
    return (is_live_map(case, record) or is_live_side(case, record)
            and record.kind == rd.COMM) and \
        len(get_name(record)) % 8 < 6


def get_name(record: rd.Side) -> bytes:
    return bytes(record.body[64 if record.kind == rd.MMAP2 else 8:record.tail()[0]]).split(b"\0")[0]


SAMPLE = Target(lambda _, record: isinstance(record, rd.Sample), "sample")
NATIVE = Target(is_native_sample, "sample outside of emitted code")
KERNEL = Target(is_kernel_sample, "sample in the kernel")
MAP = Target(is_live_map, "mapping record that was not read from /proc")
SIDE = Target(is_live_side, "sideband record that was not read from /proc")


def change_chain(change: Callable[[list[int]], list[int]]) -> Change:
    """Changes the user callchain of samples whose dump contains a frame."""
    def alter_sample(_: Case, sample: rd.Sample) -> rd.Sample:
        begin = sample.user()
        if begin is None or not sample.stack or len(sample.chain) - begin < 2 or \
                sample.word(sample.regs[rd.X86_BP] + 8) is None:
            return sample
        return clone(sample, chain=sample.chain[:begin] + change(sample.chain[begin:]))
    return alter_sample


def move_outside_mappings(_: Case, sample: rd.Sample) -> rd.Sample:
    moved = clone(sample, chain=[0x1234 if one == sample.ip else one for one in sample.chain])
    moved.ip = 0x1234
    if rd.X86_IP in moved.regs:
        moved.regs[rd.X86_IP] = 0x1234
    return moved


def set_misc(bits: int) -> Change:
    return lambda _, record: clone(record, misc=record.misc | bits)


def change_kernel_chain(value: int, entry: int) -> Change:
    """Replaces an entry of the kernel callchain by @value, or inserts it if it is a marker."""
    def alter_sample(_: Case, sample: rd.Sample) -> rd.Sample:
        end = (sample.user() or len(sample.chain) + 1) - 1
        if not sample.chain or end <= entry:
            return sample
        new = list(sample.chain)
        if value == CONTEXT_GUEST:
            new.insert(entry, value)
        else:
            new[entry] = value
        changed = clone(sample, chain=new)
        if entry == 1:
            changed.ip = value
        return changed
    return alter_sample


def set_sample_field(find_offset: Callable[[rd.Sample], int], layout: str, value: int) -> Change:
    """Sets bytes of a sample. @at: returns their offset."""
    def change(_: Case, sample: rd.Sample) -> rd.Sample:
        changed, raw = clone(sample), bytearray(sample.pack())
        struct.pack_into("<" + layout, raw, find_offset(sample), value)
        object.__setattr__(changed, "pack", lambda: bytes(raw))
        return changed
    return change


def find_reserved(sample: rd.Sample) -> int:
    bits = rd.IDENTIFIER | rd.IP | rd.TID | rd.TIME | rd.ADDR | rd.ID | rd.STREAM_ID
    return 8 + 8 * (sample.attr.sample_type & bits).bit_count() + RESERVED


def set_tail_field(bit: int, layout: str, value: int, behind: int = 0) -> Change:
    """Sets a number of sample_id, @behind bytes after the field @bit."""
    def change(_: Case, record: rd.Side) -> rd.Side:
        require(bit in record.tail(), "records do not hold the field")
        return set_body_field(record, record.tail()[bit] + behind, layout, value)
    return change


def change_cpu(case: Case, record: rd.Side) -> rd.Side:
    """Changes the CPU of a record whose event wrote other records on the same CPU."""
    if rd.CPU not in record.tail() or rd.IDENTIFIER not in record.tail():
        raise Absent("records hold no CPU number, or no event id")
    if not any(two is not record and is_live_side(case, two) and get_id(two) == get_id(record)
               for two in case.capture("perf.data").records):
        raise Unobservable("the record's event wrote no other record")
    offset = record.tail()[rd.CPU]
    return set_body_field(record, offset, "I", struct.unpack_from("<I", record.body, offset)[0] ^ 1)


def set_padding(_: Case, record: rd.Side) -> rd.Side:
    offset = 64 if record.kind == rd.MMAP2 else 8
    return set_body_field(record, offset + len(get_name(record)) + 1, "B", 0x78)


NATIVE.add(ALL_ONE, {
    "native.chain.cut.1": change_chain(lambda user: user[:1]),
    "native.chain.caller.0x1234": change_chain(lambda user: [user[0], 0x1234, *user[2:]]),
    "native.ip.0x1234": move_outside_mappings,
})
for register_name, register_number, values in (
        ("cs", CS, (0x10, 0, 0x23)), ("ss", SS, (0x18,)), ("flags", FLAGS, (0, 0x2, 2**64 - 1))):
    SAMPLE.add(ALL_ONE, {"regs.%s.%x" % (register_name, value): change_register(
        register_number, partial(lambda new, old: new, value)) for value in values})
SAMPLE.add(ALL_ONE, {
    "sample.misc.exact-ip": set_misc(EXACT_IP),
    "sample.misc.bit-3": set_misc(1 << 3),
    "sample.misc.bit-12": set_misc(BUSY_BIT),
})
for address_name, address in (("direct-map", 0xffff888000001000), ("hole", 0x8000000012345678)):
    KERNEL.add(ALL_ONE, {"kernel.ip." + address_name: change_kernel_chain(address, 1),
                         "kernel.caller." + address_name: change_kernel_chain(address, 2)})
KERNEL.add(ALL_ONE, {"kernel.marker.guest": change_kernel_chain(CONTEXT_GUEST, 2)})
MAP.add(ALL_ONE, {
    "map.flags.none": lambda _, record: set_body_field(record, 60, "I", 0),
    "map.flags.both": lambda _, record: set_body_field(record, 60, "I", 3),
    "map.flags.bit-31": lambda _, record: set_body_field(record, 60, "I", 1 << 31 | 2),
    "map.prot.bit-3": lambda _, record: set_body_field(record, 56, "I", record.prot | 8),
    "map.misc.data": set_misc(DATA),
    "map.misc.bit-12": set_misc(BUSY_BIT),
})
SIDE.add(ALL_ONE, {
    "side.cpu.4095": set_tail_field(rd.CPU, "I", 4095),
    "side.id.0": set_tail_field(rd.IDENTIFIER, "Q", 0),
    "side.reserved": set_tail_field(rd.CPU, "I", 1, RESERVED),
})
for task_name, number in (("comm", rd.COMM), ("fork", rd.FORK), ("exit", rd.EXIT)):
    Target(partial(lambda kind, case, record: is_live_side(case, record) and record.kind == kind,
                   number),
           SIDE.what).add(ALL_ONE, {task_name + ".misc.bit-12": set_misc(BUSY_BIT)})
add("attr.max-stack.2", make_if(
    lambda case: any(len(record.chain) > 4 for record in case.capture("perf.data").samples()),
    "no sample depends on the setting", change_attr(change_field(MAX_STACK, "H", lambda old: 2))))
add("attr.no-kernel-chain", make_if(
    lambda case: any(is_kernel_sample(case, record) for record
                     in case.capture("perf.data").samples()),
    "no sample depends on the setting",
    change_attr(change_field(ATTR_FLAGS, "Q", lambda old: old | EXCLUDE_CALLCHAIN_KERNEL))))
Target(has_id_and_cpu, "sample with an event id").add(ALL_ONE, {
    "sample.id.0": set_sample_field(lambda record: 8, "Q", 0)})
Target(has_id_and_cpu, "sample with a CPU number").add(ALL_ONE, {
    "sample.reserved": set_sample_field(find_reserved, "I", 1)})
Target(is_map_after_start, SIDE.what).add(ALL_ONE, {"side.cpu.other": change_cpu})
Target(is_live_map, SIDE.what).add(ALL_ONE, {
    "map.mode." + mode_name: partial(lambda mode, _, record: clone(
        record, misc=record.misc & ~7 | mode), mode)
    for mode_name, mode in (("unknown", 0), ("hypervisor", 3), ("guest-user", 5))})
Target(is_padded, SIDE.what).add(ALL_ONE, {"side.name.padding": set_padding})
