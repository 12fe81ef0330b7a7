# SPDX-License-Identifier: GPL-2.0-only
"""Recorded runs with altered mapping records (see test_fixtures.py)."""

import copy
import os
import re
import unittest
from typing import Callable

from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import PAGE, Recorded
from harness.selftest.support.scratch import FIXTURES, JITPROOF


class Mappings(Recorded):
    """mapping_coverage, and the effect of missing mappings on stacks; one anonymous mapping."""

    def test_deleted_map_record(self) -> None:
        gone = self.find_emitted_maps()
        self.assertEqual([record.name for record in gone], ["//anon"])
        self.perf.records = [record for record in self.perf.records if record not in gone]
        where = re.escape(gone[0].range())
        text = self.expect_fail(self.match_count(40, "broken.chain", "no-record"),
                                self.match_count(40, "broken.dump", "no-record"),
                                self.match_count(1, "coverage.missing", "no-record"),
                                rf"{where} of mapping {where} //anon of pid {gone[0].pid}, "
                                r"executable from \d+: in no mapping record of the capture",
                                r"unmapped at \d+, \d+/\d+, ip [0-9a-f]+ in \w+\+0x")
        self.expect_only(text, "broken.chain", "broken.dump", "coverage.missing")

    def test_deleted_and_wrong(self) -> None:
        """A sample in no mapping record, whose stack is wrong or has a surplus frame besides."""
        for more, metric in ((None, "wrong.chain"), (0x12345678, "extra.chain")):
            with self.subTest(metric):
                sample = self.find_deep_sample()
                whole, at = sample.chain, sample.user() + 1
                sample.chain = [*whole[:at], more or whole[at] + 1, *whole[at + (not more):]]
                records = self.perf.records
                self.perf.records = [record for record in records
                                     if record not in self.find_emitted_maps()]
                text = self.expect_fail(self.match_count(40, "broken.chain", "no-record"))
                self.expect_only(text, "broken.chain", "broken.dump", "coverage.missing", metric)
                self.perf.records, sample.chain = records, whole

    def test_stray_sample(self) -> None:
        """A sample in the memory of emitted code, but in none of its functions."""
        sample, record = self.perf.samples()[7], self.find_emitted_maps()[0]
        sample.ip = sample.regs[rd.X86_IP] = record.start + record.size - 1
        self.assertFalse(self.is_emitted(sample.ip))
        text = self.expect_fail(self.match_count(1, "coverage.stray", "no-code"),
                                self.match_count(1, "samples", "astray"))
        self.expect_only(text, "coverage.stray", "samples")

    def test_late_map_record(self) -> None:
        record = self.find_emitted_maps()[0]
        late = int(self.facts["sampling"]) + 400_000_000
        record.time = late
        self.perf.sort()
        before = sum(sample.time < late for sample in self.perf.samples())
        self.assertGreater(before, 3)
        text = self.expect_fail(self.match_count(before, "broken.chain", "no-record"),
                                self.match_count(before, "broken.dump", "no-record"),
                                self.match_count(1, "coverage.late", "no-record"),
                                re.escape(record.range()) +
                                rf".*: not known for {late - self.find_snapshot_end()} ns of \d+")
        self.expect_only(text, "broken.chain", "broken.dump", "coverage.late", "records.acts")

    def test_shorter_map_record(self) -> None:
        record = self.find_emitted_maps()[0]
        end = record.start + record.size
        record.size = PAGE
        self.expect_fail(self.match_count(1, "coverage.missing", "no-record"),
                         f"{record.start + PAGE:x}-{end:x} of mapping {record.start:x}-{end:x} "
                         "//anon.*in no mapping record")

    def test_begins_later(self) -> None:
        record = self.find_emitted_maps()[0]
        start = record.start
        record.start, record.size = start + PAGE, record.size - PAGE
        self.expect_fail(self.match_count(1, "coverage.missing", "no-record"),
                         self.match_count(40, "broken.dump", "no-record"),
                         f"{start:x}-{start + PAGE:x} of mapping {start:x}-.*in no mapping record")

    def test_not_executable_or_of_another_process(self) -> None:
        record = self.find_emitted_maps()[0]
        for field, wrong in (("prot", rd.READ | rd.WRITE), ("pid", record.pid + 1)):
            with self.subTest(field):
                right = getattr(record, field)
                setattr(record, field, wrong)
                self.expect_fail(self.match_count(1, "coverage.missing", "no-record"),
                                 self.match_count(40, "broken.chain", "no-record"))
                setattr(record, field, right)

    def test_mapping_of_another_kind(self) -> None:
        for name in ("/memfd:doublemapper (deleted)", "/dev/zero (deleted)", "[heap]",
                     "/usr/lib/libnot.so"):
            with self.subTest(name):
                self.find_emitted_maps()[0].name = name
                self.expect_fail(self.match_count(1, "coverage.identity", "other-mapping"),
                                 "the capture holds another mapping there")

    def test_stale_mapping(self) -> None:
        gone = self.truth.get(self.truth.find(rd.Truth.UNMAP)[0])
        record = self.find_emitted_maps()[0].copy()
        record.start, record.size, record.pgoff = gone[6], gone[7], gone[6]
        self.perf.insert(record)
        text = self.expect_fail(self.match_count(1, "coverage.stale", "invented"),
                                re.escape(record.range()) +
                                ".*still known as executable after its end")
        self.expect_only(text, "coverage.stale")

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
        sample = self.find_deep_sample()
        record = [record for record in self.find_emitted_maps()
                  if record.start <= sample.ip < record.start + record.size][0]
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

    def test_two_samples_in_closed_pages(self) -> None:
        """A thread may be sampled once before its fetch faults; a second sample is impossible."""
        sample = self.find_deep_sample()
        record = [record for record in self.find_emitted_maps()
                  if record.start <= sample.ip < record.start + record.size][0]
        self.add_protect(record.pid, record.start, record.size, 3, sample.time - 9000,
                         sample.time - 8000)
        again = copy.deepcopy(sample)
        again.time += 4000
        self.perf.insert(again)
        self.add_protect(record.pid, record.start, record.size, 5, sample.time + 8000,
                         sample.time + 9000)
        self.expect_fail(self.match_count(1, "coverage.stray", "closed"),
                         self.match_count(1, "coverage.stray", "no-mapping"))

    def test_covered_by_an_invented_mapping(self) -> None:
        record = self.find_emitted_maps()[0].copy()
        record.time = int(self.facts["sampling"]) + 700_000_000
        record.name = "/usr/lib/libnot.so"
        self.perf.insert(record)
        self.expect_fail(self.match_count(1, "coverage.late", "no-record"),
                         re.escape(record.range()))

    def test_forgotten_by_an_invented_exec(self) -> None:
        record = self.find_emitted_maps()[0]
        self.perf.insert(self.perf.comm(record.pid, record.pid, "other",
                                        int(self.facts["sampling"]) + 700_000_000, True))
        self.expect_fail(self.match_count(1, "coverage.late", "no-record"),
                         r"broken\.dump: \d+ with cause older-code \(no-record\)")


