# SPDX-License-Identifier: GPL-2.0-only
"""Tests records that no kernel writes: each test alters one record of a launched fixture that
passes."""

import copy
import struct
from typing import Any

from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import Recorded

KSYMBOL, BPF_EVENT = 17, 18
# Flags of an attr; KSYMBOLS requests both kinds of records above.
KSYMBOLS, DATA, INHERIT = 1 << 29 | 1 << 30, 1 << 17, 1 << 1


class Rules(Recorded):
    fixture = "mappings"

    def expect_bad(self, count: int, cause: str) -> None:
        self.expect_fail(self.match_count(count, "records.bad", cause))

    def find_record(self, kind: int) -> Any:
        return next(one for one in self.perf.records
                    if isinstance(one, rd.Side) and one.kind == kind and one.time)

    def add_to_tail(self, one: rd.Side, bit: int, by: int, part: int = 0) -> None:
        at = one.tail()[bit] + part
        old = struct.unpack_from("<I", one.body, at)[0]
        struct.pack_into("<I", one.body, at, old + by)

    def test_as_recorded(self) -> None:
        self.expect_pass()

    def test_record_that_no_event_requests(self) -> None:
        sample = self.perf.samples()[20]
        self.perf.insert(self.perf.side(KSYMBOL, bytes(24), sample.time))
        self.expect_bad(1, "not-asked")

    def test_record_without_content(self) -> None:
        for attr in self.perf.attrs:
            attr.flags |= KSYMBOLS
        time = self.perf.samples()[20].time
        right = {KSYMBOL: struct.pack("<QIHH8s", 2**64 - 2**30, 64, 1, 0, b"bpf_prog"),
                 BPF_EVENT: struct.pack("<HHI8s", 1, 0, 7, b"")}
        parts = {KSYMBOL: ((0, 8), (16, 8)), BPF_EVENT: ((0, 2), (4, 4))}
        for kind, body in right.items():
            record = self.perf.side(kind, body, time)
            self.perf.insert(record)
            self.assertNotIn("# records.bad", self.judge()[1])
            for at, size in parts[kind]:
                record.body[at:at + size] = bytes(size)
                self.expect_bad(1, "no-content")
                record.body[:len(body)] = body

    def test_mapping_of_the_sampling_event(self) -> None:
        one = self.find_record(rd.MMAP2)
        struct.pack_into("<Q", one.body, one.tail()[rd.IDENTIFIER], self.perf.attrs[0].ids[0])
        self.expect_bad(1, "not-asked")

    def test_mapping_of_data(self) -> None:
        """Only an event with mmap_data has records of non-executable mappings."""
        one = copy.deepcopy(self.find_record(rd.MMAP2))
        one.start, one.prot, one.misc = one.start ^ 1 << 45, rd.READ, rd.USER | 1 << 13
        one.time = self.perf.samples()[20].time
        self.perf.insert(one)
        self.expect_bad(1, "not-asked")
        self.perf.attrs[1].flags |= DATA
        self.assertNotIn("# records.bad", self.judge()[1])

    def test_no_event(self) -> None:
        """Each record of jitproof has an event's id, except those read from /proc."""
        for one in (self.perf.samples()[20], self.find_record(rd.MMAP2)):
            with self.subTest(kind=one.kind):
                right = copy.deepcopy(one)
                if isinstance(one, rd.Sample):
                    one.id = 0
                else:
                    struct.pack_into("<Q", one.body, one.tail()[rd.IDENTIFIER], 0)
                self.expect_bad(1, "no-event")
                one.__dict__.update(right.__dict__)

    def test_sideband_on_another_cpu(self) -> None:
        """All records of a per-CPU event state its CPU."""
        live = [one for one in self.perf.records if isinstance(one, rd.Side) and one.time and
                one.kind == rd.MMAP2]
        self.assertGreater(len(live), 4)
        self.add_to_tail(live[2], rd.CPU, 1 if self.read_cpu(live[2]) == 0 else -1)
        self.expect_bad(2, "other-cpu")

    def read_cpu(self, one: rd.Side) -> int:
        cpu: int = struct.unpack_from("<I", one.body, one.tail()[rd.CPU])[0]
        return cpu

    def test_reserved_bytes_after_the_cpu(self) -> None:
        self.add_to_tail(self.find_record(rd.MMAP2), rd.CPU, 1, 4)
        self.expect_bad(1, "other-reserved")

    def test_padding_of_a_name(self) -> None:
        one = next(one for one in self.perf.maps()
                   if one.time and one.pid and len(one.name) % 8 < 6)
        at = 64 + len(one.name) + 2
        one.body[at] = 1
        self.expect_bad(1, "other-padding")

    def test_bytes_behind_a_name(self) -> None:
        """Between a name and the sample_id there are only zeros."""
        for kind in (rd.MMAP2, rd.COMM):
            with self.subTest(kind=kind):
                one = self.find_record(kind)
                at = one.tail()[0]
                one.body[at:at] = bytes(8)
                self.expect_pass()
                one.body[at:at + 8] = b"leaked!\0"
                self.expect_bad(1, "other-padding")
                del one.body[at:at + 8]

    def test_mapping_of_another_mode(self) -> None:
        for mode in (0, 3, 5):
            one = self.find_record(rd.MMAP2)
            one.misc = one.misc & ~7 | mode
            self.expect_bad(1, "other-misc")

    def test_kernel_map(self) -> None:
        """A record of the kernel as jitproof reads it from /proc: pgoff repeats the address."""
        start, size = 2**64 - 2**31, 1 << 24
        body = struct.pack("<iIQQQ24s", -1, 0, start, size, start, b"[kernel.kallsyms]_text")
        one = self.perf.side(rd.MMAP, body, 1, rd.KERNEL, 2**32 - 1, 0)
        struct.pack_into("<Q", one.body, one.tail()[rd.CPU], 0)
        self.perf.records.insert(0, one)
        self.expect_pass()
        for at, layout, value in ((4, "I", 7), (8, "Q", start + 4096), (8, "Q", 4096),
                                  (16, "Q", 0), (24, "Q", 0), (32, "B", 65),
                                  (one.tail()[rd.TID], "I", 1)):
            with self.subTest(at=at, value=value):
                right = bytes(one.body)
                struct.pack_into("<" + layout, one.body, at, value)
                self.expect_bad(1, "other-kernel-map")
                one.body[:] = right

    def test_act_of_another_task(self) -> None:
        for kind in (rd.MMAP2, rd.COMM, rd.FORK):
            for part in (0, 4):
                self.add_to_tail(self.find_record(kind), rd.TID, 1, part)
                self.expect_bad(1, "other-task")
                self.add_to_tail(self.find_record(kind), rd.TID, -1, part)
        self.expect_pass()

    def test_event_on_another_cpu(self) -> None:
        sample = self.perf.samples()[20]
        sample.cpu ^= 1
        # The next sample of the event is on the first CPU again, which counts, too.
        self.expect_bad(2, "other-cpu")

    def test_sample_of_another_event(self) -> None:
        ids = [one.id for one in self.perf.samples()]
        wrong = next(one for one in self.perf.samples()[20:] if one.id == ids[0])
        wrong.id = next(one for one in ids if one != ids[0])
        self.expect_fail(self.match_count(1, "records.bad", "other-cpu"),
                         self.match_count(2, "records.bad", "other-event"))

    def test_build_id_of_another_profilers_request(self) -> None:
        one = next(one for one in self.perf.maps() if "/libz.so" in one.name)
        one.misc |= rd.BUILD_ID
        self.assertNotIn("records.bad: 1 with", self.judge()[1])

    def test_record_twice(self) -> None:
        one = self.find_record(rd.MMAP2)
        self.perf.records.insert(self.perf.records.index(one), copy.deepcopy(one))
        self.expect_bad(1, "twice")

    def test_sample_before_its_fork(self) -> None:
        fork = self.find_record(rd.FORK)
        tid = struct.unpack_from("<I", fork.body, 8)[0]
        first = next(one for one in self.perf.samples() if one.tid == tid)
        struct.pack_into("<Q", fork.body, 16, first.time + 1000)
        self.expect_fail(self.match_count(1, "records.bad", "before-fork"))

    def test_fork_that_ends_before_it_begins(self) -> None:
        fork = self.find_record(rd.FORK)
        struct.pack_into("<Q", fork.body, 16, fork.time - 1)
        self.expect_bad(1, "other-time")

    def test_dump_of_another_size(self) -> None:
        sample = self.perf.samples()[20]
        sample.asked += 64
        self.expect_bad(1, "dump-granted")
        sample.asked -= 128
        sample.stack = sample.stack[:sample.asked]
        self.expect_bad(1, "dump-granted")

    def test_dump_that_ends_within_a_page(self) -> None:
        sample = self.perf.samples()[20]
        del sample.stack[-8:]
        self.expect_bad(1, "dump-copied")
        end = (sample.regs[rd.X86_SP] + len(sample.stack)) % 4096
        del sample.stack[-end:]
        self.assertNotIn("dump-copied", self.judge()[1])

    def test_user_address_in_the_kernels_part(self) -> None:
        sample = self.perf.samples()[20]
        self.assertEqual(sample.misc & 7, rd.USER)
        sample.misc = sample.misc & ~7 | rd.KERNEL
        sample.ip = 0xffffffff81000010
        sample.chain[:0] = [rd.CONTEXT_KERNEL, sample.ip]
        whole = list(sample.chain)
        for sample.chain in whole, whole[:2]:  # a chain with a user part, then without one
            self.assertNotIn("other-kernel-chain", self.judge()[1])
        sample.chain = [*whole[:2], 0x1234, *whole[2:]]
        self.expect_fail(self.match_count(1, "modes.bad", "other-kernel-chain"))


