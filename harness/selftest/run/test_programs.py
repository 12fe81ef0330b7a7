# SPDX-License-Identifier: GPL-2.0-only
"""Workloads as 32-bit programs and with musl, and a program that is missing."""

import os

from ci.base import process
from harness.selftest.support.scratch import Folder, JITPROOF

CASES = """\
defaults : : attach --stack=8192 --freq=999 : samples=100
case anon check : anon_exec --protect=rwx
case memfd check : memfd_double
case library check : tail_calls
case missing check : anon_exec : : program=none
"""


class Programs(Folder):
    def run_cases(self, program: str, names: str) -> str:
        self.write(CASES, "expected", "programs")
        result = process.run([JITPROOF, "run", "--program", program, "--expected",
                              self.place("expected"), "programs/" + names], timeout=240)
        if "perf_event_open" in result.stdout:
            self.skipTest("no events here")
        return result.stdout

    def expect_pass(self, program: str) -> None:
        if not os.path.exists("%s-%s" % (JITPROOF, program)):
            self.skipTest("jitproof-%s is not built here" % program)
        for name in ("anon", "memfd", "library"):
            self.assertIn("PASS:1 FAIL:0", self.run_cases(program, name))

    def test_i386(self) -> None:
        self.expect_pass("i386")

    def test_musl(self) -> None:
        self.expect_pass("musl")

    def test_missing_program(self) -> None:
        """The case's key goes before the option, and a missing program is a SKIP."""
        for program in ("i386", "absent"):
            self.assertIn("jitproof-none is missing", self.run_cases(program, "missing"))
        self.assertIn("jitproof-absent is missing", self.run_cases("absent", "anon"))
