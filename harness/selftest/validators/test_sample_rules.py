# SPDX-License-Identifier: GPL-2.0-only
"""Tests samples that no kernel takes, which validators find without the truth: each test alters one
sample or record of a fixture that passes."""

import struct
from typing import Any

from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import WATCHED_SINCE_CPUS, Recorded

FLAGS, CS, SS = 9, 10, 11  # numbers of PERF_REG_X86_*
GUEST = 2**64 - 2048
MAX_STACK, ATTR_FLAGS = 108, 40
NO_KERNEL_CHAIN = 1 << 21
DATA_MAP = 0xffff888000001000  # the kernel's map of all memory, without code
FIRMWARE = 0xffffffef00000000  # the lowest address of firmware code


class Rules(Recorded):
    """jitproof's own capture, attached to a process with two threads."""

    fixture = "clock"

    def find_native_sample(self) -> Any:
        """Returns a sample in user mode whose dump holds its first return address."""
        return next(one for one in self.perf.samples() if one.misc & 7 == rd.USER and
                    len(one.chain) > one.user() + 3 and
                    one.word(one.regs[rd.X86_BP] + 8) == one.chain[one.user() + 1])

    def find_kernel_sample(self) -> Any:
        return next(one for one in self.perf.samples() if one.misc & 7 == rd.KERNEL and
                    len(one.chain) > 4)

    def check_found(self, metric: str, cause: str, count: int = 1) -> None:
        self.assertRegex(self.judge()[1], self.match_count(count, metric, cause))

    def check_none(self, metric: str) -> None:
        self.assertNotIn("# %s: " % metric, self.judge()[1])

    def test_segments_and_flags(self) -> None:
        regs = self.find_native_sample().regs
        for number, values in ((CS, (0x10, 0, 0x23)), (SS, (0x18,)), (FLAGS, (0, 2, 2**64 - 1))):
            old = regs[number]
            for value in values:
                regs[number] = value
                self.expect_fail(self.match_count(1, "modes.bad", "kernel-registers"))
            regs[number] = old
        regs[CS], regs[SS] = 0xe033, 0xe02b  # Xen's
        regs[FLAGS] = regs[FLAGS] & ~2 | 0xd5  # as the kernel sets them for an exec
        self.expect_pass()

    def test_kernel_addresses(self) -> None:
        sample = self.find_kernel_sample()
        ip, chain = sample.ip, list(sample.chain)
        for address in (DATA_MAP, 2**63, FIRMWARE - 1):
            sample.chain[2] = address
            self.check_found("modes.bad", "other-kernel-chain")
            sample.chain = [chain[0], address, *chain[2:]]
            sample.ip = address
            self.check_found("modes.bad", "user-address")
            sample.ip, sample.chain = ip, list(chain)
        sample.chain[2] = FIRMWARE
        self.check_none("modes.bad")
        sample.chain[2] = chain[2]
        sample.chain.insert(2, GUEST)
        self.check_found("modes.bad", "other-part")

    def test_more_than_requested(self) -> None:
        attr = self.perf.attrs[0]
        kernels = sum(one.misc & 7 == rd.KERNEL for one in self.perf.samples())
        flags, = struct.unpack_from("<Q", attr.raw, ATTR_FLAGS)
        struct.pack_into("<Q", attr.raw, ATTR_FLAGS, flags | NO_KERNEL_CHAIN)
        self.check_found("modes.bad", "other-part", kernels)
        struct.pack_into("<Q", attr.raw, ATTR_FLAGS, flags)
        most = max(len(one.chain) for one in self.perf.samples()) - 1
        struct.pack_into("<H", attr.raw, MAX_STACK, most)
        self.check_none("modes.bad")
        struct.pack_into("<H", attr.raw, MAX_STACK, most - 2)
        self.assertIn(" with cause other-part", self.judge()[1])

    def test_chain_that_contradicts_the_dump(self) -> None:
        sample = self.find_native_sample()
        begin, chain = sample.user(), list(sample.chain)
        for changed in (chain[:begin + 1], [*chain[:begin + 1], 0x1234, *chain[begin + 2:]],
                        chain[:begin], []):
            sample.chain = changed
            self.assertNotEqual(self.judge()[0], 0)
        sample.chain = chain[:begin + 1]
        self.check_found("chain.dump", "other-caller")
        # The chain has as many frames as the limit allows.
        self.facts["max_stack"] = str(len(sample.chain) - 1)
        self.check_none("chain.dump")
        self.facts["max_stack"] = "127"
        sample.chain, old = chain, bytes(sample.stack)
        sample.stack = bytearray(len(old))
        self.check_found("chain.dump", "other-caller")
        # The dump ends before the first frame, so nothing contradicts the chain.
        sample.stack = bytearray(old[:8])
        self.check_none("chain.dump")

    def test_short_chain_of_a_sample_in_the_kernel(self) -> None:
        sample = self.find_kernel_sample()
        sample.chain = sample.chain[:sample.user() + 1]
        self.check_none("chain.dump")

    def test_address_in_no_mapping(self) -> None:
        sample = self.find_native_sample()
        sample.chain = [0x1234 if one == sample.ip else one for one in sample.chain]
        sample.ip = sample.regs[rd.X86_IP] = 0x1234
        self.check_found("samples.nowhere", "not-executable")

    def test_samples_outside_of_the_kernel_map(self) -> None:
        record = next(one for one in self.perf.records if isinstance(one, rd.Side) and
                      one.kind == rd.MMAP and one.misc & 7 == rd.KERNEL)
        inside = self.perf.samples()[:8]
        for one in inside:
            one.misc = one.misc & ~7 | rd.KERNEL
            one.ip = struct.unpack_from("<Q", record.body, 8)[0] + 0x1000
        self.assertNotIn("kernel.elsewhere is", self.judge()[1])
        begin, = struct.unpack_from("<Q", record.body, 8)
        struct.pack_into("<Q", record.body, 8, begin - (1 << 30))
        self.assertIn("kernel.elsewhere is", self.judge()[1])

    def test_sample_while_events_are_off(self) -> None:
        """jitproof states when the first event was enabled, the runner when the last was off."""
        sample = self.perf.samples()[0]
        first, silent = int(self.facts["first_enabled"]), int(self.facts["stopped"]) + 500
        self.put_text("watched", self.read_text("watched") + WATCHED_SINCE_CPUS +
                      "silent %d\n" % silent)
        for time in (first, silent):
            sample.time = time
            self.perf.sort()
            self.assertNotIn("before the capture began", self.judge()[1])
        for time in (first - 1, silent + 1):
            sample.time = time
            self.perf.sort()
            self.assertIn("1 of %d samples are of before the capture began, or of after it ended" %
                          len(self.perf.samples()), self.judge()[1])


