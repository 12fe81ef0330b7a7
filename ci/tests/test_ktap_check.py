# SPDX-License-Identifier: GPL-2.0-only
"""Tests ci/engines/ktap_check.py with valid and invalid output, and with jitproof's output."""

import glob
import os
import sys
from typing import Sequence
import unittest

from ci.base import files, process
from ci.engines import ktap_check
from harness.selftest.support.scratch import CI, DENY, JITPROOF, ROOT

HEAD = "KTAP version 1\n"

GOOD = {
    "plain": HEAD + "1..2\nok 1 a\nnot ok 2 b\n",
    "no description": HEAD + "1..1\nok 1\n",
    "diagnostics anywhere": "# before\n" + HEAD + "# x\n1..1\n# y: 1..5\n#\nok 1 a\n# after\n",
    "directives": HEAD + "1..6\nok 1 a # SKIP no perf\nnot ok 2 b # SKIP\nok 3 c # XFAIL why\n"
                         "not ok 4 d # TIMEOUT 5 seconds\nnot ok 5 e # ERROR died\n"
                         "ok 6 f # rcode=0\n",
    "nothing": HEAD + "1..0\n",
    "nested": HEAD + "1..2\n  KTAP version 1\n  1..2\n  ok 1 x\n  # why\n  not ok 2 y\n"
                     "# example\nnot ok 1 example\nok 2 other\n",
    "nested deeper": HEAD + "1..1\n  KTAP version 1\n  1..2\n    KTAP version 1\n    1..1\n"
                            "    ok 1 x\n  ok 1 y\n    KTAP version 1\n    1..1\n    ok 1 x\n"
                            "  ok 2 z\nok 1 top\n",
    "a subtest that may fail": HEAD + "1..1\n  KTAP version 1\n  1..1\n  not ok 1 x # XFAIL y\n"
                                      "ok 1 top\n",
}

BAD = {
    "": (1, "no version line"),
    "# only this\n": (1, "no version line"),
    "1..1\nok 1 a\n": (1, "before any version line"),
    "KTAP version 2\n1..1\nok 1 a\n": (1, "'KTAP version 2'"),
    "TAP version 13\n1..1\nok 1 a\n": (1, "'TAP version 13'"),
    HEAD + "ok 1 a\n": (1, "no plan"),
    HEAD + "ok 1 a\n1..1\n": (3, "a plan after results"),
    HEAD + "1..1\n1..1\nok 1 a\n": (3, "a second plan"),
    HEAD + "0..1\nok 1 a\n": (2, "expected '1..N'"),
    HEAD + "1..01\nok 1 a\n": (2, "expected '1..N'"),
    HEAD + "1..1 # all\nok 1 a\n": (2, "expected '1..N'"),
    HEAD + "1..2\nok 1 a\n": (1, "1 results; planned were 2"),
    HEAD + "1..1\nok 1 a\nok 2 b\n": (1, "2 results; planned were 1"),
    HEAD + "1..1\n" + HEAD + "1..1\nok 1 a\n": (3, "a second version line"),
    HEAD + "1..1\nok 2 a\n": (3, "result number 2; expected 1"),
    HEAD + "1..1\nok a\n": (3, "result number a; expected 1"),
    HEAD + "1..1\nok 01 a\n": (3, "result number 01; expected 1"),
    HEAD + "1..2\nok 1 a\nok 1 b\n": (4, "result number 1; expected 2"),
    HEAD + "1..1\nok 1 a#1\n": (3, "a '#' in the description"),
    HEAD + "1..1\nok 1 a#1 # SKIP\n": (3, "a '#' in the description"),
    HEAD + "1..1\nok 1 a #SKIP\n": (3, "a '#' in the description"),
    HEAD + "1..1\nok 1 a # \n": (3, "nothing after '#'"),
    HEAD + "1..1\nok 1 a # skip x\n": (3, "expected 'SKIP'"),
    HEAD + "1..1\nok 1 a # SKIP: x\n": (3, "expected 'SKIP'"),
    HEAD + "1..1\nok 1 a # XPASS x\n": (3, "unknown directive 'XPASS'"),
    HEAD + "1..1\nok 1 a # TIMEOUT\n": (3, "ok with the directive TIMEOUT"),
    HEAD + "1..1\nok 1 a # ERROR x\n": (3, "ok with the directive ERROR"),
    HEAD + "1..1\nhello\nok 1 a\n": (3, "unknown kind of line"),
    HEAD + "1..1\nnotok 1 a\nok 1 a\n": (3, "unknown kind of line"),
    HEAD + "1..1\nok 1 a\x1b[0m\n": (3, "a control character"),
    HEAD + "1..1\nok 1 a\r\n": (3, "a control character"),
    HEAD + "1..1\n# Subtest: x\nok 1 a\n": (3, "'# Subtest:' in a comment"),
    HEAD + "1..1\nBail out! disk full\n": (3, "bailed out"),
    HEAD + "1..1\nok 1 a": (3, "no newline at the end"),
    HEAD + "1..1\n  ok 1 a\nok 1 b\n": (3, "without a version line there"),
    HEAD + "1..1\n  1..1\nok 1 b\n": (3, "without a version line there"),
    HEAD + "1..1\n   KTAP version 1\n   1..1\n   ok 1 x\nok 1 a\n": (3, "indented by 3 blanks"),
    HEAD + "1..1\n    KTAP version 1\n    1..1\n    ok 1 x\nok 1 a\n": (3, "by 2 levels;"),
    HEAD + "1..1\n  KTAP version 1\n  1..1\n  not ok 1 x\nok 1 a\n": (6, "although a subtest"),
    HEAD + "1..1\n  KTAP version 1\n  1..2\n  ok 1 x\nok 1 a\n": (3, "1 results; planned were 2"),
    HEAD + "1..1\n  TAP version 14\n  1..1\n  ok 1 x\nok 1 a\n": (3, "'TAP version 14'"),
    HEAD + "1..0\n  KTAP version 1\n  1..1\n  ok 1 x\n": (3, "without their parent's result"),
    HEAD + "1..1\n  KTAP version 1\n  ok 1 x\nok 1 a\n": (3, "no plan"),
}


