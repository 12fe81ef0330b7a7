# SPDX-License-Identifier: GPL-2.0-only
"""Recorded runs with altered mapping records (see test_fixtures.py)."""

import copy
import os
from typing import Callable

from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import PAGE, Recorded
from harness.selftest.support.scratch import FIXTURES

MMAP_DATA = 1 << 13  # PERF_RECORD_MISC_MMAP_DATA: memory that is not executable


class Mappings(Recorded):
    """mapping_coverage, and the effect of missing mappings on stacks; one anonymous mapping."""

    def test_stale_without_a_record_of_munmap(self) -> None:
        """The truth has an unmapping in the window, the capture has no record of it."""
        record = self.find_emitted_maps()[0]
        index = [index for index in self.truth.find(rd.Truth.UNMAP)
                 if self.truth.get(index)[6] == record.start][0]
        gone = self.truth.get(index)
        for at in (index, *self.truth.find(rd.Truth.CODE_UNLOAD)):
            slot, time = self.truth.get(at), int(self.facts["stopped"]) - 1000
            if slot[4] <= gone[5] and slot[5] >= gone[4]:  # code in the unmapped memory
                self.truth.change(at, {4: time, 5: time})
        self.assertIn(record.range(), self.expect_excused(1, "coverage.stale", "munmap"))

    def find_sample_with_map(self) -> tuple[rd.Sample, rd.Map]:
        sample = self.find_deep_sample()
        return sample, next(record for record in self.find_emitted_maps()
                            if record.start <= sample.ip < record.start + record.size)

    def add_protect(self, pid: int, start: int, size: int, prot: int, before: int,
                    after: int) -> None:
        self.truth.append(rd.Truth.PROTECT, 0, pid, pid, before, after, start, size, prot, 0)

    def test_stale_in_pieces(self) -> None:
        """Two pages lose their permission in turn and get it back. Their records leave pieces of
        the first record, which are right again once all pages are back."""
        record = self.find_emitted_maps()[0]
        time = int(self.facts["sampling"]) + 100_000_000
        for page in range(2):
            start = record.start + page * PAGE
            self.add_protect(record.pid, start, PAGE, 3, time, time + 1000)
            time += 1_000_000
            self.add_protect(record.pid, start, PAGE, 5, time, time + 1000)
            again = record.copy()
            again.time, again.size = time + 500, (page + 1) * PAGE
            self.perf.insert(again)
            time += 1_000_000
        self.expect_excused(2, "coverage.stale", "mprotect")

    def test_waiting_in_a_fault(self) -> None:
        """A sample in non-executable memory is stray, unless its thread waited there in a fault."""
        sample, record = self.find_sample_with_map()
        self.add_protect(record.pid, record.start, record.size, 3, sample.time - 200,
                         sample.time - 100)
        self.add_protect(record.pid, record.start, record.size, 5, sample.time + 100,
                         sample.time + 200)
        stray = self.match_count(1, "coverage.stray", "closed")
        self.expect_fail(stray)
        wait = (rd.Truth.WAIT, 0, sample.pid, sample.tid, sample.time - 1000, sample.time + 1000,
                sample.ip, 0, 0, 0)
        self.truth.append(*wait)
        self.assertNotIn("coverage.stray", self.expect_fail("coverage.stale"))
        for field, wrong in ((3, sample.pid), (5, sample.time - 500), (6, sample.ip + 1)):
            self.truth.set(len(self.truth.slots) - 1, *wait[:field], wrong, *wait[field + 1:])
            self.expect_fail(stray)

    def test_known_closed_pages(self) -> None:
        """A stack is no fault of a capture that knows that its memory is not executable, also while
        the memory is being closed or opened. @closed, @opening: end of an mprotect(), and begin of
        the next, in ns from the sample."""
        for closed, opening in ((-5, 100), (50, 100), (-5, -3)):
            self.setUp()
            sample, record = self.find_sample_with_map()
            for prot, begin, end, recorded in ((3, -200, closed, -10), (5, opening, 300, 300)):
                self.add_protect(record.pid, record.start, record.size, prot, sample.time + begin,
                                 sample.time + end)
                again = record.copy()
                again.time, again.prot = sample.time + recorded, prot
                again.misc |= MMAP_DATA if prot == 3 else 0
                self.perf.insert(again)
            self.truth.append(rd.Truth.WAIT, 0, sample.pid, sample.tid, sample.time - 1000,
                              sample.time + 1000, sample.ip, 0, 0, 0)
            with self.subTest(closed=closed, opening=opening):
                self.assertRegex(self.judge()[1], r"broken\.chain: 1 with cause closed")

    def test_two_samples_in_closed_pages(self) -> None:
        """A thread may be sampled once before its fetch faults; a second sample is impossible."""
        sample, record = self.find_sample_with_map()
        self.add_protect(record.pid, record.start, record.size, 3, sample.time - 9000,
                         sample.time - 8000)
        again = copy.deepcopy(sample)
        again.time += 4000
        self.perf.insert(again)
        self.add_protect(record.pid, record.start, record.size, 5, sample.time + 8000,
                         sample.time + 9000)
        self.expect_fail(self.match_count(1, "coverage.stray", "closed"),
                         self.match_count(1, "coverage.stray", "no-mapping"))