class Records(Recorded):
    """A launched run: the kernel wrote each record live."""

    fixture = "mappings"

    def find_record(self, kind: int) -> Any:
        return next(one for one in self.perf.records if isinstance(one, rd.Side) and
                    one.kind == kind and one.time and one.misc & 7 != rd.KERNEL)

    def expect_bad(self, cause: str) -> None:
        self.assertRegex(self.judge()[1], self.match_count(1, "records.bad", cause))

    def test_bits_of_headers(self) -> None:
        for one in (*map(self.find_record, (rd.MMAP2, rd.COMM, rd.FORK)), self.perf.samples()[3]):
            old = one.misc
            for bit in (1 << 3, 1 << 12):
                one.misc = old | bit
                self.expect_bad("other-misc")
            one.misc = old
        self.perf.samples()[3].misc |= 1 << 14
        self.expect_bad("other-misc")

    def test_executable_mapping_marked_as_data(self) -> None:
        self.find_record(rd.MMAP2).misc |= 1 << 13
        self.expect_bad("other-misc")

    def test_flags_and_protection(self) -> None:
        one = self.find_record(rd.MMAP2)
        flags, = struct.unpack_from("<I", one.body, 60)
        for value in (0, 3, 2 | 1 << 31, 2 | 0x20):
            struct.pack_into("<I", one.body, 60, value)
            self.expect_bad("other-flags")
        struct.pack_into("<I", one.body, 60, 2 | 0x2000 | 0x40000)
        self.assertNotIn("# records.bad", self.judge()[1])
        struct.pack_into("<I", one.body, 60, flags)
        struct.pack_into("<I", one.body, 56, one.prot | 8)
        self.expect_bad("other-protection")

    def test_mapping_of_the_old_kind(self) -> None:
        """An event that requests MMAP2 gets no MMAP."""
        one = self.find_record(rd.MMAP2)
        time = one.time
        name = one.name.encode() + bytes(8 - len(one.name) % 8)
        self.perf.insert(self.perf.side(
            rd.MMAP, struct.pack("<IIQQQ", one.pid, one.pid, one.start, one.size, 0) + name, time))
        self.expect_bad("not-asked")

    def test_sample_of_a_thread_that_ended(self) -> None:
        last = self.perf.samples()[-1]
        self.assertNotEqual(last.pid, last.tid)
        exit_record = self.perf.side(rd.EXIT, struct.pack(
            "<4IQ", last.pid, 1, last.tid, 1, last.time - 1), last.time - 1)
        body = exit_record.tail()[rd.TID]
        struct.pack_into("<II", exit_record.body, body, last.pid, last.tid)
        self.perf.insert(exit_record)
        self.expect_bad("after-exit")
