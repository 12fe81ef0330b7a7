# SPDX-License-Identifier: GPL-2.0-only
"""Tests a truncated or unfinished perf.data: the error names the place, and --partial judges the
records before it; a killed recording leaves such a file; errors name the cause of missing
samples."""

import json
import os
import signal
import struct
import subprocess
import sys
import time
from typing import Any

from ci.base import files, process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import FIXTURES, JITPROOF, Folder

DATA = 40  # offset in a header: position of the data section
SPIN = "while True: pass"
MOST_S = 20


class Cut(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.raw = files.read_bytes(os.path.join(FIXTURES, "anon", "perf.data"))
        self.start_record, self.size = struct.unpack_from("<QQ", self.raw, DATA)
        self.path = self.place("perf.data")
        # Offsets at which records of the data begin, and the end.
        self.records = [self.start_record]
        while self.records[-1] < self.start_record + self.size:
            self.records.append(self.records[-1] +
                                struct.unpack_from("<H", self.raw, self.records[-1] + 6)[0])

    def run_on(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        return process.run([JITPROOF, command, "--json", *options, self.path], timeout=240)

    def judge_partial(self) -> dict[str, Any]:
        result = self.run_on("judge", "--partial")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("note: " + self.path, result.stderr)
        return json.loads(result.stdout)

    def check_cut(self, raw: bytes, at: int, records: int | None) -> None:
        files.write_bytes(self.path, raw)
        for command in ("judge", "explain"):
            result = self.run_on(command)
            self.assertEqual(result.returncode, 99, result.stderr)
            self.assertIn(f"{self.path}: cut short at offset {at}: ", result.stderr)
            self.assertIn("--partial", result.stderr)
            self.assertEqual(result.stdout, "")
        figures = self.judge_partial()
        self.assertTrue(figures["cut_short"])
        if records is not None:
            self.assertEqual(figures["records"], records)
        explained = self.run_on("explain", "--partial")
        self.assertIn(explained.returncode, (0, 1), explained.stderr)
        self.assertTrue(json.loads(explained.stdout)["cut_short"])

    def test_in_the_data(self) -> None:
        for whole in (1, 5, len(self.records) - 2):
            at = self.records[whole]
            for nr_extra in (1, 7, self.records[whole + 1] - at - 1):
                with self.subTest(records=whole, more=nr_extra):
                    self.check_cut(self.raw[:at + nr_extra], at + nr_extra, whole)

    def test_between_records(self) -> None:
        offset = self.records[10]
        self.check_cut(self.raw[:offset], offset, 10)

    def test_in_the_features(self) -> None:
        end = self.start_record + self.size
        complete_figures = self.run_whole()
        for size in (end, end + 5, len(self.raw) - 1):
            with self.subTest(size=size):
                self.check_cut(self.raw[:size], size, len(self.records) - 1)
                self.assertEqual(self.judge_partial()["samples"], complete_figures["samples"])

    def test_overwritten_build_ids(self) -> None:
        """perf inject -b of a pipe leaves such build ids: the attrs overwrite them."""
        perf = rd.PerfData([rd.Attr.make(rd.IDENTIFIER | rd.IP | rd.TID | rd.TIME, [7])], [],
                           {2: b""})
        perf.records.append(perf.comm(1, 1, "made", 5))
        perf.save(self.path)
        raw = bytearray(files.read_bytes(self.path))
        attrs, _, start, size = struct.unpack_from("<4Q", raw, 24)
        for offset, length, hidden in ((attrs - 8, 8, 0), (attrs - 8, 9, 1), (attrs + 8, 8, 1)):
            struct.pack_into("<QQ", raw, start + size, offset, length)
            files.write_bytes(self.path, bytes(raw))
            result = self.run_on("judge")
            with self.subTest(at=offset, length=length):
                self.assertEqual(result.returncode, 0 if hidden else 99, result.stderr)
                if hidden:
                    self.assertEqual(json.loads(result.stdout)["overwritten_features"], 1)

    def run_whole(self) -> dict[str, Any]:
        files.write_bytes(self.path, self.raw)
        result = self.run_on("judge", "--partial")
        self.assertEqual(result.stderr, "")
        figures: dict[str, Any] = json.loads(result.stdout)
        self.assertNotIn("cut_short", figures)
        return figures

    def test_not_finished(self) -> None:
        raw = bytearray(self.raw[:self.records[-2] + 4])
        struct.pack_into("<Q", raw, DATA + 8, 0)
        self.check_cut(bytes(raw), len(raw), len(self.records) - 2)

    def test_finished_without_records(self) -> None:
        """The table of features is where records would be: no record has a size of 0."""
        raw = bytearray(self.raw[:self.start_record] + self.raw[self.start_record + self.size:])
        features = bin(int.from_bytes(raw[72:104], "little")).count("1")
        for offset in range(self.start_record, self.start_record + 16 * features, 16):
            struct.pack_into("<Q", raw, offset,
                             struct.unpack_from("<Q", raw, offset)[0] - self.size)
        first, step = struct.unpack_from("<Q", raw, 24)[0], struct.unpack_from("<Q", raw, 16)[0]
        for offset in range(first + step - 16, self.start_record, step):
            struct.pack_into("<Q", raw, offset,
                             struct.unpack_from("<Q", raw, offset)[0] - self.size)
        struct.pack_into("<Q", raw, DATA + 8, 0)
        files.write_bytes(self.path, bytes(raw))
        found = json.loads(self.run_on("judge").stdout)
        self.assertEqual((found["records"], found["samples"]), (0, 0))
        self.assertIn("there are no samples", process.run([JITPROOF, "explain", self.path]).stdout)

    def test_garbage_is_not_cut(self) -> None:
        raw = bytearray(self.raw)
        struct.pack_into("<H", raw, self.records[5] + 6, 3)
        files.write_bytes(self.path, raw)
        result = self.run_on("judge", "--partial")
        self.assertEqual(result.returncode, 99)
        self.assertNotIn("cut short", result.stderr)

    def test_cut_stream(self) -> None:
        head = struct.pack("<8sQ", b"PERFILE2", 16)
        attr = self.raw[struct.unpack_from("<Q", self.raw, 24)[0]:][:120]
        record = struct.pack("<IHH", 64, 0, 8 + len(attr)) + attr
        comm = struct.pack("<IHHII8s", 3, 0, 24, 1, 1, b"short")
        result = subprocess.run([JITPROOF, "judge", "--json", "--partial", "-"], check=False,
                                input=head + record + comm[:11], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"cut short at offset %d" % len(head + record), result.stderr)
        self.assertEqual(json.loads(result.stdout)["records"], 1)


class Recording(Folder):
    def start_record(self, *arguments: str) -> subprocess.Popen[str]:
        child = subprocess.Popen([JITPROOF, "record", "-o", self.place("perf.data"), *arguments],
                                 text=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        assert child.stderr
        self.addCleanup(child.stderr.close)
        return child

    def run_record(self, *arguments: str) -> str:
        child = self.start_record(*arguments)
        _, words = child.communicate(timeout=240)
        if "perf_event_open" in words:
            self.skipTest(words.strip())
        return words

    def test_killed_recorder(self) -> None:
        spinning = subprocess.Popen([sys.executable, "-c", SPIN])
        self.addCleanup(spinning.wait)
        self.addCleanup(spinning.kill)
        child = self.start_record("-p", str(spinning.pid))
        path = self.place("perf.data")
        deadline = time.monotonic() + MOST_S
        # Wait until some rounds are written.
        while time.monotonic() < deadline and child.poll() is None and \
                (not os.path.exists(path) or os.stat(path).st_size < 20000):
            time.sleep(0.05)
        if child.poll() is not None:
            assert child.stderr
            self.skipTest(child.stderr.read().strip())
        child.send_signal(signal.SIGKILL)
        child.wait()
        result = process.run([JITPROOF, "judge", "--json", "--partial", path], timeout=240)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("the recording was not finished", result.stderr)
        figures = json.loads(result.stdout)
        self.assertGreater(figures["samples"], 0)
        self.assertEqual(figures["sampled"]["unmapped"], 0)
        self.assertEqual([one["pid"] for one in figures["processes"] if one["samples"]],
                         [spinning.pid])

    def test_no_samples(self) -> None:
        words = self.run_record("-F", "1", "--", "true")
        self.assertRegex(words, r"no samples: the target used \d\.\d+ ms of CPU time, less "
                         r"than the 1000\.000 ms from one sample to the next")
        self.assertNotIn("no samples", self.run_record(
            "--", sys.executable, "-c", "sum(range(10**7))"))

    def test_never_begun(self) -> None:
        """A recording that cannot begin leaves no file, and leaves an existing file unchanged."""
        child = subprocess.Popen(["true"])
        child.wait()
        path = self.write("before", "perf.data")
        words = self.run_record("-p", str(child.pid))
        self.assertIn(f"no process {child.pid}", words)
        self.assertEqual(self.read("perf.data"), "before")
        os.unlink(path)
        self.assertIn("/nowhere/nothing: ", self.run_record("--", "/nowhere/nothing"))
        self.assertEqual(os.listdir(self.home), [])

    def test_idle_recorder(self) -> None:
        with subprocess.Popen(["sleep", "60"]) as sleeping:
            self.addCleanup(sleeping.kill)
            child = self.start_record("-p", str(sleeping.pid))
            path = self.place("perf.data")
            deadline = time.monotonic() + MOST_S
            while time.monotonic() < deadline and child.poll() is None and \
                    not os.path.exists(path):
                time.sleep(0.05)
            child.send_signal(signal.SIGINT)
            _, words = child.communicate(timeout=240)
            sleeping.kill()
        if "perf_event_open" in words:
            self.skipTest(words.strip())
        self.assertIn("no samples: the target used no CPU time", words)
