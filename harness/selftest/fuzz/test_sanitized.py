# SPDX-License-Identifier: GPL-2.0-only
"""Tests jitproof built with ASan and UBSan, on whole and on damaged runs. Environment: O."""

import glob
import os
import subprocess
import sys
import unittest

from harness.selftest.support.scratch import BUILD, FIXTURES

ASAN = os.path.join(BUILD, "asan")


class Sanitized(unittest.TestCase):
    def run_clean(self, *command: str, status: int = 0) -> str:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="replace", timeout=900,
                                check=False,
                                env={**os.environ, "JITPROOF": os.path.join(ASAN, "jitproof"),
                                     "NEEDS_PROC": "1", "EACH_KIND": "1"})
        self.assertEqual(result.returncode, status, result.stdout[-4000:])
        self.assertNotRegex(result.stdout, "runtime error|AddressSanitizer|LeakSanitizer")
        return result.stdout

    def pass_sanitized(self, *tests: str) -> None:
        output = self.run_clean(sys.executable, "-m", "unittest",
                                *("harness.selftest." + test for test in tests))
        self.assertRegex(output, r"\nOK\b")

    def test_judging(self) -> None:
        """Judges changes of recorded runs, and each made perf.data file."""
        self.pass_sanitized("validators.test_tampered", "command.test_judge_file")

    def test_injecting(self) -> None:
        """Injects captures and jitdumps made by hand, and hostile ones."""
        self.pass_sanitized(*("inject.test_inject." + name for name in (
            "Records", "ElfFiles", "Hostile")))

    def test_fixtures(self) -> None:
        output = self.run_clean(os.path.join(ASAN, "jitproof"), "judge", "--expected",
                                os.path.join(FIXTURES, "expected"), FIXTURES)
        cases = glob.glob(os.path.join(FIXTURES, "*", "case"))
        self.assertIn(f"# Totals: PASS:{len(cases)} FAIL:0 ", output)
