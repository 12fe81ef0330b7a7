# SPDX-License-Identifier: GPL-2.0-only
"""Tests that the study of runtimes' profilers finds wrong profilers."""

import unittest

from ci.runtimes import profilers

TRUTH = {"main;outer;hot": 0.5, "main;warm": 0.3, "main;deep;warm": 0.15, "main": 0.05}
RIGHT = {"main;outer;hot": 500, "main;warm": 300, "main;deep;warm": 150, "main;spent": 50}


class Judging(unittest.TestCase):
    def judge(self, findings: dict[str, int], evidence: float = 1000) -> str:
        return "; ".join(profilers.find_wrong_shares(TRUTH, findings, evidence))

    def test_correct_profile(self) -> None:
        self.assertEqual(self.judge(RIGHT), "")
        self.assertEqual(self.judge({**RIGHT, "main;warm": 280, "idle": 20}), "")

    def test_missing_function(self) -> None:
        self.assertIn("main;warm: 0.0 %, is 30.0 %", self.judge({**RIGHT, "main;warm": 0}))

    def test_swapped_functions(self) -> None:
        self.assertIn("main;outer;hot: 30.0 %", self.judge(
            {**RIGHT, "main;outer;hot": 300, "main;warm": 500}))

    def test_missing_caller(self) -> None:
        self.assertIn("main;deep;warm: 0.0 %", self.judge(
            {"main;outer;hot": 500, "main;warm": 450, "main": 50}))

    def test_invented_function(self) -> None:
        self.assertIn("6.5 % in no path of the program, most in 'x'",
                      self.judge({**RIGHT, "x": 70}))

    def test_too_few_samples(self) -> None:
        self.assertEqual(self.judge(RIGHT, 99), "99 samples")
        self.assertEqual(self.judge({}), "1000 samples")

    def test_stacks(self) -> None:
        self.assertEqual(list(profilers.parse_stacks(
            "period 1\nsample 3 7 - Shares.hot Shares.main run\nsample 2 7 - a%20b\n")),
                         [("main;hot", 3), ("", 2)])