class Identities(Recorded):
    """Two executable mappings of one memfd: one in the snapshot, one with a live record."""

    fixture = "memfd"

    def test_one_of_two_deleted(self) -> None:
        both = self.find_emitted_maps()
        self.assertEqual(len(both), 2)
        for gone, other in (both, both[::-1]):
            with self.subTest(gone.range()):
                whole = self.perf.records
                self.perf.records = [record for record in whole if record is not gone]
                text = self.expect_fail(self.match_count(1, "coverage.missing", "no-record"),
                                        self.match_count(r"\d+", "broken.dump", "no-record"),
                                        re.escape(gone.range()) + ".*in no mapping record")
                self.assertNotIn(other.range(), text)
                self.perf.records = whole

    def test_live_one_late(self) -> None:
        record = self.find_emitted_maps()[1]
        record.time = int(self.facts["sampling"]) + 300_000_000
        self.perf.sort()
        mapped, = (slot[5] for slot in map(self.truth.get, self.truth.find(rd.Truth.MAP))
                   if slot[6] == record.start)
        self.expect_fail(self.match_count(1, "coverage.late", "no-record"),
                         re.escape(record.range()) + f".*not known for {record.time - mapped} ns")

    def test_wrong_offset(self) -> None:
        record = self.find_emitted_maps()[1]
        record.pgoff += PAGE
        text = self.expect_fail(self.match_count(1, "coverage.identity", "other-mapping"),
                                re.escape(record.range()) + ".*another mapping")
        self.expect_only(text, "coverage.identity")

    def test_wrong_name(self) -> None:
        for name in ("/memfd:doublemappe (deleted)", "//anon"):
            self.find_emitted_maps()[0].name = name
            self.expect_fail(self.match_count(1, "coverage.identity", "other-mapping"))

    def test_writable_view_claimed_executable(self) -> None:
        views = [slot for slot in map(self.truth.get, self.truth.find(rd.Truth.MAP))
                 if not slot[8] & rd.EXECUTE]
        self.assertGreater(len(views), 1)
        for view in views:
            record = self.find_emitted_maps()[0].copy()
            record.start, record.pgoff = view[6], view[9]
            self.perf.insert(record)
            self.expect_fail(self.match_count(1, "coverage.stale", "not-executable"),
                             re.escape(record.range()))
            self.perf.records.remove(record)


