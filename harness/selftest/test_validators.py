#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Both validators on recorded runs: as recorded they pass; each change that makes the capture say
something else than the truth must fail, with the right metric, cause and place in the output."""

import copy
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from typing import Any, Callable
import unittest

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, process
from harness.selftest import run_directory as rd
from harness.selftest.scratch import FIXTURES, Folder, JITPROOF, needs_namespaces

PAGE = 4096


def judge(directory: str) -> tuple[int, str]:
    done = process.run([JITPROOF, "judge", directory], stderr=subprocess.STDOUT, timeout=60)
    return done.returncode, done.stdout


class Recorded(Folder):
    """A copy of a fixture, to be changed and judged."""

    fixture = "anon"
    miscounted = 0  # samples that the capture says it wrote, and did not

    def setUp(self) -> None:
        super().setUp()
        self.take(self.fixture)

    def take(self, fixture: str) -> None:
        self.dir = self.place(fixture)
        shutil.copytree(os.path.join(FIXTURES, fixture), self.dir)
        self.perf = rd.PerfData.load(os.path.join(self.dir, "perf.data"))
        self.truth = rd.Truth(os.path.join(self.dir, "truth"))
        self.facts = rd.read_facts(self.dir)

    def judge(self) -> tuple[int, str]:
        self.perf.save(os.path.join(self.dir, "perf.data"))
        self.truth.save(os.path.join(self.dir, "truth"))
        # A capture that saw other samples would say so: tests of the count say it last.
        if "samples" in self.facts:
            self.facts["samples"] = str(len(self.perf.samples()) + self.miscounted)
        rd.write_facts(self.dir, self.facts)
        return judge(self.dir)

    def passes(self) -> str:
        status, text = self.judge()
        self.assertEqual(status, 0, text)
        self.assertIn("\nok 1 ", text)
        return text

    def fails(self, *said: str) -> str:
        """Not passed as FAIL; each of @said stands in a line of the output."""
        status, text = self.judge()
        self.assertEqual(status, 1, text)
        self.assertIn("\nnot ok 1 ", text)
        self.assertRegex(text, r"(?m)^# Totals:.* FAIL:1 .*ERROR:0 ")
        for one in said:
            self.assertRegex(text, one)
        return text

    def errs(self, *said: str) -> str:
        status, text = self.judge()
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"(?m)^# Totals: PASS:0 FAIL:0 .*ERROR:1 ")
        for one in said:
            self.assertRegex(text, one)
        return text

    def results(self, number: int = 1) -> str:
        """results.jsonl of the judgement."""
        out = self.place(f"results{number}")
        process.run([JITPROOF, "judge", "--results", out, self.dir], timeout=60)
        return files.read(out)

    @staticmethod
    def exactly(count: int | str, metric: str, cause: str) -> str:
        return rf"(?m)^# {re.escape(metric)}: {count} with cause (\S+ \()?{cause}\)?, " \
            "which nothing allows$"

    def only(self, text: str, *metrics: str) -> None:
        """No other metric has exceptions, but that a changed sample contradicts itself."""
        found = set(re.findall(r"(?m)^# (\S+): \d+ with cause", text))
        found -= {"modes.bad", "records.bad"}
        self.assertEqual(found, set(metrics), text)

    def changed(self, metric: str, cause: str, verdict: str, sample: rd.Sample) -> None:
        """That one sample was changed gives one exception, and no other."""
        text = self.fails(self.exactly(1, metric, cause),
                          rf"#   {verdict} at {sample.time}, {sample.pid}/{sample.tid}, "
                          rf"ip {sample.regs[rd.X86_IP]:x} ")
        self.only(text, metric)

    def code(self) -> list[tuple[int, int]]:
        """[start, end) of each function, whenever it was loaded."""
        return [(slot[6], slot[6] + slot[7])
                for slot in map(self.truth.get, self.truth.of(rd.Truth.CODE_LOAD))]

    def emitted(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.code())

    def emitted_maps(self) -> list[rd.Map]:
        return [record for record in self.perf.maps()
                if any(record.start <= start < record.start + record.size
                       for start, _ in self.code()) and record.prot & rd.EXECUTE]

    def snapshot_end(self) -> int:
        with open(os.path.join(self.dir, "maps"), encoding="utf-8") as file:
            return int(file.readline().split()[-1])

    def deep(self, callers: int = 2, linked: bool = False) -> rd.Sample:
        """A sample in emitted code with @callers emitted callers in its chain; linked: its bp is
        that of its own frame, whose words stand in the dump."""
        for sample in self.perf.samples():
            user = sample.chain[sample.user():]
            bp = sample.regs[rd.X86_BP]
            if not all(self.emitted(address) for address in user[:callers + 1]):
                continue
            if linked and any(sample.word(at + 8) != address for at, address in
                              zip(self.frames(sample, callers), user[1:callers + 1])):
                continue
            if not linked or sample.word(bp) is not None:
                return sample
        raise AssertionError("the fixture has no such sample")

    @staticmethod
    def frames(sample: rd.Sample, count: int) -> list[int]:
        """The innermost @count frames by bp."""
        found: list[int] = []
        at = sample.regs[rd.X86_BP]
        while at is not None and sample.word(at) is not None and len(found) < count:
            found.append(at)
            at = sample.word(at)
        return found


class AsRecorded(unittest.TestCase):
    def test_each_fixture_passes(self) -> None:
        for name in ("anon", "clock", "gated", "growth", "mappings", "memfd", "pathless", "reuse",
                     "slack"):
            status, text = judge(os.path.join(FIXTURES, name))
            self.assertEqual(status, 0, text)
            self.assertIn(f"ok 1 fixture/{name}\n", text)
            if name == "pathless":
                self.assertRegex(text, r"# caught: \d+ exceptions, all pathless")

    def test_rewriting_changes_nothing(self) -> None:
        for name in ("anon", "clock", "gated", "growth", "mappings", "memfd", "pathless", "reuse",
                     "slack"):
            path = os.path.join(FIXTURES, name, "perf.data")
            self.assertEqual(rd.PerfData.load(path).pack(), files.read_bytes(path))
            truth = rd.Truth(os.path.join(FIXTURES, name, "truth"))
            self.assertEqual(truth.torn(), [])

    def test_says_nothing_of_the_machine(self) -> None:
        for folder, folders, names in os.walk(FIXTURES):
            # Written, not recorded.
            folders[:] = set(folders) - {"conformance"}
            for name in set(names) - {"README.md", "fixture"}:
                raw = files.read_bytes(os.path.join(folder, name))
                if name == "truth":  # its texts lie in parts
                    truth = rd.Truth(os.path.join(folder, name))
                    raw = b"".join(truth.slots[at][40:] for at in truth.of(rd.Truth.TEXT))
                for path in set(re.findall(rb"/[a-z]+/[\w./-]+", raw)):
                    self.assertRegex(
                        path, rb"^/tmp/jitproof/|^/usr/lib/|^/dev/|/jit-\d+\.dump$", name)


class Books(Recorded):
    """Every sample is somewhere, and not just anywhere."""

    def classes(self, book: str) -> dict[str, int]:
        self.judge()
        results = self.place("results.jsonl")
        process.run([JITPROOF, "judge", "--results", results, self.dir], timeout=60)
        found: dict[str, int] = json.loads(files.read(results))["books"][book]
        os.remove(results)
        return found

    def test_sums(self) -> None:
        self.perf.records.append(rd.Record(2000, 0, bytes(16)))
        records = self.classes("records")
        self.assertEqual(sum(records.values()), len(self.perf.records))
        self.assertEqual(records["unknown"], 1)
        self.assertEqual(records["mmap2.watched"] + records.get("mmap2.other", 0) +
                         records.get("mmap2.kernel", 0), len(self.perf.maps()))
        self.assertEqual(self.classes("samples"), {"code": len(self.perf.samples())})
        self.assertEqual(sum(self.classes("stacks.dump").values()), len(self.perf.samples()))

    def deep_within(self, count: int) -> list[rd.Sample]:
        """@count samples whose caller is emitted code too."""
        found = [sample for sample in self.perf.samples()
                 if self.emitted(sample.chain[sample.user() + 1])]
        return found[:count]

    def test_astray(self) -> None:
        """Nowhere, and in the C library: the thread was in neither."""
        libc = next(record for record in self.perf.maps() if "libc" in record.name)
        astray = self.deep_within(4)
        for where in (0x1234, libc.start + 0x100):
            for sample in astray:
                sample.ip = sample.regs[rd.X86_IP] = where
            self.only(self.fails(self.exactly(4, "samples", "astray")), "samples")

    def test_another_process(self) -> None:
        for sample in self.deep_within(4):
            sample.pid = 1
        self.only(self.fails(self.exactly(4, "samples", "astray")), "samples")

    def test_another_thread_and_process(self) -> None:
        for sample in self.deep_within(4):
            sample.pid = sample.tid = 1
        self.only(self.fails(self.exactly(4, "samples", "unwatched")), "samples")

    def test_nothing_of_the_user(self) -> None:
        for sample in self.deep_within(4):
            sample.misc, sample.abi, sample.ip = rd.KERNEL, 0, 2**64 - 2**31
            sample.chain = []
        self.only(self.fails(self.exactly(4, "samples", "kernel")), "samples")

    def test_outside(self) -> None:
        """In native code, before samples were taken."""
        for early, sample in enumerate(self.deep_within(4), 1):
            sample.time = int(self.facts["sampling"]) - early * 10_000_000
            sample.ip = sample.regs[rd.X86_IP] = 0x1234
        self.perf.sort()
        self.only(self.fails(self.exactly(4, "samples", "outside")), "samples")


class Clock(Recorded):
    """Samples against the CPU time that the truth tells, and against what the events counted."""

    fixture = "clock"

    def leave_out(self, gone: list[rd.Sample]) -> None:
        left = {id(sample) for sample in gone}
        self.perf.records = [record for record in self.perf.records if id(record) not in left]

    def too_few(self) -> str:
        return self.fails(r"(?m)^# cpu.samples: \d+ with cause too-few, which nothing allows$",
                          r"samples in \d+ activations, by their CPU time there are ")

    def test_every_fifth_is_gone(self) -> None:
        self.leave_out(self.perf.samples()[::5])
        self.only(self.too_few(), "cpu.samples")

    def test_a_fifth_of_the_time_is_gone(self) -> None:
        times = [sample.time for sample in self.perf.samples()]
        begin, end = (min(times) + (max(times) - min(times)) * part // 5 for part in (2, 3))
        self.leave_out([one for one in self.perf.samples() if begin <= one.time < end])
        self.too_few()

    def test_a_thread_is_gone(self) -> None:
        tid = self.perf.samples()[0].tid
        self.leave_out([one for one in self.perf.samples() if one.tid == tid])
        self.assertRegex(self.too_few(), rf"thread {tid}: 0 samples in \d+ activations")

    def test_chance_has_a_part_on_each_cpu(self) -> None:
        """As many are gone as samples on one CPU cannot explain."""
        samples = self.perf.samples()
        self.leave_out(samples[5::10] + samples[:2])
        for cpus, right in ((64, True), (1, False)):
            for i, sample in enumerate(samples):
                sample.cpu = i % cpus
            self.assertEqual("cpu.samples: " not in self.judge()[1], right, cpus)

    def test_an_activation_is_gone(self) -> None:
        """A host may take a CPU away for a while, but for no half a second."""
        index = self.truth.of(rd.Truth.LEAVE)[40]
        slot = list(self.truth.get(index))
        for cpu_ns, right in ((100_000_000, True), (500_000_000, False)):
            slot[7] = cpu_ns << 8 | slot[7] & 0xff
            self.truth.set(index, *slot)
            if right:
                self.passes()
            else:
                self.only(self.too_few(), "cpu.samples")

    def test_all_are_gone(self) -> None:
        self.leave_out(self.perf.samples())
        self.errs()

    def test_what_was_lost_is_not_missing(self) -> None:
        """The kernel said so; that the case bears no loss is another matter."""
        gone = self.perf.samples()[::5]
        self.leave_out(gone)
        last = self.perf.samples()[-1]
        self.perf.insert(self.perf.side(rd.LOST, struct.pack("<QQ", last.id, len(gone)),
                                        last.time))
        self.assertNotIn("cpu.samples: ", self.judge()[1])

    def test_each_twice(self) -> None:
        text = self.invent(1, 0)
        self.assertRegex(text, r"(?m)^# samples: \d+ with cause double, which nothing allows$")

    def test_invented(self) -> None:
        """Each once more, a little later. Threads that were not always on a CPU may have as many:
        what the events counted tells."""
        self.only(self.invent(1, 1000), "event.samples")

    def test_more_than_the_clock_gives(self) -> None:
        self.assertRegex(self.invent(20, 1000),
                         r"(?m)^# cpu.samples: \d+ with cause too-many, which nothing allows$")

    def invent(self, more: int, later: int) -> str:
        """So many more of each sample, each later by so much than the one before."""
        for sample in self.perf.samples():
            for number in range(1, more + 1):
                double = copy.deepcopy(sample)
                double.time = sample.time + number * later
                self.perf.records.append(double)
        self.perf.sort()
        return self.fails(r"(?m)^# event.samples: 1 with cause too-many, which nothing allows$")


class Mappings(Recorded):
    """mapping_coverage, and what missing mappings do to stacks; one anonymous mapping."""

    def test_deleted(self) -> None:
        gone = self.emitted_maps()
        self.assertEqual([record.name for record in gone], ["//anon"])
        self.perf.records = [record for record in self.perf.records if record not in gone]
        where = re.escape(gone[0].range())
        text = self.fails(self.exactly(40, "broken.chain", "no-record"),
                          self.exactly(40, "broken.dump", "no-record"),
                          self.exactly(1, "coverage.missing", "no-record"),
                          rf"{where} of mapping {where} //anon of pid {gone[0].pid}, executable "
                          r"from \d+: in no mapping record of the capture",
                          r"unmapped at \d+, \d+/\d+, ip [0-9a-f]+ in \w+\+0x")
        self.only(text, "broken.chain", "broken.dump", "coverage.missing")

    def test_stray_sample(self) -> None:
        """In the memory of emitted code, but in none of its functions."""
        sample, record = self.perf.samples()[7], self.emitted_maps()[0]
        sample.ip = sample.regs[rd.X86_IP] = record.start + record.size - 1
        self.assertFalse(self.emitted(sample.ip))
        text = self.fails(self.exactly(1, "coverage.stray", "no-code"),
                          self.exactly(1, "samples", "astray"))
        self.only(text, "coverage.stray", "samples")

    def test_late(self) -> None:
        record = self.emitted_maps()[0]
        late = int(self.facts["sampling"]) + 400_000_000
        record.time = late
        self.perf.sort()
        before = sum(sample.time < late for sample in self.perf.samples())
        self.assertGreater(before, 3)
        text = self.fails(self.exactly(before, "broken.chain", "no-record"),
                          self.exactly(before, "broken.dump", "no-record"),
                          self.exactly(1, "coverage.late", "no-record"),
                          re.escape(record.range()) +
                          rf".*: not known for {late - self.snapshot_end()} ns of \d+")
        self.only(text, "broken.chain", "broken.dump", "coverage.late")

    def test_shorter(self) -> None:
        record = self.emitted_maps()[0]
        end = record.start + record.size
        record.size = PAGE
        self.fails(self.exactly(1, "coverage.missing", "no-record"),
                   f"{record.start + PAGE:x}-{end:x} of mapping {record.start:x}-{end:x} //anon.*"
                   "in no mapping record")

    def test_begins_later(self) -> None:
        record = self.emitted_maps()[0]
        start = record.start
        record.start, record.size = start + PAGE, record.size - PAGE
        self.fails(self.exactly(1, "coverage.missing", "no-record"),
                   self.exactly(40, "broken.dump", "no-record"),
                   f"{start:x}-{start + PAGE:x} of mapping {start:x}-.*in no mapping record")

    def test_not_executable_or_of_another_process(self) -> None:
        record = self.emitted_maps()[0]
        for field, wrong in (("prot", rd.READ | rd.WRITE), ("pid", record.pid + 1)):
            with self.subTest(field):
                right = getattr(record, field)
                setattr(record, field, wrong)
                self.fails(self.exactly(1, "coverage.missing", "no-record"),
                           self.exactly(40, "broken.chain", "no-record"))
                setattr(record, field, right)

    def test_of_another_kind(self) -> None:
        for name in ("/memfd:doublemapper (deleted)", "/dev/zero (deleted)", "[heap]",
                     "/usr/lib/libnot.so"):
            with self.subTest(name):
                self.emitted_maps()[0].name = name
                self.fails(self.exactly(1, "coverage.identity", "other-mapping"),
                           "the capture holds another mapping there")

    def test_stale(self) -> None:
        gone = self.truth.get(self.truth.of(rd.Truth.UNMAP)[0])
        record = self.emitted_maps()[0].copy()
        record.start, record.size, record.pgoff = gone[6], gone[7], gone[6]
        self.perf.insert(record)
        text = self.fails(self.exactly(1, "coverage.stale", "invented"),
                          re.escape(record.range()) + ".*still known as executable after its end")
        self.only(text, "coverage.stale")

    def test_stale_because_nobody_tells_of_the_end(self) -> None:
        """The truth ends the mapping while it is known; its record is from before."""
        record = self.emitted_maps()[0]
        index = [index for index in self.truth.of(rd.Truth.UNMAP)
                 if self.truth.get(index)[6] == record.start][0]
        slot = list(self.truth.get(index))
        slot[4] = slot[5] = int(self.facts["stopped"]) - 1000
        self.truth.set(index, *slot)
        self.fails(self.exactly(1, "coverage.stale", "munmap"), re.escape(record.range()))

    def protect(self, pid: int, start: int, size: int, prot: int, before: int, after: int) -> None:
        self.truth.append(rd.Truth.PROTECT, 0, pid, pid, before, after, start, size, prot, 0)

    def test_stale_in_pieces(self) -> None:
        """Two pages lose their permission in turn and get it back; the records of that leave pieces
        of the first one, which are as old as it is, and true as soon as all pages are back."""
        record = self.emitted_maps()[0]
        time = int(self.facts["sampling"]) + 100_000_000
        for page in range(2):
            start = record.start + page * PAGE
            self.protect(record.pid, start, PAGE, 3, time, time + 1000)
            time += 1_000_000
            self.protect(record.pid, start, PAGE, 5, time, time + 1000)
            again = record.copy()
            again.time, again.size = time + 500, (page + 1) * PAGE
            self.perf.insert(again)
            time += 1_000_000
        text = self.fails(self.exactly(2, "coverage.stale", "mprotect"))
        self.assertNotIn("invented", text)
        self.assertNotIn("cause stale", text)

    def test_waiting_in_a_fault(self) -> None:
        """A sample where nothing is executable is a stray one, unless its thread stood there."""
        sample = self.deep()
        record = [record for record in self.emitted_maps()
                  if record.start <= sample.ip < record.start + record.size][0]
        self.protect(record.pid, record.start, record.size, 3, sample.time - 200, sample.time - 100)
        self.protect(record.pid, record.start, record.size, 5, sample.time + 100, sample.time + 200)
        stray = self.exactly(1, "coverage.stray", "closed")
        self.fails(stray)
        wait = (rd.Truth.WAIT, 0, sample.pid, sample.tid, sample.time - 1000, sample.time + 1000,
                sample.ip, 0, 0, 0)
        self.truth.append(*wait)
        self.assertNotIn("coverage.stray", self.fails("coverage.stale"))
        for field, wrong in ((3, sample.tid + 1), (5, sample.time - 500), (6, sample.ip + 1)):
            self.truth.set(len(self.truth.slots) - 1, *wait[:field], wrong, *wait[field + 1:])
            self.fails(stray)

    def test_standing_in_closed_pages(self) -> None:
        """A thread is sampled once before its fetch faults; whoever runs on there is a lie."""
        sample = self.deep()
        record = [record for record in self.emitted_maps()
                  if record.start <= sample.ip < record.start + record.size][0]
        self.protect(record.pid, record.start, record.size, 3, sample.time - 9000,
                     sample.time - 8000)
        again = copy.deepcopy(sample)
        again.time += 4000
        self.perf.insert(again)
        self.protect(record.pid, record.start, record.size, 5, sample.time + 8000,
                     sample.time + 9000)
        self.fails(self.exactly(1, "coverage.stray", "closed"),
                   self.exactly(1, "coverage.stray", "no-mapping"))

    def test_covered_by_an_invented_mapping(self) -> None:
        record = self.emitted_maps()[0].copy()
        record.time = int(self.facts["sampling"]) + 700_000_000
        record.name = "/usr/lib/libnot.so"
        self.perf.insert(record)
        self.fails(self.exactly(1, "coverage.late", "no-record"), re.escape(record.range()))

    def test_forgotten_by_an_invented_exec(self) -> None:
        record = self.emitted_maps()[0]
        self.perf.insert(self.perf.comm(record.pid, record.pid, "other",
                                        int(self.facts["sampling"]) + 700_000_000, True))
        self.fails(self.exactly(1, "coverage.late", "no-record"),
                   r"broken\.dump: \d+ with cause older-code \(no-record\)")


class Identities(Recorded):
    """Two executable mappings of one memfd: one in the snapshot, one that came while watched."""

    fixture = "memfd"

    def test_one_of_two_deleted(self) -> None:
        both = self.emitted_maps()
        self.assertEqual(len(both), 2)
        for gone, other in (both, both[::-1]):
            with self.subTest(gone.range()):
                whole = self.perf.records
                self.perf.records = [record for record in whole if record is not gone]
                text = self.fails(self.exactly(1, "coverage.missing", "no-record"),
                                  self.exactly(r"\d+", "broken.dump", "no-record"),
                                  re.escape(gone.range()) + ".*in no mapping record")
                self.assertNotIn(other.range(), text)
                self.perf.records = whole

    def test_live_one_late(self) -> None:
        record = self.emitted_maps()[1]
        record.time = int(self.facts["sampling"]) + 300_000_000
        self.perf.sort()
        mapped, = (slot[5] for slot in map(self.truth.get, self.truth.of(rd.Truth.MAP))
                   if slot[6] == record.start)
        self.fails(self.exactly(1, "coverage.late", "no-record"),
                   re.escape(record.range()) + f".*not known for {record.time - mapped} ns")

    def test_wrong_offset(self) -> None:
        record = self.emitted_maps()[1]
        record.pgoff += PAGE
        text = self.fails(self.exactly(1, "coverage.identity", "other-mapping"),
                          re.escape(record.range()) + ".*another mapping")
        self.only(text, "coverage.identity")

    def test_wrong_name(self) -> None:
        for name in ("/memfd:doublemappe (deleted)", "//anon"):
            self.emitted_maps()[0].name = name
            self.fails(self.exactly(1, "coverage.identity", "other-mapping"))

    def test_writable_view_claimed_executable(self) -> None:
        views = [slot for slot in map(self.truth.get, self.truth.of(rd.Truth.MAP))
                 if not slot[8] & rd.EXECUTE]
        record = self.emitted_maps()[0].copy()
        record.start, record.pgoff = views[0][6], views[0][9]
        self.perf.insert(record)
        self.fails(self.exactly(1, "coverage.stale", "not-executable"), re.escape(record.range()))


Chain = list[int]
Frames = list[int]
# (metric, cause, verdict) of a changed callchain, and of a changed stack dump.
HOLE = ("broken.chain", "hole", "hole")
SHORT = ("broken.chain", "kernel-walk", "short")
SINGLE = ("broken.chain", "kernel-walk", "single")
EXTRA = ("extra.chain", "extra-frame", "extra")
WRONG = ("wrong.chain", "wrong-frame", "wrong")
DUMP_WRONG = ("wrong.dump", "wrong-frame", "wrong")
DUMP_BAD = ("broken.dump", "bad-frame|dump-end", "short")
Expected = tuple[str, str, str]


def without(place: int) -> Callable[[Chain, int], Chain]:
    return lambda chain, at: chain[:at + place] + chain[at + place + 1:]


def inserted(place: int) -> Callable[[Chain, int], Chain]:
    return lambda chain, at: [*chain[:at + place], 0x12345678, *chain[at + place:]]


def replaced(place: int) -> Callable[[Chain, int], Chain]:
    return lambda chain, at: [*chain[:at + place], chain[at + place] + 1, *chain[at + place + 1:]]


# What becomes of a chain whose user part begins at an index.
CHAINS: tuple[tuple[str, Expected, Callable[[Chain, int], Chain]], ...] = (
    ("caller removed", HOLE, without(1)),
    ("caller's caller removed", HOLE, without(2)),
    ("native caller removed", HOLE, lambda chain, at: chain[:-2] + chain[-1:]),
    ("root cut", SHORT, lambda chain, at: chain[:-1]),
    ("tail cut", SHORT, lambda chain, at: chain[:at + 2]),
    ("only ip", SINGLE, lambda chain, at: chain[:at + 1]),
    ("empty", SINGLE, lambda chain, at: []),
    *((f"frame {place} invented", EXTRA, inserted(place)) for place in (1, 2, 4)),
    ("root invented", EXTRA, lambda chain, at: [*chain, chain[-1] + 16]),
    ("frame twice", EXTRA, lambda chain, at: chain[:at + 2] + chain[at + 1:]),
    *((f"frame {place} replaced", WRONG, replaced(place)) for place in (0, 1, 3)),
    ("root replaced", WRONG, lambda chain, at: [*chain[:-1], chain[-1] + 1]),
    ("frame replaced by what looks like a marker", WRONG,
     lambda chain, at: [*chain[:at + 1], rd.CONTEXT_MAX + 5, *chain[at + 2:]]),
    ("frames swapped", WRONG,
     lambda chain, at: [*chain[:at + 1], chain[at + 2], chain[at + 1], *chain[at + 3:]]),
    ("first frame missing", WRONG, without(0)),
)


class Chains(Recorded):
    """broken_stacks by the kernel's callchain: one sample is changed, one exception must come."""

    def test_each_change(self) -> None:
        sample = self.deep()
        whole, at = sample.chain, sample.user()
        for name, expected, change in CHAINS:
            with self.subTest(name):
                sample.chain = change(whole, at)
                self.changed(*expected, sample)

    def test_another_samples_chain(self) -> None:
        sample = self.deep()
        other = next(one for one in self.perf.samples()
                     if one.regs[rd.X86_IP] != sample.regs[rd.X86_IP])
        sample.chain = list(other.chain)
        self.changed(*WRONG, sample)

    def test_address_of_the_sample(self) -> None:
        """What a flat profile shows: the sample's own address, not its registers'."""
        sample = self.deep()
        sample.ip += 1
        self.changed("wrong.chain", "sample-ip", "wrong", sample)


