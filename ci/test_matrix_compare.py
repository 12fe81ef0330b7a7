#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix compare, with made runs."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
from axis import differences, stored  # noqa: E402
from made_runs import DEFINITION, FACTS, Made, case  # noqa: E402


class Compare(Made):
    def both(self, one=None, other=None):
        """Stores two runs, as files of two folders."""
        self.store(self.run_dir("one", **(one or {})))
        after = self.path("after")
        self.store(self.run_dir("other", **(other or {})), to=after)
        return self.stored(), self.stored(folder=after)

    def changed(self, status, *says, arguments=(), **other):
        return self.compare(*self.both(None, other), status, *says, arguments=arguments)

    def test_same(self):
        self.changed(0, "^1 compared, 0 differences, 0 figures, 0 regressions\n$")

    def test_altered_fact(self):
        self.changed(1, r"REGRESSION: changed facts \(1\):\n  6.1: merge.anon: 2 -> 4\n",
                     facts=[{**FACTS[0], "value": 4}, *FACTS[1:]])
        number, truth = ({"facts": [{"fact": "x", "value": value}]} for value in (1, True))
        self.compare(*self.both(number, truth), 1, "x: 1 -> true")
        self.changed(1, r"facts gone \(1\)", facts=FACTS[1:])
        self.changed(0, r"new facts \(1\)", facts=[*FACTS, {"fact": "new", "value": "x"}])

    def test_altered_expectation(self):
        altered = case("a/one")
        altered["metrics"]["broken.chain"]["expect"] = [0, 3]
        self.changed(1, r"changed expectations \(1\):\n.*broken.chain: 0..0 count -> 0..3 count",
                     cases=[altered, case("a/two")])
        self.changed(1, "definition: - broken.chain =0", r"definition: \+ broken.chain <=3",
                     definition=DEFINITION.replace("=0", "<=3"))

    def test_outcomes(self):
        for outcome in ("FAIL", "ERROR", "TIMEOUT", "CRASH", "XPASS"):
            self.changed(1, r"REGRESSION: new failures \(1\):\n  6.1: a/one: PASS -> %s: why"
                         % outcome, cases=[case("a/one", outcome, "why"), case("a/two")])
        self.changed(1, r"became SKIP \(1\)", cases=[case("a/one", "SKIP"), case("a/two")])
        self.changed(1, r"cases gone \(1\)", cases=[case("a/two")])
        self.changed(1, "PASS -> XFAIL", cases=[case("a/one", "XFAIL"), case("a/two")])
        self.changed(0, r"^new cases \(1\)", cases=[case("a/one"), case("a/two"), case("a/x")])
        self.changed(1, r"new failures \(1\)",
                     cases=[case("a/one"), case("a/two"), case("a/x", "FAIL")])

    def test_a_crash_is_not_a_failure(self):
        before = {"cases": [case("a/one", "FAIL")]}
        after = {"cases": [case("a/one", "CRASH", "perf inject: last", crashed="SIGSEGV")]}
        self.compare(*self.both(before, after), 1, "FAIL -> CRASH SIGSEGV: perf inject: last")

    def test_splat(self):
        splat = {"outcome": "SPLAT", "groups": [{"reason": "WARNING: at mm/mmap.c"}]}
        self.changed(1, r"has what it had not \(1\):\n  6.1: DONE -> WARNING: at mm", **splat)
        self.compare(*self.both(splat, splat), 0)
        self.compare(*self.both(splat), 0)

    def test_some_cases(self):
        one, other = self.both(None, {"cases": [case("a/one")], "facts": FACTS[1:]})
        self.compare(one, other, 1, "2 regressions")
        self.compare(one, other, 0, "0 regressions", arguments=["--case", "a/one"])
        self.compare(one, other, 1, "1 regressions", arguments=["--case", "a/*"])

    def test_fixed(self):
        self.compare(*self.both({"cases": [case("a/one", "FAIL")]}, {"cases": [case("a/one")]}),
                     0, r"^fixed \(1\):\n  6.1: a/one: FAIL -> PASS")

    def test_figures(self):
        cases = [case("a/one", k=1), case("a/two")]
        self.changed(0, r"^changed figures \(2\):\n  6.1: a/one: broken.chain: 0/1000 -> 1/1000",
                     cases=cases)
        self.changed(1, "2 regressions", arguments=["--exact"], cases=cases)
        # By the wall clock one of a thousand is chance, a hundred are not.
        clock = {"accelerator": "kvm"}
        self.compare(*self.both(clock, {**clock, "cases": cases}), 0, " 0 figures")
        cases = [case("a/one", k=100), case("a/two")]
        self.compare(*self.both(clock, {**clock, "cases": cases}), 0, " 1 figures")

    def test_folders_labels_and_runs(self):
        self.run_dir("one", label="6.12")
        self.store(self.run_dir("one"))
        lost = self.run_dir("other", label="6.12", outcome="LOST", reason="panic in boot")
        self.compare(self.store_dir, lost, 1, "6.1: there before, not any more",
                     "6.12: LOST: panic in boot")
        self.compare("6.12", lost, 1, "lost: no result at all")
        self.compare("6.1", os.path.join(self.path("one"), "6.1"), 0, "0 regressions")
        self.compare("6.1", "6.12", 0, "^1 compared, 0 differences")
        self.compare(self.store_dir, self.store_dir, 0, "^2 compared, 0 differences")


class Kinds(unittest.TestCase):
    def test_rates(self):
        self.assertFalse(stored.apart([0, 100], [1, 100]))
        self.assertTrue(stored.apart([0, 100], [50, 100]))
        self.assertTrue(stored.apart([1], [2]))

    def test_every_kind_has_a_place(self):
        self.assertIn("failure", differences.REGRESSIONS)
        self.assertNotIn("figure", differences.REGRESSIONS)


if __name__ == "__main__":
    unittest.main()
