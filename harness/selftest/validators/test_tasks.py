# SPDX-License-Identifier: GPL-2.0-only
"""Tests names and parents of tasks on a live run, which passes: each altered record is found."""

import glob
import os
import shutil
import struct
from typing import Callable

from ci.base import process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import judge
from harness.selftest.support.scratch import Folder, JITPROOF

# Children by each way of fork and exec; one child is killed.
TREE = """case tree full : short_lived --count=16 : launch --stack=8192 --freq=999 : samples=50
	coverage.stale allow munmap <=acts.munmap	# the kernel has no record of munmap
"""
# Three processes publish code at the same addresses.
NAMES = """defaults : : launch --stack=8192 --freq=999 : publish=jitdump inject=strip samples=50
case tree full : prefork --children=2
	names.unnamed any, names.wrong any, load.right any
"""


class Recorded(Folder):
    case = TREE

    def setUp(self) -> None:
        super().setUp()
        self.write(self.case, "expected", "tree")
        run = process.run([JITPROOF, "run", "--set=full", "--expected", self.place("expected"),
                           "-o", self.place("run")], timeout=240)
        self.dir = self.place("run", "tree", "tree")
        if "# SKIP" in run.stdout:
            self.skipTest(run.stdout)
        self.assertIn(" ERROR:0 ", run.stdout)

    def judge_changed(self, change: Callable[[rd.PerfData], None], *patterns: str) -> str:
        """Judges a copy that @change altered, asserts that the output contains @patterns, and
        returns the output."""
        copy = self.place("copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.dir, copy)
        perf = rd.PerfData.load(os.path.join(copy, "perf.data"))
        change(perf)
        perf.save(os.path.join(copy, "perf.data"))
        status, text = judge(copy)
        self.assertEqual(status, 1, text)
        for pattern in patterns:
            self.assertRegex(text, pattern)
        return text

    @staticmethod
    def find_records(perf: rd.PerfData, kind: int) -> list[rd.Side]:
        return [record for record in perf.records
                if isinstance(record, rd.Side) and record.kind == kind]


class Identity(Recorded):
    def test_forks_and_exits(self) -> None:
        """Alters the middle FORK and the middle EXIT, in one way at a time."""
        for kind, name in ((rd.FORK, "fork"), (rd.EXIT, "exit")):
            def choose_record(perf: rd.PerfData, kind: int = kind) -> rd.Side:
                record = self.find_records(perf, kind)
                return record[len(record) // 2]

            def delay_record(perf: rd.PerfData) -> None:
                choose_record(perf).time += 400_000_000
                perf.sort()

            def change_word(at: int) -> Callable[[rd.PerfData], None]:
                def add_one(perf: rd.PerfData) -> None:
                    body = choose_record(perf).body
                    struct.pack_into("<I", body, at, struct.unpack_from("<I", body, at)[0] + 1)
                return add_one
            for change, message in (
                    (lambda perf: perf.records.remove(choose_record(perf)),
                     f"{name}.missing: 1 with cause no-record"),
                    (lambda perf: perf.insert(choose_record(perf).copy()),
                     rf"{name}.records: 1 with cause (twice|other-time)"),
                    (delay_record, rf"{name}.records: 1 with cause (other-time|twice)"),
                    (change_word(0), rf"{name}.records: 1 with cause (unknown|other-process)"),
                    (change_word(4), rf"{name}.records: 1 with cause other-parent"),
                    (change_word(12), rf"{name}.records: 1 with cause other-parent")):
                with self.subTest(name, message=message):
                    self.judge_changed(change, message)


class Names(Recorded):
    """Each process has functions of its own at the same addresses."""

    case = NAMES

    def setUp(self) -> None:
        super().setUp()
        # The parent first: its start is the first record. Pids may wrap, and gain a digit.
        parent, = struct.unpack_from("<I", rd.Truth(os.path.join(self.dir, "truth")).slots[0], 8)
        first = os.path.join(self.dir, "jit-%d.dump" % parent)
        self.dumps = {path: rd.Jitdump(path) for path in
                      sorted(glob.glob(os.path.join(self.dir, "jit-*.dump")),
                             key=lambda path: path != first)}
        self.assertIn(first, self.dumps)
        self.assertEqual(len(self.dumps), 3)
        self.assertNotIn("order.stray", judge(self.dir)[1])

    def test_names_are_unique(self) -> None:
        names: set[str] = set()
        for dump in self.dumps.values():
            own = {dump.load(record)[3] for record in dump.loads()}
            self.assertFalse(names & own)
            names |= own

    def test_record_in_anothers_dump(self) -> None:
        """The parent's dump contains a record of its child, then one with the parent's pid."""
        (path, parent), (_, child), _ = self.dumps.items()
        record = bytearray(child.loads()[0])
        parent.records.insert(1, record)
        for pid in (None, struct.unpack_from("<I", parent.header, 20)[0]):
            if pid:
                struct.pack_into("<I", record, 16, pid)
            parent.save(path)
            self.assertRegex(judge(self.dir)[1], r"order\.stray: 1 with cause wrong-owner")

    def test_anothers_names(self) -> None:
        """Gives the functions of a process the names of another process."""
        (path, one), _, (_, other) = self.dumps.items()
        for record, theirs in zip(one.loads(), other.loads()):
            name = other.load(theirs)[3].encode()
            self.assertEqual(len(name), len(one.load(record)[3]))
            record[56:56 + len(name)] = name
        one.save(path)
        text = judge(self.dir)[1]
        self.assertRegex(text, r"order\.stray: \d+ with cause wrong-owner")

    def test_injected_into_another(self) -> None:
        """Gives records of injected code the pid of another process."""
        path = os.path.join(self.dir, "injected.data")
        perf = rd.PerfData.load(path)
        injected = [record for record in perf.maps() if "/jit/jit-" in record.name]
        pids = sorted({record.pid for record in injected})
        self.assertEqual(len(pids), 3)
        for record in injected[-3:]:
            record.pid = pids[0] if record.pid != pids[0] else pids[1]
        perf.save(path)
        self.assertRegex(judge(self.dir)[1], r"inject\.stray: 3 with cause wrong-owner")