class EqualMappings(Recorded):
    """equal_mappings with a truth that has maps: a program, its libraries, and anonymous memory
    that grows, with live records."""

    fixture = "mappings"

    def judge_injected(self, change: Callable[[rd.Map], None], removed: str = "") -> str:
        """Returns the output of judging with an injected.data that has an altered record of the
        first function, and no records of the file @removed."""
        text = self.read_text("case").split(" publish=")[0].rstrip()
        self.put_text("case", text + " publish=jitdump inject=cut\n")
        perf = rd.PerfData.load(os.path.join(FIXTURES, self.fixture, "perf.data"))
        code = self.truth.get(self.truth.find(rd.Truth.CODE_LOAD)[0])
        record = next(one for one in perf.maps() if one.name == "//anon").copy()
        record.start, record.size, record.pgoff, record.time = code[6], code[7], 64, code[5] + 1
        record.prot, record.tid = rd.READ | rd.EXECUTE, record.pid  # as inject writes it
        record.name = "/tmp/jitted-1-1.so"
        change(record)
        perf.records = [one for one in perf.records
                        if not (removed and isinstance(one, rd.Map) and one.name.endswith(removed))]
        perf.insert(record)
        perf.save(self.get_path("injected.data"))
        return self.judge()[1]

    def test_injected_records(self) -> None:
        def set_to(field: str, value: Callable[[rd.Map], int]) -> Callable[[rd.Map], None]:
            return lambda record: setattr(record, field, value(record))

        self.assertNotIn("# injected.", self.judge_injected(lambda record: None))
        for change, cause in ((set_to("start", lambda one: one.start + 16), "no-code"),
                              (set_to("size", lambda one: one.size // 2), "shorter"),
                              (set_to("pid", lambda one: one.pid + 1), "unwatched"),
                              (set_to("time", lambda one: one.time - 10**9), "other-time")):
            with self.subTest(cause):
                self.assertRegex(self.judge_injected(change),
                                 self.match_count(1, "injected.mappings", cause))
        self.assertRegex(self.judge_injected(lambda record: None, "libz.so.1.2.13"),
                         self.match_count(1, "injected.missing", "taken"))

    def test_truth_without_maps(self) -> None:
        for at in self.truth.find(rd.Truth.MAPS):
            self.truth.change(at, {0: rd.Truth.MARK})
        self.expect_error("ran code while it was watched, and the truth has no maps of it")

    def test_act_while_maps_are_read(self) -> None:
        """An act of another thread while the maps were read contradicts nothing."""
        first = self.truth.get(self.truth.find(rd.Truth.MAP)[-1])
        until = self.truth.get(self.truth.find(rd.Truth.PROCESS_EXIT)[0])[5]
        pid, made = first[2], self.truth.get(self.truth.find(rd.Truth.PROCESS_START)[0])[5]
        other, name = (0, pid, pid + 1, made, made), self.truth.next_id
        self.truth.next_id += 1
        fork = self.perf.fork(pid, pid, made, pid + 1)
        self.perf.insert(self.perf.side(rd.FORK, fork.body[:24], made, 0, pid, pid))
        self.truth.append(rd.Truth.THREAD_START, *other, pid << 32, 0, 0, 0)
        self.truth.append(rd.Truth.TEXT, *other, name | 1 << 32, ord("a"), 0, 0)
        self.truth.append(rd.Truth.COMM, *other, name, 0, 0, 0)
        self.truth.append(rd.Truth.MAP, *other[:3], first[4], until, first[6] - (1 << 30), PAGE,
                          rd.READ | rd.EXECUTE, 0)
        self.expect_pass()
