# SPDX-License-Identifier: GPL-2.0-only
"""Alterations of registers, dump and callchain of samples."""

import struct
from typing import Callable

from ci.tamper.case import Case, clone
from ci.tamper.kinds import Absent, add, require
from ci.tamper.samples import alter_samples
from harness.selftest.support import run_directory as rd

X86_IP, X86_SP = rd.X86_IP, rd.X86_SP


def add_to_register(number: int, by: int) -> Callable[[Case, rd.Sample], rd.Sample]:
    def change(case: Case, sample: rd.Sample) -> rd.Sample:
        require(number in sample.regs, "samples do not hold the register")
        made = clone(sample)
        made.regs[number] = (sample.regs[number] + by) % 2**64
        return made
    return change


add("sample.sp.+8", alter_samples(add_to_register(X86_SP, 8)))
add("sample.sp.-8", alter_samples(add_to_register(X86_SP, -8)))
add("sample.sp.+4096", alter_samples(add_to_register(X86_SP, 4096)))
add("sample.regs.ip.alone.+1", alter_samples(add_to_register(X86_IP, 1)))


def change_dump(change: Callable[[bytearray], bytearray]) -> Callable[[Case, rd.Sample], rd.Sample]:
    def alter_case(case: Case, sample: rd.Sample) -> rd.Sample:
        require(sample.stack, "samples hold no dump of the stack")
        return clone(sample, stack=change(sample.stack))
    return alter_case


add("sample.dump.cut.8", alter_samples(change_dump(lambda raw: raw[:8])))
add("sample.dump.zeroed", alter_samples(change_dump(lambda raw: bytearray(len(raw)))))
add("sample.dump.shifted.8", alter_samples(change_dump(lambda raw: raw[8:] + bytes(8))))


def change_user_chain(change: Callable[[list[int], rd.Sample], list[int]]) \
        -> Callable[[Case, rd.Sample], rd.Sample]:
    """Changes the user callchain. @change: returns the new one for the old one and the sample."""
    def alter_case(case: Case, sample: rd.Sample) -> rd.Sample:
        begin = sample.user()
        if begin is None:
            raise Absent("samples hold no user callchain")
        return clone(sample, chain=sample.chain[:begin] + change(sample.chain[begin:], sample))
    return alter_case


add("sample.chain.cut.1", alter_samples(change_user_chain(lambda user, one: user[:1])))
add("sample.chain.cut.0", alter_samples(change_user_chain(lambda user, one: [])))
add("sample.chain.cut.last", alter_samples(change_user_chain(lambda user, one: user[:-1])))
add("sample.chain.invented.0x1234", alter_samples(
    change_user_chain(lambda user, one: user[:1] + [0x1234] + user[1:])))
add("sample.chain.first.0x1234", alter_samples(
    change_user_chain(lambda user, one: [0x1234] + user[1:])))


def remove_chain(case: Case, sample: rd.Sample) -> rd.Sample:
    require(sample.chain, "samples hold no callchain")
    return clone(sample, chain=[])


add("sample.chain.gone", alter_samples(remove_chain))
add("sample.chain.gone.all", alter_samples(remove_chain, 1.0))


def set_word(sample: rd.Sample, at: int, value: int) -> bytearray:
    raw = bytearray(sample.stack)
    struct.pack_into("<Q", raw, at, value)
    return raw