def swap_return_addresses(sample: rd.Sample, frames: Frames) -> None:
    one, other = (sample.word(frame + 8) for frame in frames)
    sample.put(frames[0] + 8, other)
    sample.put(frames[1] + 8, one)


def invent_frame(sample: rd.Sample, frames: Frames) -> None:
    """In words that no frame needs: what stood there is a local variable."""
    frame, caller = frames[0], sample.word(frames[0])
    assert frame + 16 < caller - 8, "no space between two frames"
    sample.put(frame + 16, caller)
    sample.put(frame + 24, sample.word(frame + 8) + 1)
    sample.put(frame, frame + 16)


# What is done to a sample, whose two innermost frames by bp are known.
DUMPS: tuple[tuple[str, Expected, Callable[[rd.Sample, Frames], None]], ...] = (
    ("return address wrong", DUMP_WRONG,
     lambda sample, frames: sample.put(frames[0] + 8, sample.word(frames[0] + 8) + 1)),
    ("return address nowhere", DUMP_WRONG,
     lambda sample, frames: sample.put(frames[1] + 8, 0x1000)),
    ("return addresses swapped", DUMP_WRONG, swap_return_addresses),
    # The second caller's return address now follows the first's: its own is gone.
    ("frame skipped", ("broken.dump", "hole", "hole"),
     lambda sample, frames: sample.put(frames[0], sample.word(sample.word(frames[0])))),
    ("frame invented", ("extra.dump", "extra-frame", "extra"), invent_frame),
    # A frame pointer of zero is how a walk by them ends well.
    ("frame pointer 0", ("broken.dump", "complete", "short"),
     lambda sample, frames: sample.put(frames[0], 0)),
    ("frame pointer 1", DUMP_BAD, lambda sample, frames: sample.put(frames[0], 1)),
    ("frame pointer below the stack", DUMP_BAD,
     lambda sample, frames: sample.put(frames[0], sample.regs[rd.X86_SP] - 64)),
    ("frame pointer -8", DUMP_BAD, lambda sample, frames: sample.put(frames[0], 2**64 - 8)),
    ("dump cut", ("broken.dump", "dump-short", "short"),
     lambda sample, frames: setattr(sample, "stack",
                                    sample.stack[:frames[1] - sample.regs[rd.X86_SP]])),
    ("dump empty", ("broken.dump", "dump-short", "single"),
     lambda sample, frames: setattr(sample, "stack", bytearray())),
    ("base pointer wrong", ("broken.dump", "complete", "single"),
     lambda sample, frames: sample.regs.update({rd.X86_BP: 0})),
)


