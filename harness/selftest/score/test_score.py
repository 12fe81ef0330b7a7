# SPDX-License-Identifier: GPL-2.0-only
"""Tests `jitproof score`: a row of measured figures for each workload, with marked faults."""

import json
import os
import signal
import subprocess
import time
from typing import Any

from ci.base import process
from harness.selftest.support.scratch import Folder, JITPROOF

BROKEN = """import sys
print("version 1" if sys.argv[1] == "version" else "error it broke", flush=True)
"""
MISSING = 'print("skip apt-get install nothing", flush=True)\n'


class Score(Folder):
    def run_score(self, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return process.run([JITPROOF, "score", *arguments], timeout=240, **more)

    def add_adapter(self, text: str) -> dict[str, str]:
        self.write(text, "profilers", "fake.py")
        return {**os.environ, "JITPROOF_PROFILERS": self.place("profilers")}

    def read_own_score(self, *arguments: str) -> Any:
        result = self.run_score("--profiler", "jitproof", "--json", "--samples=60", "--seconds=20",
                                *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = json.loads(result.stdout)["workloads"]
        if "perf_event_open" in rows[0]["why"]:
            self.skipTest(rows[0]["why"])
        return rows

    def test_own_capture(self) -> None:
        """jitproof's own capture, with a workload whose memory no perf map names."""
        anon, memfd = self.read_own_score("anon_exec", "memfd_double")
        for row in (anon, memfd):
            for column in ("mapped", "whole"):
                self.assertEqual(row[column]["k"], row[column]["n"], row)
                self.assertTrue(row[column]["good"])
            self.assertEqual(row["invented"]["k"], 0)
            self.assertGreater(row["seen"]["n"], 20)
            self.assertGreater(row["cpu_ns"], 0)
        self.assertEqual(anon["right"]["k"], anon["right"]["n"])
        self.assertEqual(memfd["right"]["k"], 0)
        self.assertFalse(memfd["right"]["good"])
        self.assertIn("names.unnamed", {exception["metric"] for exception in memfd["exceptions"]})

    def test_stacks(self) -> None:
        """The workload bad_chain ends the kernel's walk, so not all stacks are whole."""
        chain, = self.read_own_score("bad_chain")
        dump, = self.read_own_score("--stack=8192", "native_holes")
        self.assertFalse(chain["whole"]["good"])
        self.assertGreater(dump["whole"]["n"], 0)

    def test_libraries(self) -> None:
        """Names of code in a library without symbols are not judged; names of JIT code beside it
        are."""
        library, tails = self.read_own_score("replaced_binary", "tail_calls")
        self.assertGreater(tails["right"]["n"], 10)
        self.assertEqual(tails["right"]["k"], tails["right"]["n"])
        self.assertNotIn("right", library)

    def test_table(self) -> None:
        result = self.run_score("--profiler", "jitproof", "--samples=20", "anon_exec")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"^jitproof +seen +mapped +right +wrong +whole")
        self.assertRegex(result.stdout, r"(?m)^anon_exec ")
        self.assertRegex(result.stdout, r"\njitproof itself: \d of \d workloads without a fault; ")

    def test_same_faults(self) -> None:
        """A comparison of a profiler with itself is not an empty table."""
        result = self.run_score("--compare", "jitproof", "jitproof", "--samples=20", "memfd_double")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, "^The two have the same faults.\njitproof itself: ")

    def test_scenes(self) -> None:
        """A case of a --scenes file replaces the workload of the same name, or adds a row."""
        scenes = self.write("case anon_exec full : anon_exec --depth=3 : launch\n"
                            "case older full : anon_exec --depth=2 : attach : publish=none\n",
                            "scenes")
        rows = self.read_own_score("--scenes", scenes, "anon_*", "older")
        self.assertEqual([(row["workload"], row["way"]) for row in rows],
                         [("anon_exec", "launch"), ("older", "attach")])
        self.assertEqual(rows[0]["right"]["k"], rows[0]["right"]["n"])
        self.assertEqual(rows[1]["right"]["k"], 0)  # nothing was published
        for text, message in (("case a full : b : attach\n" * 2, "scenes:2: second case 'score/a'"),
                              ("case a some : b : attach\n", "check or full")):
            self.write(text, "scenes")
            result = self.run_score("--profiler", "jitproof", "--scenes", scenes)
            self.assertEqual(result.returncode, 99)
            self.assertIn(message, result.stderr)
        self.assertEqual(self.run_score("--profiler", "jitproof", "--scenes", "none").returncode,
                         99)

    def test_built_in_scenes(self) -> None:
        """The built-in scenes launch workloads that attaching would miss."""
        runner, = self.read_own_score("fork_exec")
        self.assertEqual(runner["way"], "launch")
        self.assertTrue(runner["seen"]["good"], runner)

    def test_missing_profiler(self) -> None:
        result = self.run_score("--profiler", "fake", env=self.add_adapter(MISSING))
        self.assertEqual(result.returncode, 4)
        self.assertIn("fake: apt-get install nothing", result.stderr)

    def test_broken_workload(self) -> None:
        """A workload without a judgement has a row with the reason and no figures."""
        result = self.run_score("--profiler", "fake", "--json", "anon_exec",
                                env=self.add_adapter(BROKEN))
        row, = json.loads(result.stdout)["workloads"]
        self.assertIn(row["outcome"], ("ERROR", "SKIP"))
        self.assertRegex(row["why"], "it broke|perf_event_open")
        self.assertNotIn("whole", row)
        self.assertEqual(result.returncode, 1 if row["outcome"] == "ERROR" else 0)

    def test_nothing_to_judge(self) -> None:
        """If all workloads fail, score fails, too, and prints their output: an unknown option, then
        too little memory."""
        scenes = self.write("case wrong full : anon_exec --none : attach\n", "scenes")
        own = ["score", "--profiler=jitproof", "--samples=20", "--scenes", scenes]
        short = ["prlimit", "--as=65536000"]
        for command, status, message in (
                ([JITPROOF, *own, "wrong"], 1, ".*'--none'"),
                ([JITPROOF, *own, "wrong", "anon_exec"], 0, ".*'--none'"),
                ([*short, JITPROOF, *own, "anon_exec"], 1, ".*: mmap: Cannot allocate.*")):
            with self.subTest(command=command):
                result = process.run(command, timeout=240)
                if "perf_event_open" in result.stdout:
                    self.skipTest(result.stdout)
                self.assertEqual(result.returncode, status, result.stdout)
                self.assertRegex(result.stdout, r"(?m)^\w+ +ERROR: the workload exited .*\n"
                                 " +it printed: " + message)

    def test_judged_later(self) -> None:
        """--no-judge records, --again judges: together they give the figures of a score."""
        result = self.run_score("--profiler", "jitproof", "--no-judge", "-o", self.place("kept"),
                                "--samples=20", "--seed=1", "anon_exec", "memfd_double")
        self.assertEqual(result.returncode, 0, result.stderr)
        if "perf_event_open" in self.run_score("--again", self.place("kept")).stdout:
            self.skipTest("perf_event_open")
        self.assertEqual(result.stdout, "# 1 of 2: score/anon_exec: watched\n"
                         "# 2 of 2: score/memfd_double: watched\n")
        anon, memfd = json.loads(self.run_score("--again", self.place("kept"), "--json").stdout)[
            "workloads"]
        self.assertTrue(anon["right"]["good"], anon)
        self.assertEqual(memfd["right"]["k"], 0)

    def test_interrupted(self) -> None:
        """SIGINT ends the current scene; the scenes before it are judged and printed."""
        scenes = self.write("case one full : anon_exec : attach\n"
                            "case two full : anon_exec : attach : samples=1000000 seconds=100\n",
                            "scenes")
        truth = self.place("kept", "a", "runs", "score", "two", "truth")
        with subprocess.Popen([JITPROOF, "score", "--profiler=jitproof", "--samples=20", "--scenes",
                               scenes, "-o", self.place("kept"), "one", "two"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            while run.poll() is None and not os.path.exists(truth):
                time.sleep(0.01)
            run.send_signal(signal.SIGINT)
            printed, errors = run.communicate(timeout=240)
        if "perf_event_open" in printed:
            self.skipTest(printed)
        self.assertEqual(run.returncode, -signal.SIGINT, errors)
        self.assertIn("interrupted after 1 of 2 scenes", errors)
        self.assertRegex(printed, r"(?m)^one +100%")
        self.assertNotRegex(printed, "(?m)^two")

    def test_usage(self) -> None:
        own = ("--profiler", "jitproof")
        for arguments in ((), ("--compare", "perf"), ("--profiler", "perf", "--freq=x"), ("--no",),
                          (*own, "none*"), (*own, "anon_exec", "none"), ("--list", "none"),
                          (*own, "--launch", "--attach"), (*own, "--no-judge"),
                          ("--again", self.place("kept"), "--no-judge"),
                          ("--again", self.place("kept"), "anon_exec")):
            result = self.run_score(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn("usage: jitproof score", result.stderr)
        self.assertEqual(self.run_score("--help").returncode, 0)
