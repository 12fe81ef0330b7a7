# SPDX-License-Identifier: GPL-2.0-only
"""Tests of make soak: outcomes that a condition accepts, cleanup of drivers, the page, resuming."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest
from typing import Any

from ci.base import files, jsonl, process
from ci.soak import __main__ as soak
from ci.soak import drivers, page
from ci.soak.condition import Condition, end_run, find_metrics, matches_all
from ci.soak.conditions import CONDITIONS
from harness.selftest.support.scratch import ROOT, Folder

SLEEP = [sys.executable, "-c", "import os, time; os.fork() or os.setpgid(0, 0); time.sleep(60)"]
# Replaces jitproof: its only case has the result in the file beside it.
PROGRAM = """#!/bin/sh
while [ $# -gt 0 ]; do
	[ "$1" != -o ] || out=$2
	shift
done
mkdir -p "$out/growth/anon" && cp "$(dirname "$0")/result" "$out/results.jsonl"
echo kept > "$out/growth/anon/truth"
exit 1
"""


def make_result(outcome: str, why: str = "", case: str = "growth/anon", **more: Any) -> dict[str,
                                                                                             Any]:
    return {"case": case, "outcome": outcome, "why": why, **more}


class Expected(unittest.TestCase):
    row = Condition("busy", "", lambda _: None, ("too little evidence",), ("noexec",))

    def test_expected_outcomes(self) -> None:
        for outcome, reason, idle, wanted in (
                ("PASS", "", "PASS", True), ("XFAIL", "known", "XFAIL", True),
                ("FAIL", "too little evidence", "", False), ("XPASS", "", "", False),
                ("CRASH", "too little evidence", "", False),
                ("ERROR", "too little evidence: 3", "", True), ("ERROR", "no file", "", False),
                ("ERROR", "", "", False), ("TIMEOUT", "too little evidence", "", True),
                ("ERROR", "too little evidence\nno file", "", False),
                ("ERROR", "too little evidence\n  it printed: no file", "", True),
                ("SKIP", "no perf", "", True), ("SKIP", "no perf", "SKIP", True),
                ("SKIP", "no perf", "PASS", False), ("SKIP", "mounted noexec", "PASS", True)):
            self.assertEqual(self.row.is_expected(make_result(outcome, reason), idle), wanted,
                             (outcome, reason, idle))

    def test_metrics_named_by_reasons(self) -> None:
        result = make_result("FAIL", "cpu.samples: 2 with cause too-few\nbroken.dump: 6 %\nword: x",
                          metrics={"cpu.samples": {}, "broken.dump": {}, "other": {}},
                          exceptions=[{"metric": "cpu.samples", "cause": "too-few"},
                                      {"metric": "allowed", "cause": "x"}])
        self.assertEqual(find_metrics(result), ["broken.dump", "cpu.samples too-few"])

    def test_condition_table(self) -> None:
        self.assertEqual(len({condition.name for condition in CONDITIONS}), len(CONDITIONS))
        for result in CONDITIONS:
            self.assertRegex(result.name, r"^[a-z0-9-]+$")
            self.assertFalse(matches_all(result.errors, "samples.pace: 1 with cause too-many"),
                             result.name)


class Drivers(unittest.TestCase):
    def setUp(self) -> None:
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.child = subprocess.Popen(SLEEP, start_new_session=True)
        self.addCleanup(end_run, self.child)
        self.wait_for(lambda: len(drivers.find_session(self.child.pid)) == 2)

    def wait_for(self, holds: Any) -> None:
        deadline = time.monotonic() + 240
        while not holds():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def read_states(self) -> set[str]:
        known = drivers.find_session(self.child.pid)
        return {fields[0] for pid, _, fields in process.read_stats() if pid in known}

    def test_end_kills_stopped_processes(self) -> None:
        drivers.signal_all(drivers.find_session(self.child.pid), signal.SIGSTOP)
        self.wait_for(lambda: self.read_states() == {"T"})
        end_run(self.child)
        self.assertEqual(drivers.find_session(self.child.pid), [])

    def test_stops_reach_other_process_groups(self) -> None:
        ended, pid = threading.Event(), self.child.pid
        thread = threading.Thread(target=drivers.stop_at_random, args=(
            lambda: drivers.find_session(pid), random.Random(1), (5, 50), ended))
        thread.start()
        self.wait_for(lambda: self.read_states() == {"T"})
        ended.set()
        thread.join()
        self.wait_for(lambda: self.read_states() == {"S"})


class Whole(Folder):
    """Runs ci/soak with one condition."""

    def run_soak(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return process.run([sys.executable, os.path.join(ROOT, "ci/soak"), "--build", self.home,
                            "--jitproof", self.place("jitproof"), "--only", "idle", "--runs", "2",
                            *arguments])

    def setUp(self) -> None:
        super().setUp()
        self.write(PROGRAM, "jitproof", runs=True)

    def store(self, name: str, *results: dict[str, Any]) -> None:
        self.write("".join(map(jsonl.line_of, results)), name)

    def test_no_unexpected_result(self) -> None:
        self.store("result", make_result("PASS"))
        result = self.run_soak()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("2 runs, 2 cases, 0 unexpected", result.stdout)
        # All runs are done: expect no other run.
        self.assertEqual(self.run_soak().stdout, result.stdout.splitlines(True)[-1])

    def test_unexpected_result(self) -> None:
        self.store("result", make_result("FAIL", "cpu.samples: 2", metrics={"cpu.samples": {}}))
        result = self.run_soak()
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(files.read(self.place("soak", "kept", "idle.0", "growth/anon", "truth")),
                         "kept\n")
        text = files.read(self.place("soak", "SOAK.md"))
        self.assertIn("| idle | growth/anon | FAIL | cpu.samples | 2 | cpu.samples: 2 |\n", text)
        self.assertIn("| idle | no other load | 2 | 2 | 0 | 2 | 100.00 % |\n", text)

    def test_broken_run(self) -> None:
        self.write("#!/bin/sh\necho gone >&2\nexit 99\n", "jitproof", runs=True)
        result = self.run_soak()
        self.assertEqual(result.returncode, 1)
        self.assertIn("ERROR (run): status 99: gone", result.stdout)


class Page(unittest.TestCase):
    def test_earlier_commits(self) -> None:
        head = "Measured at commit %s: `jitproof run`.\n"
        row = "| all |  | 25 | 2244 | 14 | 0 | 0.17 % |\n"
        first = page.list_earlier(head % "18eb4049" + row, "96dbe495")
        self.assertEqual(first, ["| 18eb4049 | 25 | 2244 | 14 | 0 |\n"])
        second = page.list_earlier(head % "96dbe495-dirty" + row + "".join(first), "d0ab6b13")
        self.assertEqual(second, ["| 96dbe495-dirty | 25 | 2244 | 14 | 0 |\n", *first])
        self.assertEqual(page.list_earlier(head % "96dbe495" + row, "96dbe495"), [])


class Runs(Folder):
    def test_order_depends_on_seed(self) -> None:
        first, repeated = (soak.order_runs(list(CONDITIONS), 2, 5) for _ in range(2))
        self.assertEqual(first, repeated)
        self.assertEqual([result.name for result, _ in first[::len(CONDITIONS)]], ["idle", "idle"])
        self.assertNotEqual(first, soak.order_runs(list(CONDITIONS), 2, 6))
        self.assertNotEqual(soak.make_seed(1, "idle", 0), soak.make_seed(1, "idle", 1))

    def test_runs_of_another_program_do_not_count(self) -> None:
        line = {"condition": "idle", "number": 0, "outcomes": {"a/b": "PASS", "a/c": "SKIP"},
                "unexpected": []}
        page.Progress(self.home, "one", []).add(line)
        self.assertFalse(page.Progress(self.home, "two", []).runs)
        reloaded = page.Progress(self.home, "one", [])
        self.assertEqual(reloaded.idle["a/b"], "PASS")
        self.assertEqual(page.count_cases(reloaded.get_runs("idle")), 1)