class EqualMappings(Recorded):
    """equal_mappings with a truth that has maps: a program, its libraries, and anonymous memory
    that grows, with live records."""

    fixture = "mappings"
    INVENTED = "mappings.invented"

    def find_libc(self) -> rd.Map:
        return next(record for record in self.perf.maps() if record.name.endswith("libc.so.6"))

    def find_anonymous(self) -> list[rd.Map]:
        return [record for record in self.perf.maps() if record.name == "//anon"]

    def find_maps_records(self) -> list[int]:
        return self.truth.find(rd.Truth.MAPS)

    def test_as_recorded(self) -> None:
        self.assertEqual(len(self.find_anonymous()), 4)
        self.expect_pass()

    @unittest.skipIf("/asan/" in JITPROOF, "300 times the same code: takes 12 s with sanitizers")
    def test_each_field_of_each_record(self) -> None:
        """Each altered field is found, by its cause."""
        file = (("pgoff", PAGE, "offset"), ("ino", 1, "inode"), ("maj", 1, "device"),
                ("min", 1, "device"), ("prot", rd.WRITE, "protection"), ("flags", 3, "sharing"),
                ("size", PAGE, "invented"), ("size", 16 * PAGE, "invented"))
        anon = (("pgoff", PAGE, "offset"), ("ino", 1, "inode"), ("maj", 1, "device"),
                ("prot", rd.WRITE, "protection"), ("flags", 3, "sharing"),
                ("size", PAGE, "invented"), ("size", 16 * PAGE, "invented"))
        whole = [record.copy() for record in self.perf.maps()]
        for at, record in enumerate(self.perf.maps()):
            if record.name == "[vdso]":
                continue
            for field, by, cause in anon if record.name == "//anon" else file:
                with self.subTest(record=record.name, field=field, by=by):
                    right = getattr(record, field)
                    # Flip bits of flags and permissions, so that two alterations never give the
                    # same value.
                    wrong = right ^ by if field in ("prot", "flags", "maj") else right + by
                    setattr(record, field, wrong)
                    self.expect_fail(self.match_count(1, self.INVENTED, cause),
                                     rf"record of {record.time}: {re.escape(record.range())} ")
                    setattr(record, field, right)
            self.assertEqual(bytes(record.body), bytes(whole[at].body))

    def test_another_name(self) -> None:
        for record, name, cause in ((self.find_libc(), "/usr/lib/libnot.so", "name"),
                                    (self.find_anonymous()[0], "/memfd:other (deleted)", "kind"),
                                    (self.find_anonymous()[0], "/usr/lib/libnot.so", "kind")):
            with self.subTest(name):
                right = record.name
                record.name = name
                self.expect_fail(self.match_count(1, self.INVENTED, cause))
                record.name = right

    def test_impossible_records(self) -> None:
        """An unknown thread, an empty name, a time before the capture."""
        for field, wrong, cause in (("tid", 4000000, "thread"), ("name", "", "name"),
                                    ("time", int(self.facts["enabled"]) // 2, "time")):
            with self.subTest(field):
                record = self.find_anonymous()[0]
                right = getattr(record, field)
                setattr(record, field, wrong)
                self.expect_fail(self.match_count(1, self.INVENTED, cause))
                setattr(record, field, right)

    def test_record_of_unknown_process(self) -> None:
        record = self.find_libc().copy()
        record.pid = record.tid = 4000000
        self.perf.insert(record)
        self.expect_fail(self.match_count(1, "mappings.unknown", "unwatched"),
                         "pid 4000000, which the truth does not describe")

    def test_invented_memory(self) -> None:
        """A megabyte of unmapped memory, and a file over the end of the C library's text."""
        anon, libc = self.find_anonymous()[0].copy(), self.find_libc().copy()
        anon.start -= 1 << 30
        anon.pgoff, anon.size = anon.start, 1 << 20
        libc.start += libc.size - PAGE
        libc.size, libc.name, libc.time = 2 * PAGE, "/usr/lib/libnot.so", anon.time
        for record, cause in ((anon, "invented"), (libc, "name")):
            with self.subTest(record.name):
                self.perf.insert(record)
                self.expect_fail(self.match_count(1, self.INVENTED, cause),
                                 f"with cause {'name' if record is libc else 'invented'}, which")
                self.perf.records.remove(record)

    def test_too_early(self) -> None:
        """Each record adds a page to the mapping before."""
        later, before = self.find_anonymous()[2], self.find_anonymous()[1]
        later.time = before.time + 1
        self.expect_fail(self.match_count(1, self.INVENTED, "invented"))

    def test_missing_records(self) -> None:
        """Removes records of libraries without samples, which no other validator needs."""
        for name in ("libbz2.so.1.0.4", "libz.so.1.2.13"):
            record = next(one for one in self.perf.maps() if one.name.endswith(name))
            self.perf.records.remove(record)
        text = self.expect_fail(self.match_count(2, "mappings.missing", "no-record"),
                                r"there is [0-9a-f]+-[0-9a-f]+ prot 5 p inode \d+ "
                                r"/.*libbz2\.so\.1\.0\.4; the capture has nothing")
        self.expect_only(text, "mappings.missing")

    def test_shorter_map_record(self) -> None:
        """The next maps of the truth show the page that the record lacks."""
        record = self.find_libc()
        record.size -= PAGE
        text = self.expect_fail(self.match_count(1, "mappings.missing", "no-record"))
        self.expect_only(text, "mappings.missing")

    def test_a_mapping_in_two_records(self) -> None:
        """The kernel merges adjacent mappings and writes one record of the whole."""
        record = self.find_libc()
        half = record.copy()
        record.size = 4 * PAGE
        half.start, half.size = half.start + 4 * PAGE, half.size - 4 * PAGE
        half.pgoff += 4 * PAGE
        self.perf.insert(half)
        self.expect_only(self.expect_fail(self.match_count(1, "mappings.invented", "part")),
                         "mappings.invented")

    def test_offset_of_a_live_record(self) -> None:
        """The kernel records the address for private memory; /proc/PID/maps has 0."""
        record = next(one for one in self.find_emitted_maps() if one.name == "//anon")
        self.assertEqual(record.pgoff, record.start)
        record.pgoff = 0
        self.expect_only(self.expect_fail(self.match_count(1, "mappings.invented", "offset")),
                         "mappings.invented")

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
                              (set_to("pid", lambda one: one.pid + 1), "no-code"),
                              (set_to("time", lambda one: one.time - 10**9), "other-time")):
            with self.subTest(cause):
                self.assertRegex(self.judge_injected(change),
                                 self.match_count(1, "injected.mappings", cause))
        self.assertRegex(self.judge_injected(lambda record: None, "libz.so.1.2.13"),
                         self.match_count(1, "injected.missing", "taken"))

    def test_truth_without_maps(self) -> None:
        for at in self.find_maps_records():
            self.truth.change(at, {0: rd.Truth.MARK})
        self.expect_error("ran code while it was watched, and the truth has no maps of it")

    def test_act_missing_in_maps(self) -> None:
        """A mapping act that the maps of the truth lack."""
        first = self.truth.get(self.truth.find(rd.Truth.MAP)[-1])
        self.truth.append(*first[:6], first[6] - (1 << 30), PAGE, rd.READ | rd.EXECUTE, 0)
        self.expect_error("the truth contradicts itself: .*mapped executable, but not in its maps")

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
