# SPDX-License-Identifier: GPL-2.0-only
"""The unit tests, and jitproof on whole and on damaged runs, built with ASan and UBSan.

Environment: O; ASAN_TESTS, the unit tests that were built so.
"""

import glob
import os
import subprocess
import sys
import unittest

from harness.selftest.scratch import BUILD, FIXTURES, HERE

ASAN = os.path.join(BUILD, "asan")
TESTS = os.environ.get("ASAN_TESTS", "").split()


class Sanitized(unittest.TestCase):
    def good(self, *command: str, status: int = 0) -> str:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=100,
                              check=False,
                              env={**os.environ, "JITPROOF": os.path.join(ASAN, "jitproof"),
                                   "NEEDS_PROC": "1"})
        self.assertEqual(done.returncode, status, done.stdout[-4000:])
        self.assertNotRegex(done.stdout, "runtime error|AddressSanitizer|LeakSanitizer")
        return done.stdout

    def pass_sanitized(self, *tests: str) -> None:
        said = self.good(sys.executable, "-m", "unittest",
                         *("harness.selftest." + test for test in tests))
        self.assertRegex(said, r"\nOK\b")

    def test_units(self) -> None:
        self.assertGreater(len(TESTS), 3)
        for program in TESTS:
            with self.subTest(program):
                said = self.good(program)
                self.assertRegex(said, r"(?m)^1\.\.\d+$")
                self.assertNotRegex(said, "(?m)^not ok")

    def test_judging(self) -> None:
        """Each change of a recorded run, and each made perf.data file."""
        for name in glob.glob("test_validators*.py", root_dir=HERE) + ["test_judge_file.py"]:
            with self.subTest(name):
                self.pass_sanitized(name.removesuffix(".py"))

    def test_injecting(self) -> None:
        """Captures and jitdumps made by hand, and the hostile ones."""
        self.pass_sanitized(*("test_inject." + name for name in (
            "Records", "ElfFiles", "Hostile", "Replayed.test_code_is_there")))

    def test_fixtures(self) -> None:
        said = self.good(os.path.join(ASAN, "jitproof"), "judge", "--expected",
                         os.path.join(FIXTURES, "expected"), FIXTURES)
        cases = glob.glob(os.path.join(FIXTURES, "*", "case"))
        self.assertIn(f"# Totals: PASS:{len(cases)} FAIL:0 ", said)