class Breakpoints(Recorded):
    """Tests samples as hits of jitproof's breakpoints: one event per thread, CPU and address."""

    fixture = "mappings"

    def setUp(self) -> None:
        super().setUp()
        attr, samples = self.perf.attrs[0], self.perf.samples()
        struct.pack_into("<I", attr.raw, 0, 5)
        attr.flags &= ~INHERIT
        self.facts["breakpoints"] = "2000"  # more than instructions
        self.first, self.again = samples[20], samples[30]
        self.again.tid, self.again.cpu, self.again.ip = \
            self.first.tid, self.first.cpu, self.first.ip
        places: dict[tuple[int, int, int], int] = {}
        for one in samples:
            one.id = places.setdefault((one.tid, one.cpu, one.ip), 10**6 + len(places))
        attr.ids = [*places.values(), 2 * 10**6]

    def expect_bad(self, cause: str) -> None:
        """Judges and expects one exception, for the altered sample."""
        self.expect_fail(rf"(?m)^# records.bad: 1 with cause {cause}, which nothing allows$",
                         rf"(?m)^#   record of type 9 at {self.again.time} of ")

    def test_unaltered(self) -> None:
        self.assertNotIn("records.bad: 1", self.judge()[1])

    def test_on_another_cpu(self) -> None:
        self.again.cpu ^= 1
        self.expect_bad("other-cpu")

    def test_at_another_address(self) -> None:
        self.again.ip += 1
        self.expect_bad("other-address")

    def test_of_another_event(self) -> None:
        self.again.id = 2 * 10**6
        self.expect_bad("other-event")

    def test_of_another_profiler(self) -> None:
        """Events of another profiler may be of all CPUs and of several threads."""
        self.facts["breakpoints"] = "0"
        self.again.cpu ^= 1
        self.again.ip += 1
        self.assertNotIn("records.bad: 1", self.judge()[1])