class Rules(unittest.TestCase):
    def test_valid_output(self) -> None:
        for name, text in GOOD.items():
            with self.subTest(name):
                self.assertEqual(ktap_check.check(text), [])

    def test_invalid_output(self) -> None:
        for text, (line, what) in BAD.items():
            with self.subTest(text):
                findings = ktap_check.check(text)
                self.assertTrue([f for f in findings if f[0] == line and what in f[1]], findings)

    def test_tap_around_ktap(self) -> None:
        text = "TAP version 13\n1..1\n# selftests: a: b\n# KTAP version 1\nok 1 selftests: a: b\n"
        self.assertEqual(ktap_check.check(text, tap=True), [])

    def test_exit_status(self) -> None:
        tool = [sys.executable, os.path.join(CI, "engines", "ktap_check.py")]
        for text, status in ((GOOD["plain"], 0), ("no\n", 1)):
            result = process.run(tool, input=text)
            self.assertEqual((result.returncode, bool(result.stdout)), (status, bool(status)))
        self.assertEqual(process.run([*tool, "/no/such"]).returncode, 99)


class Jitproof(unittest.TestCase):
    """Checks jitproof's output; .ci/run checks that of a real run."""

    def read_output(self, *arguments: str, before: Sequence[str] = ()) -> str:
        return process.run([*before, JITPROOF, *arguments], timeout=240).stdout

    def check(self, text: str, results: int) -> None:
        self.assertEqual(ktap_check.check(text), [], text)
        self.assertEqual(text.count("ok "), text.count("\nok ") + text.count("\nnot ok "))
        self.assertGreaterEqual(text.count("\nok ") + text.count("\nnot ok "), results)

    def test_golden_output_of_failing_cases(self) -> None:
        path = os.path.join(ROOT, "harness", "selftest", "golden", "bad.ktap")
        self.assertEqual(ktap_check.check(files.read(path)), [])

    def test_judge(self) -> None:
        folders = [os.path.dirname(path) for path in
                   glob.glob(os.path.join(ROOT, "validators", "fixtures", "*", "case"))]
        self.assertGreater(len(folders), 4)
        for folder in folders:
            self.check(self.read_output("judge", folder), 1)

    def test_run_without_perf(self) -> None:
        text = self.read_output("run", "--set=check", before=[*DENY, "EPERM"])
        self.assertIn("# SKIP", text)
        self.check(text, 10)