class Dumps(Recorded):
    """broken_stacks by unwinding the dump: its bytes are changed, the chain is as it was."""

    def test_each_change(self) -> None:
        sample = self.deep(linked=True)
        frames, stack, regs = self.frames(sample, 2), bytes(sample.stack), dict(sample.regs)
        for name, expected, change in DUMPS:
            with self.subTest(name):
                sample.stack, sample.regs = bytearray(stack), dict(regs)
                change(sample, frames)
                self.changed(*expected, sample)

    def test_stack_pointer_wrong(self) -> None:
        for change in (-8, 8, 4096, -4096):
            with self.subTest(change):
                sample = self.deep()
                sample.regs[rd.X86_SP] += change
                text = self.fails(self.exactly(1, "wrong.chain", "no-depth"),
                                  self.exactly(1, "wrong.dump", "no-depth"),
                                  rf"at {sample.time}, .*fits no depth of the path")
                self.only(text, "wrong.chain", "wrong.dump")
                sample.regs[rd.X86_SP] -= change

    def test_instruction_pointer_between_instructions(self) -> None:
        sample = self.deep()
        start = next(start for start, end in self.code()
                     if start <= sample.regs[rd.X86_IP] < end)
        sample.regs[rd.X86_IP] = start + 2  # inside of the first or second instruction
        self.fails(r"wrong\.(chain|dump): 1 with cause (no-depth|wrong-frame)")


