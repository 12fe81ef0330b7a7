# SPDX-License-Identifier: GPL-2.0-only
"""Tests `jitproof judge --truth`: it judges a truth and a perf.data like their whole run directory,
names missing parts, and refuses files of different runs."""

import json
import os
import struct
import subprocess
from typing import Any

from ci.base import process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import FIXTURES, JITPROOF, Folder

# Metrics that need neither ELF files of the machine nor a snapshot.
SAME = ("broken.chain", "wrong.chain", "extra.chain", "judged.chain", "samples.astray",
        "samples.outside", "lost.samples", "processes", "comm.records", "names.right",
        "load.right", "order.hidden", "inject.stray")


class Judging(Folder):
    def judge(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return process.run([JITPROOF, "judge", *arguments], timeout=240)

    def judge_by_truth(self, fixture: str, *more: str) -> dict[str, Any]:
        result = self.judge("--json", "--slack", "0", "--truth", f"{fixture}/truth", *more,
                            f"{fixture}/perf.data")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return json.loads(result.stdout)

    def judge_run(self, fixture: str) -> dict[str, Any]:
        results = self.place(os.path.basename(fixture) + ".jsonl")
        self.judge("--results", results, fixture)
        with open(results, encoding="utf-8") as lines:
            return json.loads(next(lines))

    def fixture_path(self, name: str) -> str:
        return os.path.join(FIXTURES, name)

    def expect_refusal(self, truth: str, capture: str, why: str) -> None:
        result = self.judge("--truth", truth, capture)
        self.assertEqual(result.returncode, 99, result.stdout)
        self.assertIn(why, result.stderr)


class Recorded(Judging):
    def compare_verdicts(self, fixture: str, *more: str) -> None:
        ours, run = self.judge_by_truth(fixture, *more), self.judge_run(fixture)
        self.assertTrue(run["verdicts"]["chain"])
        self.assertEqual(ours["verdicts"]["chain"], run["verdicts"]["chain"])
        for metric in SAME:
            if metric in run["metrics"] and (more or not metric.startswith(("names", "load"))):
                figures = [{key: one["metrics"][metric].get(key) for key in "kn"}
                           for one in (ours, run)]
                self.assertEqual(figures[0], figures[1], metric)

    def test_as_the_run(self) -> None:
        for name in ("anon", "memfd", "clock"):
            with self.subTest(fixture=name):
                self.compare_verdicts(self.fixture_path(name))

    def test_injected(self) -> None:
        fixture = self.fixture_path("growth")
        result = self.judge_by_truth(fixture, "--injected", f"{fixture}/injected.data")
        # The ELF files of the run are no longer at the recorded paths.
        self.assertEqual(result["metrics"]["names.right"]["k"], 0)
        self.assertGreater(result["metrics"]["names.right"]["n"], 0)

    def test_text(self) -> None:
        fixture = self.fixture_path("anon")
        result = self.judge("--slack", "0", "--truth", f"{fixture}/truth", f"{fixture}/perf.data")
        self.assertIn("# note: names are not judged", result.stdout)
        self.assertRegex(result.stdout, r"# broken\.chain: 0\.00 % \(0 of \d+")
        self.assertIn("not ok 1 truth/gathered", result.stdout)

    def test_keeps_a_run_directory(self) -> None:
        fixture, kept_folder = self.fixture_path("memfd"), self.place("kept")
        ours = self.judge_by_truth(fixture, "-o", kept_folder)
        self.assertEqual(self.judge_run(kept_folder)["verdicts"], ours["verdicts"])

    def test_fewer_samples_with_more_slack(self) -> None:
        fixture = self.fixture_path("anon")
        result = self.judge("--json", "--slack", "90000", "--truth", f"{fixture}/truth",
                            f"{fixture}/perf.data")
        self.assertEqual(json.loads(result.stdout)["outcome"], "FAIL")
        result = self.judge("--slack", "200000", "--truth", f"{fixture}/truth",
                            f"{fixture}/perf.data")
        self.assertIn("# ERROR", result.stdout)
        self.assertEqual(result.returncode, 1)


class Refused(Judging):
    def test_other_clock(self) -> None:
        fixture, path = self.fixture_path("anon"), self.place("perf.data")
        perf = rd.PerfData.load(f"{fixture}/perf.data")
        for attr in perf.attrs:
            attr.flags &= ~(1 << 25)
        perf.save(path)
        self.expect_refusal(f"{fixture}/truth", path, "record with perf record -k mono")

    def test_other_run(self) -> None:
        self.expect_refusal(self.fixture_path("anon") + "/truth",
                            self.fixture_path("clock") + "/perf.data",
                            "not of the same run")

    def test_no_samples(self) -> None:
        fixture, path = self.fixture_path("anon"), self.place("perf.data")
        perf = rd.PerfData.load(f"{fixture}/perf.data")
        perf.drop_samples()
        perf.save(path)
        self.expect_refusal(f"{fixture}/truth", path, "no sample")

    def test_usage(self) -> None:
        self.assertEqual(self.judge("--truth", "x").returncode, 2)
        self.assertEqual(self.judge("--truth", "x", "--slack", "y", "z").returncode, 2)
        self.expect_refusal(self.place("absent"), self.fixture_path("anon") + "/perf.data",
                            "absent")


class WithoutRegisters(Judging):
    def test_depth_that_fits(self) -> None:
        """A plain `perf record -g` has chains, but no registers and dumps."""
        fixture, path = self.fixture_path("clock"), self.place("perf.data")
        perf = rd.PerfData.load(f"{fixture}/perf.data")
        for attr in perf.attrs:
            kind = attr.sample_type & ~(rd.REGS_USER | rd.STACK_USER)
            struct.pack_into("<Q", attr.raw, 24, kind)
            struct.pack_into("<QI", attr.raw, 80, 0, 0)
        perf.save(path)
        result = self.judge("--json", "--slack", "0", "--truth", f"{fixture}/truth", path)
        matches = json.loads(result.stdout)
        self.assertIn("user registers", result.stderr)
        self.assertEqual(matches["skipped"]["modes"], "no-registers")
        self.assertEqual(matches["verdicts"]["chain"], self.judge_run(fixture)["verdicts"]["chain"])


class Live(Judging):
    def test_workload_from_a_shell(self) -> None:
        truth, capture = self.place("truth"), self.place("perf.data")
        result = process.run(
            ["sh", "-c", 'sleep 0.5 | "$0" record -o "$1" -- "$0" workload memfd_double '
             '--publish=map --truth "$2" --ready-fd 2', JITPROOF, capture, truth], timeout=240)
        if result.returncode or not os.path.exists(capture):
            self.skipTest("jitproof record: " + result.stderr.strip())
        recorded = rd.Truth(truth)
        for start in recorded.find(rd.Truth.PROCESS_START):
            self.addCleanup(os.unlink, "/tmp/perf-%d.map" % recorded.get(start)[2])
        matches = self.judge("--truth", truth, capture)
        self.assertEqual(matches.returncode, 1, matches.stdout)  # perf asks no map for a memfd
        self.assertIn("names.unnamed", matches.stdout)
        self.assertIn("with cause map-not-read-for-memfd (not-anonymous)", matches.stdout)
        self.assertRegex(matches.stdout, r"# broken\.chain: 0\.00 % \(0 of [1-9]")
