# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of samples outside of emitted code and of the kernel's part of samples, and field
values that no kernel writes. Judging can notice them without the truth."""

from functools import partial
import struct
from typing import Any, Callable

from ci.tamper.case import Case, change_field, clone, set_body_field
from ci.tamper.events import change_attr
from ci.tamper.kinds import add, make_if, require
from harness.selftest.support import run_directory as rd

FLAGS, CS, SS = 9, 10, 11  # numbers of PERF_REG_X86_*
CONTEXT_GUEST = 2**64 - 2048
EXACT_IP, BUSY_BIT, DATA = 1 << 14, 1 << 12, 1 << 13
MAX_STACK, ATTR_FLAGS = 108, 40
EXCLUDE_CALLCHAIN_KERNEL = 1 << 21
Change = Callable[[Case, Any], Any]


def is_native_sample(case: Case, one: Any) -> bool:
    """Returns whether a sample is in user space, outside of emitted code, in a watched process."""
    return isinstance(one, rd.Sample) and one.misc & 7 == rd.USER and one.pid in case.watched and \
        not case.is_code(one.regs.get(rd.X86_IP, one.ip))


def is_kernel_sample(case: Case, one: Any) -> bool:
    return isinstance(one, rd.Sample) and one.misc & 7 == rd.KERNEL


def add_shares(name: str, where: Callable[[Case, Any], bool], change: Change, what: str) -> None:
    for share_name, share in (("all", 1.0), ("one", 0.0)):
        add("%s.%s" % (name, share_name), partial(
            lambda part, case: case.alter_records(lambda one: where(case, one),
                                                  lambda one: change(case, one), part, what),
            share))


def change_chain(change: Callable[[rd.Sample, list[int]], list[int]]) -> Change:
    """Changes the user callchain of samples whose dump contains a frame. @change: returns the new
    chain for a sample and its user callchain."""
    def alter_sample(_: Case, sample: rd.Sample) -> rd.Sample:
        begin = sample.user()
        if begin is None or not sample.stack or len(sample.chain) - begin < 2 or \
                sample.word(sample.regs[rd.X86_BP] + 8) is None:
            return sample
        return clone(sample, chain=sample.chain[:begin] + change(sample, sample.chain[begin:]))
    return alter_sample


NATIVE = "sample outside of emitted code"
add_shares("native.chain.cut.1", is_native_sample, change_chain(lambda one, user: user[:1]), NATIVE)
add_shares("native.chain.caller.0x1234", is_native_sample, change_chain(
    lambda one, user: [user[0], 0x1234, *user[2:]]), NATIVE)


def move_outside_mappings(_: Case, sample: rd.Sample) -> rd.Sample:
    made = clone(sample, chain=[0x1234 if one == sample.ip else one for one in sample.chain])
    made.ip = 0x1234
    if rd.X86_IP in made.regs:
        made.regs[rd.X86_IP] = 0x1234
    return made


add_shares("native.ip.0x1234", is_native_sample, move_outside_mappings, NATIVE)


def set_register(number: int, value: int) -> Change:
    def change(_: Case, sample: rd.Sample) -> rd.Sample:
        require(number in sample.regs, "samples do not hold the register")
        made = clone(sample)
        made.regs[number] = value
        return made
    return change


def is_sample(_: Case, one: Any) -> bool:
    return isinstance(one, rd.Sample)


for register_name, register_number, values in (
        ("cs", CS, (0x10, 0, 0x23)), ("ss", SS, (0x18,)), ("flags", FLAGS, (0, 0x2, 2**64 - 1))):
    for register_value in values:
        add_shares("regs.%s.%x" % (register_name, register_value), is_sample,
                   set_register(register_number, register_value), "sample")

for misc_name, bit in (("exact-ip", EXACT_IP), ("bit-3", 1 << 3), ("bit-12", BUSY_BIT)):
    add_shares("sample.misc." + misc_name, is_sample,
               partial(lambda new, case, one: clone(one, misc=one.misc | new), bit), "sample")


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
        made = clone(sample, chain=new)
        if entry == 1:
            made.ip = value
        return made
    return alter_sample


KERNEL = "sample in the kernel"
for address_name, address in (("direct-map", 0xffff888000001000), ("hole", 0x8000000012345678)):
    add_shares("kernel.ip." + address_name, is_kernel_sample, change_kernel_chain(address, 1),
               KERNEL)
    add_shares("kernel.caller." + address_name, is_kernel_sample, change_kernel_chain(address, 2),
               KERNEL)
add_shares("kernel.marker.guest", is_kernel_sample, change_kernel_chain(CONTEXT_GUEST, 2), KERNEL)


def is_live_map(case: Case, one: Any) -> bool:
    return isinstance(one, rd.Map) and one.pid in case.watched and bool(one.time) and \
        bool(one.prot & 4) and get_id(one) != 0


def get_id(one: rd.Side) -> int:
    at = one.tail().get(rd.IDENTIFIER)
    return 0 if at is None else struct.unpack_from("<Q", one.body, at)[0]


MAP = "live record of a mapping"
for flags_name, flags in (("none", 0), ("both", 3), ("bit-31", 1 << 31 | 2)):
    add_shares("map.flags." + flags_name, is_live_map,
               partial(lambda new, case, one: set_body_field(one, 60, "I", new), flags), MAP)
add_shares("map.prot.bit-3", is_live_map, lambda case, one: set_body_field(
    one, 56, "I", one.prot | 8), MAP)
add_shares("map.misc.data", is_live_map, lambda case, one: clone(one, misc=one.misc | DATA), MAP)
add_shares("map.misc.bit-12", is_live_map, lambda case, one: clone(one, misc=one.misc | BUSY_BIT),
           MAP)


def is_live_side(case: Case, one: Any) -> bool:
    return isinstance(one, rd.Side) and bool(one.time) and get_id(one) != 0 and \
        not (one.kind == rd.MMAP and one.misc & 7 == rd.KERNEL)


def match_type(number: int) -> Callable[[Case, Any], bool]:
    return lambda case, one: is_live_side(case, one) and one.kind == number


def set_tail_field(bit: int, value: int) -> Callable[[Case, rd.Side], rd.Side]:
    def change(_: Case, one: rd.Side) -> rd.Side:
        require(bit in one.tail(), "records do not hold the field")
        return set_body_field(one, one.tail()[bit], "I" if bit == rd.CPU else "Q", value)
    return change


SIDE = "live record of sideband"
add_shares("side.cpu.4095", is_live_side, set_tail_field(rd.CPU, 4095), SIDE)
add_shares("side.id.0", is_live_side, set_tail_field(rd.IDENTIFIER, 0), SIDE)
for task_name, number in (("comm", rd.COMM), ("fork", rd.FORK), ("exit", rd.EXIT)):
    add_shares("%s.misc.bit-12" % task_name, match_type(number),
               lambda case, one: clone(one, misc=one.misc | BUSY_BIT), SIDE)


add("attr.max-stack.2", make_if(
    lambda case: any(len(one.chain) > 4 for one in case.capture("perf.data").samples()),
    "no sample needs it", change_attr(change_field(MAX_STACK, "H", lambda old: 2))))
add("attr.no-kernel-chain", make_if(
    lambda case: any(is_kernel_sample(case, one) for one in case.capture("perf.data").samples()),
    "no sample needs it",
    change_attr(change_field(ATTR_FLAGS, "Q", lambda old: old | EXCLUDE_CALLCHAIN_KERNEL))))
