#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Who is who: a recorded run passes; each change of a name, or of who made whom, is noticed."""

import os
import re
import shutil
import struct
import subprocess
import sys
import unittest
from typing import Callable

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import process
from harness.selftest import run_directory as rd
from harness.selftest.scratch import Folder, JITPROOF

# Forked, forked and exec'd, by each way there is; one is killed.
CASE = """case tree full : short_lived --count=16 : launch --stack=8192 --freq=999 : samples=50
	coverage.stale allow munmap <=acts.munmap	# the kernel has no record of munmap
"""


def judge(directory: str) -> tuple[int, str]:
    done = process.run([JITPROOF, "judge", directory], stderr=subprocess.STDOUT, timeout=60)
    return done.returncode, done.stdout


class Identity(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.write(CASE, "expected", "tree")
        run = process.run([JITPROOF, "run", "--set=full", "--expected", self.place("expected"),
                           "-o", self.place("run")], timeout=90)
        self.dir = self.place("run", "tree", "tree")
        if "# SKIP" in run.stdout:
            self.skipTest(run.stdout)
        self.assertEqual(run.returncode, 0, run.stdout)

    def changed(self, change: Callable[[rd.PerfData], None], *said: str) -> str:
        """@change alters a copy of what was recorded; what judging says of it."""
        copy = self.place("copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.dir, copy)
        perf = rd.PerfData.load(os.path.join(copy, "perf.data"))
        change(perf)
        perf.save(os.path.join(copy, "perf.data"))
        status, text = judge(copy)
        self.assertEqual(status, 1, text)
        for one in said:
            self.assertRegex(text, one)
        return text

    @staticmethod
    def of(perf: rd.PerfData, kind: int) -> list[rd.Side]:
        return [record for record in perf.records
                if isinstance(record, rd.Side) and record.kind == kind]

    def test_as_recorded(self) -> None:
        status, text = judge(self.dir)
        self.assertEqual(status, 0, text)

    def test_names(self) -> None:
        count = len(self.of(rd.PerfData.load(os.path.join(self.dir, "perf.data")), rd.COMM))
        self.assertGreaterEqual(count, 8)

        def rename(record: rd.Side) -> None:
            record.body[8:record.tail()[0]] = b"another\0"

        def all_of_them(perf: rd.PerfData) -> None:
            for record in self.of(perf, rd.COMM):
                rename(record)
        self.changed(all_of_them, rf"comm\.records: {count} with cause other-text",
                     r"comm\.threads: \d+ with cause other-text")
        def one_of_them(at: int) -> Callable[[rd.PerfData], None]:
            return lambda perf: rename(self.of(perf, rd.COMM)[at])
        for index in range(count):
            with self.subTest(index):
                self.changed(one_of_them(index), r"comm\.records: 1 with cause other-text")

    @staticmethod
    def word(record: rd.Side, at: int, change: int) -> None:
        value, = struct.unpack_from("<I", record.body, at)
        struct.pack_into("<I", record.body, at, value + change)

    def test_forks_and_exits(self) -> None:
        """Each of two records in the middle of those that there are is changed, one at a time."""
        for kind, name in ((rd.FORK, "fork"), (rd.EXIT, "exit")):
            def record(perf: rd.PerfData, kind: int = kind) -> rd.Side:
                found = self.of(perf, kind)
                return found[len(found) // 2]

            def removed(perf: rd.PerfData) -> None:
                perf.records.remove(record(perf))

            def twice(perf: rd.PerfData) -> None:
                perf.insert(record(perf).copy())

            def later(perf: rd.PerfData) -> None:
                record(perf).time += 400_000_000
                perf.sort()

            def field(at: int) -> Callable[[rd.PerfData], None]:
                return lambda perf: self.word(record(perf), at, 1)
            for change, said in ((removed, f"{name}.missing: 1 with cause no-record"),
                                 (twice, rf"{name}.records: 1 with cause (twice|other-time)"),
                                 (later, rf"{name}.records: 1 with cause other-time"),
                                 (field(0), rf"{name}.records: 1 with cause unknown"),
                                 (field(4), rf"{name}.records: 1 with cause other-parent"),
                                 (field(12), rf"{name}.records: 1 with cause other-parent")):
                with self.subTest(name, said=said):
                    self.changed(change, said)

    def test_strangers(self) -> None:
        def invented_process(perf: rd.PerfData) -> None:
            for sample in perf.samples()[10:20]:
                sample.pid = sample.tid = 4_000_000

        def invented_thread(perf: rd.PerfData) -> None:
            sample = perf.samples()[10]
            perf.insert(perf.fork(sample.pid, sample.pid, sample.time, 4_000_000))
        self.changed(invented_process, r"tasks\.strangers: 10 with cause unknown")
        self.changed(invented_thread, r"fork\.records: 1 with cause unknown")

    def test_truth_without_a_name(self) -> None:
        """No figure gets better because the truth lost its names."""
        path = os.path.join(self.dir, "truth")
        truth = rd.Truth(path)
        truth.slots = [slot for slot in truth.slots
                       if struct.unpack_from("<H", slot, 4)[0] != rd.Truth.COMM]
        truth.next_slot = len(truth.slots)
        truth.save(path)
        status, text = judge(self.dir)
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"comm: the truth has no name of thread \d+/\d+")
        self.assertTrue(re.search(r"ERROR:1", text), text)


if __name__ == "__main__":
    unittest.main()
