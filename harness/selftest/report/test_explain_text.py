# SPDX-License-Identifier: GPL-2.0-only
"""The explanation of a recording on a terminal, and in a file."""

import os
import unittest

from ci.base import process
from harness.selftest.support import terminal
from harness.selftest.support.scratch import FIXTURES, JITPROOF

FILE = os.path.join(FIXTURES, "growth", "perf.data")


class Explanation(unittest.TestCase):
    def explain(self, *options: str, columns: int = 80) -> str:
        text = terminal.show([JITPROOF, "explain", *options, FILE], columns).out
        for line in text.splitlines():
            self.assertLessEqual(len(line), columns, line)
        return text

    def test_width(self) -> None:
        for columns in (50, 80, 132):
            with self.subTest(columns=columns):
                self.explain("-v", columns=columns)

    def test_remedy_has_its_own_line(self) -> None:
        self.assertRegex(self.explain(), r"(?m)^         remedy:\n  put the file back, ")

    def test_short_and_verbose(self) -> None:
        short_text, verbose = self.explain(), self.explain("-v")
        self.assertNotIn("study: ", short_text)
        self.assertEqual(short_text.count("remedy:"), verbose.count("remedy:"))
        self.assertLess(short_text.count("\n         - "), verbose.count("\n         - "))

    def test_words_are_those_of_a_file(self) -> None:
        """In a file, lines have any length and nothing is omitted."""
        plain = process.run([JITPROOF, "explain", FILE]).stdout
        self.assertRegex(plain, r"(?m)^.{81,}$")
        self.assertEqual(self.explain("-v", columns=500).split(), plain.split())
