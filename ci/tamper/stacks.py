# SPDX-License-Identifier: GPL-2.0-only
"""What a sample holds of its stack: registers, dump, callchain."""

import struct
from typing import Callable

from ci.tamper.case import Case, clone
from ci.tamper.kinds import Absent, add
from ci.tamper.samples import SHARE, of_code
from harness.selftest.support import run_directory as rd

X86_BP, X86_IP, X86_SP = rd.X86_BP, rd.X86_IP, rd.X86_SP


def register(number: int, by: int) -> Callable[[Case, rd.Sample], rd.Sample]:
    def change(case: Case, sample: rd.Sample) -> rd.Sample:
        if number not in sample.regs:
            raise Absent("samples do not hold the register")
        made = clone(sample)
        made.regs[number] = (sample.regs[number] + by) % 2**64
        return made
    return change


add("sample.sp.+8", of_code(register(X86_SP, 8)))
add("sample.sp.-8", of_code(register(X86_SP, -8)))
add("sample.sp.+4096", of_code(register(X86_SP, 4096)))
add("sample.sp.zero", of_code(lambda case, one: register(
    X86_SP, -one.regs.get(X86_SP, 0))(case, one)))
add("sample.bp.+16", of_code(register(X86_BP, 16)))
add("sample.regs.ip.alone.+1", of_code(register(X86_IP, 1)))


def dump(change: Callable[[bytearray], bytearray]) -> Callable[[Case, rd.Sample], rd.Sample]:
    def altered(case: Case, sample: rd.Sample) -> rd.Sample:
        if not sample.stack:
            raise Absent("samples hold no dump of the stack")
        return clone(sample, stack=change(sample.stack))
    return altered


add("sample.dump.cut.64", of_code(dump(lambda raw: raw[:64])))
add("sample.dump.cut.8", of_code(dump(lambda raw: raw[:8])))
add("sample.dump.cut.0", of_code(dump(lambda raw: bytearray())))
add("sample.dump.zeroed", of_code(dump(lambda raw: bytearray(len(raw)))))
add("sample.dump.ones", of_code(dump(lambda raw: bytearray(b"\xff" * len(raw)))))
add("sample.dump.shifted.8", of_code(dump(lambda raw: raw[8:] + bytes(8))))
add("sample.dump.shifted.-8", of_code(dump(lambda raw: bytearray(8) + raw[:-8])))


def user_chain(change: Callable[[list[int], rd.Sample], list[int]]) \
        -> Callable[[Case, rd.Sample], rd.Sample]:
    """@change(the user's part) -> the new one"""
    def altered(case: Case, sample: rd.Sample) -> rd.Sample:
        begin = sample.user()
        if begin is None:
            raise Absent("samples hold no user callchain")
        return clone(sample, chain=sample.chain[:begin] + change(sample.chain[begin:], sample))
    return altered


def swapped(user: list[int]) -> list[int]:
    if len(user) < 3 or user[1] == user[2]:
        return user
    return [user[0], user[2], user[1], *user[3:]]


add("sample.chain.cut.1", of_code(user_chain(lambda user, one: user[:1])))
add("sample.chain.cut.0", of_code(user_chain(lambda user, one: [])))
add("sample.chain.cut.last", of_code(user_chain(lambda user, one: user[:-1])))
add("sample.chain.invented.0x1234", of_code(
    user_chain(lambda user, one: user[:1] + [0x1234] + user[1:])))
add("sample.chain.invented.code", of_code(
    user_chain(lambda user, one: user[:1] + [one.ip] + user[1:])))
add("sample.chain.invented.end", of_code(user_chain(lambda user, one: user + [0x1234])))
add("sample.chain.swapped", of_code(user_chain(lambda user, one: swapped(user))))
add("sample.chain.first.0x1234", of_code(user_chain(lambda user, one: [0x1234] + user[1:])))
add("sample.chain.first.gone", of_code(user_chain(lambda user, one: user[1:])))


def markerless(case: Case, sample: rd.Sample) -> rd.Sample:
    if not sample.chain:
        raise Absent("samples hold no callchain")
    return clone(sample, chain=[one for one in sample.chain if one < rd.CONTEXT_MAX])


def marked(case: Case, sample: rd.Sample) -> rd.Sample:
    if rd.CONTEXT_USER not in sample.chain:
        raise Absent("samples hold no user callchain")
    return clone(sample, chain=[rd.CONTEXT_KERNEL if one == rd.CONTEXT_USER else one
                                for one in sample.chain])


def chainless(case: Case, sample: rd.Sample) -> rd.Sample:
    if not sample.chain:
        raise Absent("samples hold no callchain")
    return clone(sample, chain=[])


add("sample.chain.markers.gone", of_code(markerless))
add("sample.chain.markers.kernel", of_code(marked))
add("sample.chain.gone", of_code(chainless))
add("sample.chain.gone.all", of_code(chainless, 1.0))


def word(sample: rd.Sample, at: int, value: int) -> bytearray:
    raw = bytearray(sample.stack)
    struct.pack_into("<Q", raw, at, value)
    return raw


def returns(case: Case, sample: rd.Sample) -> rd.Sample:
    """The words of the dump that lead into emitted code, each one byte on."""
    if not sample.stack:
        raise Absent("samples hold no dump of the stack")
    made = clone(sample)
    for at in range(0, len(sample.stack) - 7, 8):
        value = struct.unpack_from("<Q", sample.stack, at)[0]
        if case.is_code(value):
            made.stack = word(made, at, value + 1)
    return made


add("sample.dump.returns.+1", of_code(returns, SHARE))
