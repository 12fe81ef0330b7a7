# SPDX-License-Identifier: GPL-2.0-only
"""Tests ci/matrix compare with made runs."""

import os
from typing import Any, Sequence

from ci.tests.made_runs import DEFINITION, FACTS, Made, make_case, run_matrix


class Compare(Made):
    def store_runs(self, first: dict[str, Any] | None = None,
                  other: dict[str, Any] | None = None) -> tuple[str, str]:
        """Stores two runs in two folders and returns the paths."""
        self.store(self.run_dir("one", **(first or {})))
        after = self.place("after")
        self.store(self.run_dir("other", **(other or {})), to=after)
        return self.store_cell(), self.store_cell(folder=after)

    def compare_change(self, status: int, *says: str, arguments: Sequence[str] = (),
                       **second: Any) -> str:
        return self.compare(*self.store_runs(None, second), status, *says, arguments=arguments)

    def test_equal_runs(self) -> None:
        self.compare_change(0, "^1 pairs compared, 0 differences, 0 changed figures, "
                            "0 regressions\n$")

    def test_altered_fact(self) -> None:
        self.compare_change(1, r"REGRESSION: changed facts \(1\):\n  6.1: merge.anon: 2 -> 4\n",
                            facts=[{**FACTS[0], "value": 4}, *FACTS[1:]])
        number, truth = ({"facts": [{"fact": "x", "value": value}]} for value in (1, True))
        self.compare(*self.store_runs(number, truth), 1, "x: 1 -> true")
        self.compare_change(1, r"facts gone \(1\)", facts=FACTS[1:])
        self.compare_change(0, r"new facts \(1\)", facts=[*FACTS, {"fact": "new", "value": "x"}])

    def test_altered_expectation(self) -> None:
        altered = make_case("a/one")
        altered["metrics"]["broken.chain"]["expect"] = [0, 3]
        self.compare_change(1, r"changed expectations \(1\):\n.*"
                            "broken.chain: 0..0 count -> 0..3 count",
                            cases=[altered, make_case("a/two")])
        self.compare_change(1, "definition: - broken.chain =0", r"definition: \+ broken.chain <=3",
                            definition=DEFINITION.replace("=0", "<=3"))

    def test_changed_control(self) -> None:
        control: dict[str, Any] = {"cases": [make_case("a/one", control=True), make_case("a/two")]}
        self.compare(*self.store_runs(control), 1, "6.1: a/one: control: true -> false",
                     "1 regressions")
        self.compare_change(1, "6.1: a/one: control: false -> true", **control)

    def test_outcomes(self) -> None:
        for outcome in ("FAIL", "ERROR", "TIMEOUT", "CRASH", "XPASS"):
            self.compare_change(1, r"REGRESSION: new failures \(1\):\n  6.1: a/one: PASS -> %s: why"
                                % outcome, cases=[make_case("a/one", outcome, "why"),
                                                  make_case("a/two")])
        self.compare_change(1, r"became SKIP \(1\)", cases=[make_case("a/one", "SKIP"),
                                                            make_case("a/two")])
        self.compare_change(1, r"cases gone \(1\)", cases=[make_case("a/two")])
        self.compare_change(1, "PASS -> XFAIL", cases=[make_case("a/one", "XFAIL"),
                                                       make_case("a/two")])
        self.compare_change(0, r"^new cases \(1\)",
                            cases=[make_case("a/one"), make_case("a/two"), make_case("a/x")])
        self.compare_change(1, r"new failures \(1\)",
                            cases=[make_case("a/one"), make_case("a/two"),
                                   make_case("a/x", "FAIL")])

    def test_new_splat(self) -> None:
        splat: dict[str, Any] = {"outcome": "SPLAT",
                                 "groups": [{"reason": "WARNING: at mm/mmap.c"}]}
        self.compare_change(1,
                            r"new splats in the kernel's log \(1\):\n  6.1: DONE -> WARNING: at mm",
                            **splat)
        self.compare(*self.store_runs(splat, splat), 0)
        self.compare(*self.store_runs(splat), 0)

    def compare_splats(self, before: list[str], after: list[str], status: int, *says: str) -> None:
        folder = [{"outcome": "SPLAT", "groups": [{"reason": line} for line in lines]}
                for lines in (before, after)]
        self.compare(*self.store_runs(*folder), status, *says)

    def test_several_splats(self) -> None:
        self.compare_splats(["BUG: x"], ["BUG: y"], 1, "  6.1: BUG: x -> BUG: y\n", "1 regressions")
        self.compare_splats(["BUG: x"], ["BUG: x", "BUG: y"], 1, "  6.1: BUG: x -> BUG: y\n")
        self.compare_splats(["BUG: x", "BUG: y"], ["BUG: y"], 0, "0 differences")
        # Expect no difference for the same splat at another time, on another processor.
        line = "[%12.6f] WARNING: CPU: %d PID: %d at mm/mmap.c:12 f+0x1/0x2"
        self.compare_splats([line % (1, 0, 77)], [line % (12345.6, 1, 8)], 0, "0 differences")
        # "cut here" lines differ only by their time.
        cut = "[%12.6f] ------------[ cut here ]------------"
        self.compare_splats([cut % 1], [cut % 1], 0, "0 differences")
        self.compare_splats([cut % 1], [cut % 2], 1, "1 regressions")

    def test_lost_runs(self) -> None:
        lost = self.run_dir("lost", outcome="LOST", reason="panic")
        self.compare(lost, lost, 1, "6.1: LOST: panic",
                     "0 pairs compared, 1 differences, 0 changed figures, 1 regressions")
        # With both lost, the names of the cases are unknown.
        self.compare(lost, lost, 1, "1 regressions", arguments=["--case", "a/one"])
        self.store(self.run_dir("one"))
        self.compare(lost, "6.1", 0, "0 pairs compared, ")

    def test_no_case_matches(self) -> None:
        first, other = self.store_runs(None, {"cases": [make_case("a/one")]})
        for globs in (["b/*"], ["a/*", "--case", "b/*"]):
            result = run_matrix("compare", first, other, "--case", *globs)
            self.assertEqual((result.returncode, result.stdout, result.stderr),
                             (2, "", "ci/matrix compare: no case matches b/*\n"))
        # The glob may match a case that is gone or new.
        self.compare(first, other, 1, r"cases gone \(1\)", arguments=["--case", "a/two"])
        self.compare(other, first, 0, r"new cases \(1\)", arguments=["--case", "a/two"])

    def test_changed_figures(self) -> None:
        cases = [make_case("a/one", k=1), make_case("a/two")]
        self.compare_change(0, r"^changed figures \(2\):\n"
                            "  6.1: a/one: broken.chain: 0/1000 -> 1/1000",
                            cases=cases)
        self.compare_change(1, "2 regressions", arguments=["--exact"], cases=cases)
        # With the wall clock, 1 of 1000 can be chance, but 100 of 1000 count as a change.
        clock = {"accelerator": "kvm"}
        self.compare(*self.store_runs(clock, {**clock, "cases": cases}), 0, " 0 changed figures")
        cases = [make_case("a/one", k=100), make_case("a/two")]
        self.compare(*self.store_runs(clock, {**clock, "cases": cases}), 0, " 1 changed figures")

    def test_counts_of_different_runs_are_not_compared(self) -> None:
        cases = [make_case("a/one", n=999), make_case("a/two")]
        self.compare_change(0, "judged.chain: 1000 -> 999", cases=cases)
        others: tuple[dict[str, Any], ...] = ({"seed": 2}, {"suite": "full"}, {"label": "6.2"})
        for other in others:
            first, after = self.run_dir("one"), self.run_dir("other%s" % other, cases=cases,
                                                             **other)
            self.compare(first, after, 0, " 0 changed figures")
        self.compare_change(0, " 0 changed figures", cases=[*cases, make_case("a/x")])
        # Selecting cases does not make the runs equal.
        self.compare_change(0, " 0 changed figures", cases=[*cases, make_case("a/x")],
                            arguments=["--case", "a/one"])
        first = self.run_dir("one")
        self.run_dir("two", seed=2)
        both = self.place("both")
        self.store(first, self.place("two"), to=both)
        self.compare(first, both, 0, " 0 changed figures")

    def test_folders_labels_and_runs(self) -> None:
        self.run_dir("one", label="6.12")
        self.store(self.run_dir("one"))
        lost = self.run_dir("other", label="6.12", outcome="LOST", reason="panic in boot")
        self.compare(self.store_dir, lost, 1, "6.1: there before, not any more",
                     "6.12: LOST: panic in boot")
        self.compare("6.12", lost, 1, "lost: no result at all")
        self.compare("6.1", os.path.join(self.place("one"), "6.1"), 0, "0 regressions")
        self.compare("6.1", "6.12", 0, "^1 pairs compared, 0 differences")
        self.compare(self.store_dir, self.store_dir, 0, "^2 pairs compared, 0 differences")
