# SPDX-License-Identifier: GPL-2.0-only
"""The profiler of docs/profiler-adapters.md works, and `jitproof adapter check` says what is wrong
with each change that breaks a rule."""

import os
import platform
import re
import unittest

from ci.base import files, process
from harness.selftest.scratch import HERE, JITPROOF, Folder

TOY = files.read(os.path.join(HERE, "toy.py"))


@unittest.skipUnless(platform.machine() == "x86_64", "the toy reads x86-64's registers")
class Toy(Folder):
    def check(self, text: str, *workload: str) -> tuple[int, str]:
        self.write(text, "profilers", "toy.py")
        done = process.run([JITPROOF, "adapter", "check", "toy", *workload], timeout=120, env={
            **os.environ, "JITPROOF_PROFILERS": self.place("profilers")})
        self.assertEqual(done.stderr, "")
        if "perf_event_open" in done.stdout:
            self.skipTest("the clocks cannot be compared here")
        return done.returncode, done.stdout

    def test_length(self) -> None:
        lines = [line for line in TOY.splitlines() if line.strip() and not line.startswith("#")]
        self.assertLessEqual(len(lines), 60)

    def test_works(self) -> None:
        """Attached to, and launched: nothing is found."""
        status, text = self.check(TOY)
        self.assertEqual(status, 0, text)
        self.assertIn("ok 2 attach\n", text)
        self.assertIn("ok 3 launch\n", text)
        self.assertNotIn("# found", text)
        self.assertIn("# not judged: mapping_coverage (no-mappings)", text)

    def test_wrong(self) -> None:
        for old, new, said in (
                ("frames.append(ip)", "frames.append(ip + 1)", "# found: wrong.chain, wrong-frame"),
                ("[ip], time", "[ip + 1], time", "# found: wrong.chain, no-depth"),
                ("len(frames) < 127", "len(frames) < 2", "# found: broken.chain, kernel-walk"),
                ("(now, tid, frames))", "(now, self.pid, frames))",
                 "# found: wrong.chain, no-stay"),
                ("time.monotonic_ns()", "time.time_ns()", "times are CLOCK_MONOTONIC in ns"),
                ('"no-names", ', "", "# found: names.unnamed, no-name"),
                ('"no-names"', '"no-addresses"',
                 "observations: line 5: expected names alone: the header declares no-addresses"),
                ('"no-mappings", ', "", "# found: broken.chain, no-record"),
                ('"no-tasks"', '"no-task"', "observations: line 3: expected no-registers, "),
                ('number = "1"', "number = 1 / 0", "ZeroDivisionError")):
            with self.subTest(new or old):
                self.assertIn(old, TOY)
                self.assertRegex(self.check(TOY.replace(old, new))[1], said)

    def test_missing(self) -> None:
        done = process.run([JITPROOF, "adapter", "check", "none"], timeout=30)
        self.assertEqual(done.returncode, 4)
        self.assertTrue(re.search("# no profiler 'none'", done.stdout), done.stdout)