class Times(Recorded):
    """Samples where the truth has none."""

    def gap(self, tid: int) -> tuple[int, int]:
        """The longest time in which a thread was in no path, between two stays."""
        enters = sorted(slot[4] for slot in map(self.truth.get, self.truth.of(rd.Truth.ENTER))
                        if slot[3] == tid)
        leaves = sorted(slot[5] for slot in map(self.truth.get, self.truth.of(rd.Truth.LEAVE))
                        if slot[3] == tid)
        first = int(self.facts["sampling"])
        return max((enter - leave, leave) for leave, enter in zip(leaves, enters[1:])
                   if leave > first)

    def test_between_two_stays(self) -> None:
        sample = self.deep()
        length, start = self.gap(sample.tid)
        self.assertGreater(length, 2)
        sample.time = start + length // 2
        self.perf.sort()
        self.fails(self.exactly(1, "wrong.chain", "no-stay"),
                   self.exactly(1, "wrong.dump", "no-stay"),
                   rf"at {sample.time}, .*in emitted code while the thread was in no path")

    def test_in_another_thread(self) -> None:
        sample = self.deep()
        sample.tid += 1000
        self.fails(self.exactly(1, "wrong.chain", "no-stay"),
                   self.exactly(1, "wrong.dump", "no-stay"))

    def test_in_another_stay(self) -> None:
        """Another path, another depth, or another time round: the address must not fit by luck."""
        sample = self.deep()
        enters = [slot for slot in map(self.truth.get, self.truth.of(rd.Truth.ENTER))
                  if slot[3] == sample.tid]
        own = max((slot for slot in enters if slot[4] <= sample.time), key=lambda slot: slot[4])
        other = next(slot for slot in enters if slot[6] != own[6] and
                     slot[4] > int(self.facts["sampling"]))
        sample.time = other[5] + 100_000
        self.perf.sort()
        self.fails(self.exactly(1, "wrong.dump", "no-depth|no-stay|wrong-frame"))


