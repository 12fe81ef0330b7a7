# SPDX-License-Identifier: GPL-2.0-only
"""Tests records that no kernel writes: each test alters one record of a launched fixture that
passes."""

import copy
import re
import struct
from typing import Any

from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import Recorded

KSYMBOL, BPF_EVENT = 17, 18
# Flags of an attr; KSYMBOLS requests both kinds of records above.
KSYMBOLS, DATA, INHERIT = 1 << 29 | 1 << 30, 1 << 17, 1 << 1
ENABLE_ON_EXEC = 1 << 12


class Rules(Recorded):
    fixture = "mappings"

    def expect_bad(self, count: int, cause: str) -> None:
        self.expect_fail(self.match_count(count, "records.bad", cause))

    def find_record(self, kind: int) -> Any:
        return next(record for record in self.perf.records
                    if isinstance(record, rd.Side) and record.kind == kind and record.time)

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
            for offset, size in parts[kind]:
                record.body[offset:offset + size] = bytes(size)
                self.expect_bad(1, "no-content")
                record.body[:len(body)] = body

    def test_mapping_of_data(self) -> None:
        """Only an event with mmap_data has records of non-executable mappings."""
        one = copy.deepcopy(self.find_record(rd.MMAP2))
        one.start, one.prot, one.misc = one.start ^ 1 << 45, rd.READ, rd.USER | 1 << 13
        one.time = self.perf.samples()[20].time
        self.perf.insert(one)
        self.expect_bad(1, "not-asked")
        self.perf.attrs[1].flags |= DATA
        self.assertNotIn("# records.bad", self.judge()[1])

    def test_thread_named_by_another(self) -> None:
        """A thread of another program may name a thread of the same process."""
        name = struct.pack("<II8s", 4000001, 4000002, b"worker")
        self.perf.insert(self.perf.side(rd.COMM, name, self.perf.samples()[20].time,
                                        pid=4000001, tid=4000001))
        self.assertNotIn("# records.bad", self.judge()[1])
        self.perf.insert(self.perf.side(rd.COMM, name, self.perf.samples()[21].time,
                                        pid=4000003, tid=4000002))
        self.expect_bad(1, "other-task")
        ours = self.find_record(rd.COMM)
        struct.pack_into("<I", ours.body, ours.tail()[rd.TID] + 4, 1)
        self.expect_bad(2, "other-task")

    def test_bytes_behind_a_name(self) -> None:
        """Between a name and the sample_id there are only zeros."""
        for kind in (rd.MMAP2, rd.COMM):
            with self.subTest(kind=kind):
                one = self.find_record(kind)
                offset = one.tail()[0]
                one.body[offset:offset] = bytes(8)
                self.expect_pass()
                one.body[offset:offset + 8] = b"leaked!\0"
                self.expect_bad(1, "other-padding")
                del one.body[offset:offset + 8]

    def test_ids_of_one_cpu(self) -> None:
        """An event has one CPU, and the capture opened one there for each thread that it knew."""
        samples = self.perf.samples()
        cpus = {one.cpu for one in samples}
        self.perf.records = [one for one in self.perf.records if one not in samples[10:]]
        for one in samples[:10]:
            one.cpu, one.id = samples[0].cpu, samples[0].id
        self.assertNotIn("with cause other-cpu", self.judge()[1])
        samples[5].id = next(number for number in samples[0].attr.ids if number != samples[0].id)
        self.assertEqual(len(samples[0].attr.ids), len(cpus), "one id for each CPU")
        self.assertIn("# records.bad: 1 with cause other-cpu", self.judge()[1])
        self.facts["threads"] = "2"
        self.assertNotIn("with cause other-cpu", self.judge()[1])

    def test_build_id_of_another_profilers_request(self) -> None:
        one = next(one for one in self.perf.maps() if "/libz.so" in one.name)
        one.misc |= rd.BUILD_ID
        self.assertNotIn("records.bad: 1 with", self.judge()[1])

    def test_dump_that_ends_within_a_page(self) -> None:
        sample = self.perf.samples()[20]
        del sample.stack[-8:]
        self.expect_bad(1, "dump-copied")
        end = (sample.regs[rd.X86_SP] + len(sample.stack)) % 4096
        del sample.stack[-end:]
        self.assertNotIn("dump-copied", self.judge()[1])


class AfterExit(Recorded):
    """Samples after the EXIT record of their thread, in a capture that does not state when it
    enabled its first event, as perf's captures."""

    fixture = "clock"
    is_first_thread = False

    def setUp(self) -> None:
        super().setUp()
        del self.facts["first_enabled"]
        self.last = [one for one in self.perf.samples() if one.misc & 7 == rd.USER
                     and (one.pid == one.tid) == self.is_first_thread][-1]
        # The thread's last two samples follow its EXIT record.
        self.late = [one for one in self.perf.samples() if one.tid == self.last.tid][-2:]
        for one in self.late:
            one.misc = one.misc & ~7 | rd.USER
        pid, tid, self.time = self.last.pid, self.last.tid, self.late[0].time - 1
        task = struct.pack("<IIIIQ", pid, pid, tid, pid, self.time)
        self.perf.insert(self.perf.side(rd.EXIT, task, self.time, pid=pid, tid=tid))

    def expect_late(self, count: int) -> None:
        text = self.judge()[1]
        found = re.findall(r"(?m)^# records.bad: (\d+) with cause after-exit", text)
        self.assertEqual(set(found), {str(count)} if count else set(), text)

    def test_user_samples(self) -> None:
        """No thread returns from do_exit() to user space."""
        self.expect_late(2)
        for attr in self.perf.attrs:
            attr.flags &= ~INHERIT
        self.expect_late(2)

    def test_kernel_samples(self) -> None:
        """The events of a task stop before its EXIT record; those of a CPU do not."""
        for one in self.late:
            one.misc = one.misc & ~7 | rd.KERNEL
        for attr in self.perf.attrs:
            attr.flags &= ~ENABLE_ON_EXEC
        self.expect_late(0)
        for attr in self.perf.attrs:
            attr.flags |= ENABLE_ON_EXEC
        self.expect_late(2)
        for attr in self.perf.attrs:
            attr.flags &= ~INHERIT
        self.expect_late(0)


class AfterFirstExit(AfterExit):
    """A thread that calls exec gets the number of the first thread, and its COMM record follows."""

    fixture = "gated"
    is_first_thread = True

    def test_kernel_samples(self) -> None:
        for one in self.late:
            one.misc = one.misc & ~7 | rd.KERNEL
        self.expect_late(0)

    def test_exec(self) -> None:
        self.perf.insert(self.perf.comm(self.last.pid, self.last.tid, "new", self.time + 1, True))
        self.expect_late(0)