class Evidence(Recorded):
    """What makes a run worthless is an ERROR: never a pass, never the kernel's fault."""

    def test_what_the_capture_says(self) -> None:
        for fact, value, said in (
                ("lost_sideband", "3", "3 sideband records .* were lost"),
                ("slack", "100001", "the clocks of truth and capture differ by 100001 ns"),
                ("settled", "no", "threads were started faster than they could be listed")):
            with self.subTest(fact):
                right, self.facts[fact] = self.facts[fact], value
                self.errs(said)
                self.facts[fact] = right

    def test_window_without_the_samples(self) -> None:
        """Times of no capture, of one before and of one after: nothing would be judged by them."""
        right = dict(self.facts)
        times = ("enabled", "sampling", "stopped")
        hour = 3600 * 10**9
        middle = sorted(sample.time for sample in self.perf.samples())[20]
        for changed, held in (({"enabled": 1, "sampling": 2, "stopped": 3}, 0),
                              ({key: int(right[key]) + hour for key in times}, 0),
                              ({key: int(right[key]) - hour for key in times}, 0),
                              ({"sampling": middle + 1, "stopped": middle + 2}, 0),
                              ({"stopped": middle - 1}, 20), ({"sampling": middle + 1}, 19)):
            with self.subTest(changed):
                self.facts = {**right, **{key: str(value) for key, value in changed.items()}}
                # A half of them is no figure that an honest capture is near: all have 95 %.
                said = f"the window that the capture states holds {held} of 40 samples"
                if held < 20:
                    self.errs(said)
                else:
                    self.assertNotIn("the window that", self.judge()[1])

    def test_lost_sideband_by_record(self) -> None:
        """Of the second event, and of the tenth."""
        for count in (2, 10):
            shutil.rmtree(self.dir)
            self.take(self.fixture)
            self.perf.attrs += [rd.Attr(self.perf.attrs[1].raw, [10000 + number])
                                for number in range(len(self.perf.attrs), count)]
            lost = struct.pack("<QQ", self.perf.attrs[count - 1].ids[0], 7)
            self.perf.insert(self.perf.side(rd.LOST, lost, int(self.facts["sampling"])))
            self.errs("7 sideband records .* were lost")

    def sampling(self, kind: int, payload: bytes) -> rd.Side:
        """A record of the sampling event."""
        time = int(self.facts["sampling"])
        attrs, self.perf.attrs = self.perf.attrs, self.perf.attrs[:1]
        record = self.perf.side(kind, payload, time)
        self.perf.attrs = attrs
        return record

    def expect(self, line: str) -> None:
        with open(os.path.join(self.dir, "case"), "a", encoding="utf-8") as file:
            file.write(f"\t{line}\n")

    def test_lost_samples(self) -> None:
        """Whatever tells of them, and however many: an ERROR, unless the case bears so many."""
        identity = self.perf.attrs[0].ids[0]
        for count in (1, 1_000_000_000, 2**64 - 1):
            for kind, payload in ((rd.LOST, struct.pack("<QQ", identity, count)),
                                  (rd.LOST_SAMPLES, struct.pack("<Q", count))):
                with self.subTest(kind=kind, count=count):
                    record = self.sampling(kind, payload)
                    self.perf.insert(record)
                    self.errs(rf"lost.samples is .*\({count} of {min(count + 40, 2**64 - 1)}.*"
                              "states none")
                    self.perf.records.remove(record)
        self.facts["lost_samples"] = "7"
        self.errs(r"lost.samples is .*\(7 of 47.*states none")
        self.expect("lost.samples 0..7")
        self.passes()
        self.facts["lost_samples"] = "8"
        self.errs(r"lost.samples: 8 of 48; expected 0..7")

    def test_throttled(self) -> None:
        identity = self.perf.attrs[0].ids[0]
        stop, go = (self.sampling(kind, struct.pack("<QQQ", 1, identity, 0)) for kind in (5, 6))
        go.time += 1
        self.perf.insert(go)
        # It goes on, so it had stopped.
        self.errs("lost.throttled is 1, and the case states none")
        self.perf.insert(stop)
        self.errs("lost.throttled is 1, and the case states none")
        self.expect("lost.throttled <=1")
        self.passes()

    def test_behind_its_round(self) -> None:
        """A mapping that comes after what follows it was given out is in no order."""
        sample = self.perf.samples()[3]
        late = self.emitted_maps()[0]
        self.perf.sort()
        self.perf.records += [rd.Record(rd.FINISHED_ROUND, 0, b""), late.copy()]
        self.assertLess(late.time, sample.time)
        self.errs("1 records of perf.data are older than the end of a round before them")

    def test_unknown_id(self) -> None:
        """No event of the file gave it, though all are laid out alike."""
        self.perf.attrs[1].raw[:] = self.perf.attrs[0].raw
        lost = self.sampling(5, struct.pack("<QQQ", 1, 0, 0))
        for bit in (rd.ID, rd.IDENTIFIER):
            if bit in lost.tail():
                struct.pack_into("<Q", lost.body, lost.tail()[bit], 0x5eed)
        self.perf.attrs = self.perf.attrs[:1]
        self.perf.records = [lost]
        self.errs("1 records of perf.data have an id that no event of it has")

    def test_torn_and_unwritten_in_the_middle(self) -> None:
        middle = self.truth.slots[len(self.truth.slots) // 2]
        middle[40] ^= 1
        self.errs(r"the truth has \d+ gaps: torn records before whole ones")
        middle[:] = bytes(64)
        self.errs(r"the truth has \d+ gaps")

    def test_torn_at_the_end(self) -> None:
        """A writer that was killed: the last records may be half there, and nothing needs them."""
        self.truth.slots.append(bytearray(self.truth.slots[-1]))
        self.truth.slots[-1][20] ^= 1
        self.truth.next_slot += 1
        self.passes()

    def test_full(self) -> None:
        self.truth.capacity = len(self.truth.slots)
        self.truth.next_slot = len(self.truth.slots) + 9
        self.errs("the truth is full: 9 records were lost")

    def test_path_without_its_function(self) -> None:
        """A whole record that speaks of one that is not there."""
        del self.truth.slots[self.truth.of(rd.Truth.CODE_LOAD)[-1]]
        self.truth.next_slot -= 1
        self.errs(r"the truth has \d+ gaps")

    def test_clocks_just_near_enough(self) -> None:
        self.facts["slack"] = "100000"
        status, text = self.judge()
        self.assertNotIn("clocks of truth and capture differ by 100000 ns; at most", text)
        self.assertIn(status, (0, 1))

    def test_no_samples_and_no_mappings(self) -> None:
        for gone, said in ((rd.Sample, "nothing was checked: no sample was judged"),
                           (rd.Map, "nothing was checked")):
            self.perf.records = [record for record in self.perf.records
                                 if not isinstance(record, gone)]
            self.errs(said)

    def test_too_few_samples(self) -> None:
        surplus = self.perf.samples()[29:]
        self.perf.records = [record for record in self.perf.records if record not in surplus]
        self.errs("too little evidence: judged.chain is 29, the case needs 30")

    def test_too_few_places(self) -> None:
        path = os.path.join(self.dir, "case")
        text = files.read(path)
        hit = int(re.search(r'"distinct":\s*\{"k":\s*(\d+)', self.results()).group(1))
        for needed, found in ((hit, self.passes), (hit + 1, lambda: self.errs(
                f"{hit} distinct .* pairs were hit, the case needs {hit + 1}\n"))):
            files.write(path, text.replace("samples=30", f"samples=30 distinct={needed}"))
            found()

    def test_missing_dumps_are_broken(self) -> None:
        for sample in self.perf.samples()[29:]:
            sample.asked, sample.stack = 0, bytearray()
        self.fails(self.exactly(len(self.perf.samples()) - 29, "broken.dump", "no-data"))

    def test_too_many_unjudged(self) -> None:
        """One of 40 is more than 2 %: its native frames changed while it was in its path."""
        sample = self.perf.samples()[20]
        index = min((index for index in self.truth.of(rd.Truth.LEAVE)
                     if self.truth.get(index)[3] == sample.tid
                     and self.truth.get(index)[5] > sample.time),
                    key=lambda index: self.truth.get(index)[5])
        fields = list(self.truth.get(index))
        fields[7] = 1
        self.truth.set(index, *fields)
        self.errs("too little evidence: unjudged is .*1 of 40.*, at most 2 % are usual")

    def test_empty_perf_data(self) -> None:
        self.perf.records = []
        self.errs()

    def test_missing_and_cut_files(self) -> None:
        for name in ("truth", "perf.data", "maps", "capture"):
            path = os.path.join(self.dir, name)
            whole = files.read_bytes(path)
            os.unlink(path)
            with self.subTest(name + " missing"):
                status, text = judge(self.dir)
                self.assertEqual(status, 1, text)
                self.assertRegex(text, rf"(?s)/{name}: .*ERROR:1 ")
            files.write_bytes(path, whole[:len(whole) * 2 // 3 - 1])
            with self.subTest(name + " cut"):
                status, text = judge(self.dir)
                if name in ("truth", "perf.data"):
                    self.assertEqual(status, 1, text)
                    self.assertRegex(text, rf"(?s)/{name}.*ERROR:1 ")
                self.assertIn(status, (0, 1))
            files.write_bytes(path, whole)

    def test_injected_data_that_cannot_be_read(self) -> None:
        """An ERROR; what does not wait for it is judged all the same, in the order of names."""
        self.take("growth")
        whole = set(re.findall(r'"([a-z.]+)": \{"k"', self.results()))
        path = os.path.join(self.dir, "injected.data")
        files.write_bytes(path, files.read_bytes(path)[:3000])
        self.errs(r"injected\.data")
        found = set(re.findall(r'"([a-z.]+)": \{"k"', self.results(2)))
        self.assertLessEqual({"coverage.area", "processes", "files", "broken.dump"}, found)
        self.assertIn("names.right", whole - found)

    def test_foreign_ids_in_an_enter(self) -> None:
        index = self.truth.of(rd.Truth.ENTER)[0]
        slot = list(self.truth.get(index))
        slot[6] = 0xfffffff
        self.truth.set(index, *slot)
        self.errs(r"the truth has \d+ gaps")


class Counted(Recorded):
    """What is bad is counted where it is, and leaves the other counts alone."""

    judged = 0
    verdicts: dict[str, dict[str, int]]

    def metrics(self) -> dict[str, dict[str, float]]:
        self.judge()
        self.judged += 1
        result = json.loads(self.results(self.judged).splitlines()[0])
        self.verdicts = result["verdicts"]
        return result["metrics"]

    def test_forbidden(self) -> None:
        """Fits no depth: judged, and wrong, by each method."""
        before = self.metrics()
        self.deep().regs[rd.X86_SP] += 8
        after = self.metrics()
        for method in ("chain", "dump"):
            self.assertEqual(after[f"judged.{method}"]["k"], before[f"judged.{method}"]["k"])
            self.assertEqual((after[f"wrong.{method}"]["k"], after[f"wrong.{method}"]["n"]),
                             (1, before[f"judged.{method}"]["k"]))
            self.assertEqual(self.verdicts[method]["wrong"], 1)
            self.assertEqual(sum(self.verdicts[method].values()), before[f"judged.{method}"]["k"])

    def test_acts(self) -> None:
        """Only what ends executable memory can leave something stale."""
        names = ("munmap", "mprotect", "mremap")
        self.assertEqual([self.metrics()[f"acts.{name}"]["k"] for name in names], [2, 0, 0])
        record = self.emitted_maps()[0]
        time = int(self.facts["sampling"]) + 100_000_000
        for kind, prot in ((rd.Truth.PROTECT, 3), (rd.Truth.PROTECT, 3), (rd.Truth.PROTECT, 5),
                           (rd.Truth.PROTECT, 3), (rd.Truth.UNMAP, 0)):
            self.truth.append(kind, 0, record.pid, record.pid, time, time + 1000, record.start,
                              record.size, prot, 0)
            time += 1_000_000
        # What was closed ends no more, and is not there any more when it is unmapped at the end.
        self.assertEqual([self.metrics()[f"acts.{name}"]["k"] for name in names], [1, 2, 0])

    def test_without_the_files(self) -> None:
        """The walk ends in the program that was not kept: foretold, whatever else is."""
        self.take("memfd")
        judged = self.metrics()["predicted.dump"]["k"]
        self.assertGreater(judged, 30)
        for name in os.listdir(os.path.join(self.dir, "elf")):
            os.unlink(os.path.join(self.dir, "elf", name))
        metrics = self.metrics()
        self.assertEqual((metrics["broken.dump"]["k"], metrics["predicted.dump"]["k"]),
                         (judged, judged))
        self.assertEqual(self.verdicts["dump"], {"short": judged})
        # Another frame at its end is not.
        self.deep(1, linked=True).put(self.frames(self.deep(1, linked=True), 1)[0] + 8, 0x5eed)
        self.assertEqual(self.metrics()["predicted.dump"]["k"], judged - 1)

    def test_known_samples(self) -> None:
        """In a mapping that is executable, of the right kind and name."""
        samples = len(self.perf.samples())
        self.take("memfd")
        known = self.metrics()["coverage.samples"]
        self.assertEqual((known["k"], known["n"]), (samples, samples))
        maps = self.emitted_maps()
        ip = self.perf.samples()[0].regs[rd.X86_IP]
        one = next(record for record in maps if 0 <= ip - record.start < record.size)
        inside = sum(0 <= sample.regs[rd.X86_IP] - one.start < one.size
                     for sample in self.perf.samples())
        name, prot = one.name, one.prot
        changes: list[dict[str, Any]] = [{"prot": rd.READ}, {"name": name + "x"},
                                         {"pgoff": one.pgoff + PAGE}]
        for change in changes:
            with self.subTest(change):
                kept = {key: getattr(one, key) for key in change}
                for key, value in change.items():
                    setattr(one, key, value)
                known = self.metrics()["coverage.samples"]
                self.assertEqual((known["k"], known["n"]), (samples - inside, samples))
                for key, value in kept.items():
                    setattr(one, key, value)
        self.assertEqual((one.name, one.prot), (name, prot))


class Elsewhere(Recorded):
    """Samples that were taken, and are not where the truth has them: nobody lacks evidence."""

    def astray(self, count: int) -> None:
        for sample in self.perf.samples()[:count]:
            sample.ip = sample.regs[rd.X86_IP] = 0x1234

    def test_all_of_them(self) -> None:
        self.astray(40)
        self.fails("40 samples are not where the truth says that they must be, 0 are:",
                   "40 of threads inside of a path, in no emitted code",
                   "0 of processes that the truth does not know")

    def test_as_many_as_are_needed_and_most_of_them(self) -> None:
        self.astray(21)
        self.fails("21 samples are not where .*, 19 are:")
        self.take("memfd")
        self.astray(20)
        self.errs("too little evidence: judged.chain is 20, the case needs 30")

    def test_too_few_anyway(self) -> None:
        self.astray(40)
        for sample in self.perf.samples()[29:]:
            self.perf.records.remove(sample)
        self.errs("nothing was checked: no sample was judged")
        self.take("memfd")
        self.astray(40)
        for sample in self.perf.samples()[30:]:
            self.perf.records.remove(sample)
        self.fails("30 samples are not where the truth says")

    def test_of_another_process(self) -> None:
        for sample in self.perf.samples():
            sample.pid = 1
        self.fails("40 samples are not where .*, 0 are:",
                   "  40 of processes that the truth does not know")

    def test_without_registers(self) -> None:
        """Nor has who leaves them out of what was asked for."""
        for sample in self.perf.samples():
            sample.abi = 0
            sample.ip = 0xffffffff81000000
        self.fails("40 of threads inside of a path, in no emitted code")


class Modes(Recorded):
    """Mode, address, registers and callchain of a sample are one story."""

    KERNEL_IP = 0xffffffff81000000

    def bad(self, cause: str, change: Callable[[rd.Sample], None]) -> None:
        with self.subTest(cause):
            samples = self.perf.samples()
            sample = samples[11]
            self.assertEqual(sample.misc & 7, rd.USER)
            self.perf.records[self.perf.records.index(sample)] = changed = copy.deepcopy(sample)
            change(changed)
            self.fails(self.exactly(1, "modes.bad", cause),
                       rf"(?m)^#   at {sample.time}, {sample.pid}/{sample.tid}: mode ")
            self.perf.records[self.perf.records.index(changed)] = sample

    @staticmethod
    def put(name: str, value: int) -> Callable[[rd.Sample], None]:
        return lambda sample: setattr(sample, name, value)

    def in_kernel(self, sample: rd.Sample) -> None:
        """As the kernel writes a sample of its own."""
        sample.misc, sample.ip = rd.KERNEL, self.KERNEL_IP
        sample.chain[:0] = [rd.CONTEXT_KERNEL, self.KERNEL_IP]

    def test_each_rule(self) -> None:
        for mode in (0, 3, 4, 5):
            self.bad("other-mode", self.put("misc", mode))
        self.bad("kernel-address", self.put("ip", self.KERNEL_IP))
        self.bad("user-address", self.put("misc", rd.KERNEL))
        self.bad("other-ip", self.put("ip", 0x1234))
        self.bad("no-registers", self.put("abi", 0))
        self.bad("32-bit", self.put("abi", 1))
        self.bad("kernel-registers",
                 lambda sample: sample.regs.update({rd.X86_IP: self.KERNEL_IP}))
        self.bad("kernel-registers",
                 lambda sample: sample.regs.update({rd.X86_SP: self.KERNEL_IP}))
        self.bad("other-part", lambda sample: sample.chain.insert(0, rd.CONTEXT_KERNEL))

        def other_chain(sample: rd.Sample) -> None:
            sample.chain[sample.user()] += 1
        self.bad("other-chain", other_chain)
        self.bad("other-period", lambda sample: sample.one.update({rd.PERIOD: 1000}))

    def test_in_the_kernel(self) -> None:
        """Its user part is judged as any, and counted apart; it has rules of its own."""
        sample = self.perf.samples()[11]
        self.in_kernel(sample)
        before = self.results()
        self.assertNotIn("modes.bad", self.passes())
        after = self.results(2)
        told = [json.loads(text)["verdicts_in_kernel"] for text in (before, after)]
        for method in ("chain", "dump"):
            self.assertEqual([sum(one[method].values()) for one in told], [1, 2])
        plain = copy.deepcopy(sample)
        for cause, change in (
                ("other-kernel-chain", lambda: sample.chain.__setitem__(1, self.KERNEL_IP + 8)),
                ("other-part", lambda: sample.chain.__delitem__(slice(0, 2))),
                ("other-chain", lambda: sample.chain.__setitem__(3, sample.chain[3] + 1)),
                ("no-registers", lambda: setattr(sample, "abi", 0)),
                ("user-address", lambda: setattr(sample, "ip", 0x1234))):
            with self.subTest(cause):
                change()
                self.fails(self.exactly(1, "modes.bad", cause))
                sample.chain, sample.abi, sample.ip = list(plain.chain), plain.abi, plain.ip

    def test_not_asked(self) -> None:
        """A mode that the event's attr leaves out."""
        self.in_kernel(self.perf.samples()[11])
        self.perf.attrs[0].raw[40] |= 1 << 5  # exclude_kernel
        self.fails(self.exactly(2, "modes.bad", "not-asked"))

    def attr(self, at: int, clear: int, said: str) -> None:
        """Of the sampling event's attr, the bits @clear of the word at @at go."""
        attr = self.perf.attrs[0]
        with self.subTest(said):
            whole = bytes(attr.raw)
            word = struct.unpack_from("<Q", attr.raw, at)[0]
            struct.pack_into("<Q", attr.raw, at, word & ~clear)
            status, text = self.judge()
            attr.raw[:] = whole
            # Without registers no sample is anywhere: that is a FAIL by itself.
            self.assertEqual(status, 1, text)
            self.assertIn(f"event 0 of perf.data was not asked for {said}\n", text)

    def test_what_the_event_was_asked_for(self) -> None:
        case = os.path.join(self.dir, "case")
        files.write(case, files.read(case).replace("samples=30", "samples=30 methods=chain,dump"))
        kernel_alone = struct.unpack_from("<Q", self.perf.attrs[0].raw, 40)[0]
        self.attr(24, rd.CALLCHAIN, "callchains with the user's part")
        self.attr(24, rd.REGS_USER, "user registers")
        self.attr(40, 1 << 25, "times by CLOCK_MONOTONIC in all its records")
        self.attr(24, rd.STACK_USER, "the stack dump that the capture states")
        struct.pack_into("<Q", self.perf.attrs[0].raw, 40, kernel_alone | 1 << 22)
        self.errs("not asked for callchains with the user's part")


class Slack(Recorded):
    """The clocks differ, so brackets are wider by as much: that, no more and no less."""

    fixture = "slack"

    def state(self, slack: int) -> None:
        self.facts["slack"] = str(slack)
        self.watched("slack", slack)

    def watched(self, key: str, value: int) -> None:
        path = os.path.join(self.dir, "watched")
        files.write(path, re.sub(rf"(?m)^{key} \d+$", f"{key} {value}", files.read(path)))

    def test_less_of_it(self) -> None:
        """Whoever forgets it finds stacks of no path, mappings and forks of no process."""
        self.state(0)
        text = self.fails()
        self.only(text, "wrong.chain", "mappings.invented", "mappings.extra", "coverage.stale",
                  "fork.records", "fork.missing", "acts.records")
        self.state(60_000)
        self.only(self.fails(), "wrong.chain", "mappings.invented", "acts.records")

    def test_as_much_and_more(self) -> None:
        for slack in (90_000, 100_000):
            self.state(slack)
            self.passes()

    def test_a_thread_before_it_begins(self) -> None:
        """Its first sample may seem to be older by as much, and by no more."""
        sample = self.perf.samples()[0]
        born = min(slot[4] for slot in map(self.truth.get, self.truth.of(
            rd.Truth.PROCESS_START) + self.truth.of(rd.Truth.THREAD_START))
            if sample.tid in (slot[3], slot[6]))
        for early, unknown in ((90_000, False), (90_001, True)):
            sample.time = born - early
            self.perf.sort()
            self.assertEqual("tasks.strangers: 1 " in self.judge()[1], unknown, early)

    def test_a_sample_after_the_capture(self) -> None:
        """As long as it may be before its end by the other clock."""
        seen = dict(line.split() for line in
                    files.read(os.path.join(self.dir, "watched")).splitlines())
        sample = self.perf.samples()[-1]
        for late, never in ((90_000, False), (90_001, True)):
            sample.time = int(seen["ended"]) + late
            self.perf.sort()
            self.assertEqual("or of after it ended" in self.judge()[1], never, late)

    def test_the_capture_states_another(self) -> None:
        self.facts["slack"] = "90001"
        self.errs("the capture states slack 90001; the runner saw 90000 to 90000")

    def test_what_the_runner_saw(self) -> None:
        """A window that is not the capture's own, though all samples lie in it."""
        for key, limit, step in (("enabled", "started", -1), ("sampling", "begun", 1),
                                 ("stopped", "ending", -1), ("stopped", "ended", 1)):
            with self.subTest(key + " beyond " + limit):
                right = dict(self.facts)
                seen = dict(line.split() for line in
                            files.read(os.path.join(self.dir, "watched")).splitlines())
                self.facts[key] = seen[limit]
                status, text = self.judge()
                self.assertNotIn("the runner saw", text)
                self.facts[key] = str(int(seen[limit]) + step)
                status, text = self.judge()
                self.assertEqual(status, 1, text)
                self.assertIn(f"the capture states {key} {self.facts[key]}; the runner saw", text)
                self.facts = right

    def test_nobody_watched(self) -> None:
        """A truth of version 3 has a runner that wrote down what it saw."""
        path = os.path.join(self.dir, "watched")
        whole = files.read(path)
        for text, said in ((None, "watched: No such file"), ("", 'watched:1: expected "started N'),
                           (whole + "more 1\n", 'watched:10: expected "cpus N'),
                           (whole + "cpus 2\ntask_clock 0\nsynth 2\nmore 1\n",
                            "watched:13: expected the end"),
                           (whole.replace("begun", "began"), 'watched:2: expected "begun N'),
                           (re.sub(r"(?m)^begun .*$", "begun 1", whole),
                            "expected started <= begun <= ending <= ended")):
            with self.subTest(said):
                os.unlink(path)
                if text is not None:
                    files.write(path, text)
                self.errs(said)
                files.write(path, whole)

    def test_methods_that_were_asked_for(self) -> None:
        """No range names them, and the file cannot show what it does not hold."""
        case = os.path.join(self.dir, "case")
        files.write(case, files.read(case).replace(" methods=chain", ""))
        flags = struct.unpack_from("<Q", self.perf.attrs[0].raw, 40)[0]
        struct.pack_into("<Q", self.perf.attrs[0].raw, 40, flags | 1 << 22)
        for sample in self.perf.samples():
            del sample.chain[sample.user() - 1:]
        self.errs("event 0 of perf.data was not asked for callchains with the user's part")


class Controls(Recorded):
    """A capture that is wrong on purpose passes only when it is wrong for that reason alone."""

    fixture = "pathless"

    def add_mapping(self) -> None:
        slot = self.truth.get(self.truth.of(rd.Truth.MAP)[0])
        one = self.perf.maps()[0]
        self.perf.insert(self.perf.map(one.pid, slot[6], slot[7], "//anon",
                                       one.time, rd.READ | rd.WRITE | rd.EXECUTE))

    def test_not_caught(self) -> None:
        """The profiler was mended: the control no longer shows anything."""
        self.add_mapping()
        self.fails("not caught: no exception has the cause pathless")

    def test_another_cause_beside(self) -> None:
        sample = self.deep()
        sample.chain[sample.user() + 1] += 1
        for record in self.perf.maps():
            if record.name.endswith("/libc.so.6"):
                self.perf.records.remove(record)
        # Without the C library's mapping, unwinding from anonymous code added back ends there.
        self.fails(r"with what was left out added back, \d+ remain")

    def test_another_fault_beside(self) -> None:
        sample = self.deep()
        sample.regs[rd.X86_SP] += 8
        self.fails(r"wrong\.\w+: 1 with cause no-depth; a control fails by pathless alone")

    def test_added_back_at_the_time_of_a_sample(self) -> None:
        """What was left out is there when the first sample that needs it comes."""
        path = os.path.join(self.dir, "maps")
        text = files.read(path)
        first = min(sample.time for sample in self.perf.samples())
        files.write(path, re.sub(r"before \d+ after \d+", f"before {first} after {first}", text,
                                 count=1))
        self.assertIn("all pathless; added back: 0 broken", self.passes())
        files.write(path, re.sub(r"before \d+ after \d+",
                                 f"before {first + 1} after {first + 1}", text, count=1))
        self.fails("broken.chain: with what was left out added back, 1 remain")

    def test_wrong_behind_unmapped(self) -> None:
        """Each sampled address is in no mapping; that excuses no frame that cannot be."""
        sample = self.deep()
        chain, place = list(sample.chain), sample.user() + 1
        sample.chain[place] += 1
        self.fails("wrong.chain: 1 with cause wrong-frame; a control fails by pathless alone",
                   f"#   wrong at {sample.time}, ")
        self.assertIn("wrong.chain\": {\"k\": 1", self.results())
        self.assertIn(f"\"unmapped\": {len(self.perf.samples())}}}", self.results(2))
        sample.chain = chain[:place + 1] + [self.code()[0][0] + 1] + chain[place + 1:]
        self.fails("extra.chain: 1 with cause extra-frame; a control fails by pathless alone",
                   f"#   extra at {sample.time}, ")
        self.assertIn("extra.chain\": {\"k\": 1", self.results(3))
        sample.chain = chain
        sample.ip += 1
        self.fails("wrong.chain: 1 with cause sample-ip; a control",
                   f"the sample's own address is {sample.ip:x}")

    def test_what_was_left_out_is_not_the_cause(self) -> None:
        """The mapping is missing, but it stands in no snapshot: nothing was skipped."""
        path = os.path.join(self.dir, "maps")
        start = self.truth.get(self.truth.of(rd.Truth.MAP)[0])[6]
        with open(path, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith(f"{start:x}-")]
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines)
        self.fails("with cause no-record; a control fails by pathless alone",
                   "not caught: no exception has the cause pathless")

    def test_policy_that_skips_nothing(self) -> None:
        self.facts["policy"] = "exec"
        self.fails("with cause no-record; a control fails by pathless alone",
                   "not caught: no exception has the cause pathless")


class EqualMappings(Recorded):
    """equal_mappings, on a truth with maps: a program, its libraries, anonymous memory that grows
    in live records."""

    fixture = "mappings"
    INVENTED = "mappings.invented"

    def libc(self) -> rd.Map:
        return next(record for record in self.perf.maps() if record.name.endswith("libc.so.6"))

    def anon(self) -> list[rd.Map]:
        return [record for record in self.perf.maps() if record.name == "//anon"]

    def marks(self) -> list[int]:
        return self.truth.of(rd.Truth.MAPS)

    def test_as_recorded(self) -> None:
        self.assertEqual(len(self.anon()), 4)
        self.passes()

    def test_each_field_of_each_record(self) -> None:
        """Whatever it is changed to, it is not what the process had."""
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
                    # Flags and permissions by their bits: shared for private, one more or less.
                    wrong = right ^ by if field in ("prot", "flags", "maj") else right + by
                    setattr(record, field, wrong)
                    self.fails(self.exactly(1, self.INVENTED, cause),
                               rf"record of {record.time}: {re.escape(record.range())} ")
                    setattr(record, field, right)
            self.assertEqual(bytes(record.body), bytes(whole[at].body))

    def test_another_name(self) -> None:
        for record, name, cause in ((self.libc(), "/usr/lib/libnot.so", "name"),
                                    (self.anon()[0], "/memfd:other (deleted)", "kind"),
                                    (self.anon()[0], "/usr/lib/libnot.so", "kind")):
            with self.subTest(name):
                right = record.name
                record.name = name
                self.fails(self.exactly(1, self.INVENTED, cause))
                record.name = right

    def test_impossible(self) -> None:
        """A thread that nobody is, no name at all, a time before anything was told."""
        for field, wrong, cause in (("tid", 4000000, "thread"), ("name", "", "name"),
                                    ("time", int(self.facts["enabled"]) // 2, "time")):
            with self.subTest(field):
                record = self.anon()[0]
                right = getattr(record, field)
                setattr(record, field, wrong)
                self.fails(self.exactly(1, self.INVENTED, cause))
                setattr(record, field, right)

    def test_of_nobody(self) -> None:
        record = self.libc().copy()
        record.pid = record.tid = 4000000
        self.perf.insert(record)
        self.fails(self.exactly(1, "mappings.unknown", "unwatched"), "pid 4000000, of which")

    def test_invented_memory(self) -> None:
        """A megabyte where nothing is, and a file over the end of the C library's text."""
        anon, libc = self.anon()[0].copy(), self.libc().copy()
        anon.start -= 1 << 30
        anon.pgoff, anon.size = anon.start, 1 << 20
        libc.start += libc.size - PAGE
        libc.size, libc.name, libc.time = 2 * PAGE, "/usr/lib/libnot.so", anon.time
        for record, cause in ((anon, "invented"), (libc, "name")):
            with self.subTest(record.name):
                self.perf.insert(record)
                self.fails(self.exactly(1, self.INVENTED, cause),
                           f"with cause {'name' if record is libc else 'invented'}, which")
                self.perf.records.remove(record)

    def test_too_early(self) -> None:
        """Each of them tells of a page that the one before did not have."""
        later, before = self.anon()[2], self.anon()[1]
        later.time = before.time + 1
        self.fails(self.exactly(1, self.INVENTED, "invented"))

    def test_missing(self) -> None:
        """No sample lies in these libraries: nobody else misses them."""
        for name in ("libbz2.so.1.0.4", "libz.so.1.2.13"):
            record = next(one for one in self.perf.maps() if one.name.endswith(name))
            self.perf.records.remove(record)
        text = self.fails(self.exactly(2, "mappings.missing", "no-record"),
                          r"there is [0-9a-f]+-[0-9a-f]+ prot 5 p inode \d+ /.*libbz2\.so\.1\.0\.4"
                          "; the capture has nothing")
        self.only(text, "mappings.missing")

    def test_shorter(self) -> None:
        """The next mark finds what the record did not tell."""
        record = self.libc()
        record.size -= PAGE
        text = self.fails(self.exactly(1, "mappings.missing", "no-record"))
        self.only(text, "mappings.missing")

    def injected(self, change: Callable[[rd.Map], None], gone: str = "") -> str:
        """What is said of an injected.data with a record of the first function, changed, and
        without those of the file @gone; names are not asked here."""
        case = os.path.join(self.dir, "case")
        text = files.read(case).split(" publish=")[0].rstrip()
        files.write(case, text + " publish=jitdump inject=cut\n")
        perf = rd.PerfData.load(os.path.join(FIXTURES, self.fixture, "perf.data"))
        code = self.truth.get(self.truth.of(rd.Truth.CODE_LOAD)[0])
        record = next(one for one in perf.maps() if one.name == "//anon").copy()
        record.start, record.size, record.pgoff, record.time = code[6], code[7], 64, code[5] + 1
        record.name = "/tmp/jitted-1-1.so"
        change(record)
        perf.records = [one for one in perf.records
                        if not (gone and isinstance(one, rd.Map) and one.name.endswith(gone))]
        perf.insert(record)
        perf.save(os.path.join(self.dir, "injected.data"))
        return self.judge()[1]

    def test_injected(self) -> None:
        def set_to(field: str, value: Callable[[rd.Map], int]) -> Callable[[rd.Map], None]:
            return lambda record: setattr(record, field, value(record))

        self.assertNotIn("# injected.", self.injected(lambda record: None))
        for change, cause in ((set_to("start", lambda one: one.start + 16), "no-code"),
                              (set_to("size", lambda one: one.size // 2), "shorter"),
                              (set_to("pid", lambda one: one.pid + 1), "no-code"),
                              (set_to("time", lambda one: one.time - 10**9), "other-time")):
            with self.subTest(cause):
                self.assertRegex(self.injected(change),
                                 self.exactly(1, "injected.mappings", cause))
        self.assertRegex(self.injected(lambda record: None, "libz.so.1.2.13"),
                         self.exactly(1, "injected.missing", "taken"))

    def test_no_marks(self) -> None:
        for at in self.marks():
            slot = self.truth.get(at)
            self.truth.set(at, rd.Truth.MARK, *slot[1:])
        self.errs("ran code while it was watched, and the truth has no maps of it")

    def test_contradicting_marks(self) -> None:
        """An act that the maps do not show."""
        first = self.truth.get(self.truth.of(rd.Truth.MAP)[-1])
        self.truth.append(*first[:6], first[6] - (1 << 30), PAGE, rd.READ | rd.EXECUTE, 0)
        self.errs("the truth contradicts itself: .*mapped executable, but not in its maps")

    def test_act_within_a_mark(self) -> None:
        """Where another thread mapped something meanwhile the text contradicts nothing."""
        first = self.truth.get(self.truth.of(rd.Truth.MAP)[-1])
        until = self.truth.get(self.truth.of(rd.Truth.PROCESS_EXIT)[0])[5]
        self.truth.append(*first[:5], until, first[6] - (1 << 30), PAGE, rd.READ | rd.EXECUTE, 0)
        self.passes()


class Pure(Recorded):
    """Judging reads the run directory and nothing else of the machine."""

    def same_in_an_empty_root(self, directory: str, *arguments: str) -> str:
        """What jitproof says of @directory, as /case, where nothing else is: the same bytes."""
        if os.environ.get("NEEDS_PROC"):
            self.skipTest("this build looks for leaks, through /proc")
        needs_namespaces(self)
        root = self.place("root")
        needed = {JITPROOF: "/jitproof", directory: "/case"}
        needed.update((path, path) for path in
                      re.findall(r"(/\S+)", process.must(["ldd", JITPROOF])))
        script = [f"mount -t tmpfs none '{root}'"]
        for source, target in needed.items():
            place = root + target
            if os.path.isdir(source):
                script.append(f"mkdir -p '{place}'")
            else:
                script.append(f"mkdir -p '{os.path.dirname(place)}' && : > '{place}'")
            script.append(f"mount --rbind '{os.path.realpath(source)}' '{place}'")
            script.append(f"mount -o remount,bind,ro '{place}'")
        script.append(f'exec chroot "{root}" /jitproof "$@"')
        os.makedirs(root, exist_ok=True)
        inside = process.run(["unshare", "-Urm", "sh", "-ec", "\n".join(script), "sh", *arguments,
                              "/case"])
        outside = process.run([JITPROOF, *arguments, directory])
        self.assertEqual(inside.stderr, "")
        self.assertEqual(inside.returncode, outside.returncode)
        self.assertEqual(inside.stdout, outside.stdout.replace(directory, "/case"))
        return inside.stdout

    def test_in_an_empty_root(self) -> None:
        self.assertIn("ok 1 fixture/", self.same_in_an_empty_root(self.dir, "judge"))

    def test_run_directory_in_an_empty_root(self) -> None:
        run = self.place("run")
        for name in ("anon", "memfd", "pathless"):
            shutil.copytree(os.path.join(FIXTURES, name), os.path.join(run, "fixture", name))
        self.assertIn("\nok 3 fixture/pathless", self.same_in_an_empty_root(run, "judge"))

    def test_file_in_an_empty_root(self) -> None:
        said = self.same_in_an_empty_root(os.path.join(self.dir, "perf.data"), "judge", "--json")
        self.assertIn('"samples"', said)

    def test_failing_in_an_empty_root(self) -> None:
        """The text of failures too: it names mappings, functions and files."""
        for record in self.emitted_maps():
            self.perf.records.remove(record)
        self.perf.save(os.path.join(self.dir, "perf.data"))
        self.assertIn("not ok 1 fixture/", self.same_in_an_empty_root(self.dir, "judge"))


if __name__ == "__main__":
    unittest.main()
