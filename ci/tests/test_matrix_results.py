# SPDX-License-Identifier: GPL-2.0-only
"""Tests ci/matrix store and report with made runs, and that results/MATRIX.md is up to date."""

import contextlib
import json
import os
import re
from typing import Any
import unittest
import unittest.mock

from ci.base import process
from ci.matrix.results import explained, stored, summary
from ci.tests.made_runs import CELL, DEFINITION, FACTS, Made, make_case, run_matrix
from harness.selftest.support.scratch import MATRIX


class Store(Made):
    def test_stored_format(self) -> None:
        self.store(self.run_dir("run"))
        lines = [json.loads(line) for line in self.read(self.store_cell()).splitlines()]
        self.assertEqual([line["id"] for line in lines],
                         ["6.1", "6.1 case a/one", "6.1 case a/two", "6.1 fact merge.anon",
                          "6.1 fact name.heap", "6.1 fact sizes"])
        self.assertEqual(lines[1]["metrics"], {"broken.chain": [0, 1000]})
        self.assertEqual(lines[1]["expect"], {"broken.chain": [0, 0, "count"]})
        self.assertEqual((lines[1]["judged"], lines[1]["distinct"]), ({"chain": 1000}, 40))
        self.assertEqual(lines[1]["definition"], DEFINITION)
        self.assertEqual(lines[0]["package"], "linux-image-6.1 6.1.190-1")
        self.assertEqual(lines[0]["package_sha256"], "cd" * 32)
        self.assertTrue(lines[0]["exact"])

    def test_seeds_are_summed(self) -> None:
        first = self.run_dir("run", [make_case("a/one", k=1, n=100), make_case("a/two")], seed=3,
                             command="run --seed 3")
        other = self.run_dir("other", [make_case("a/one", "FAIL", "too many", k=2, n=50),
                                       make_case("a/two")], seed=1,
                             command=["run", "--seed", "1"])
        self.store(first, other)
        cell = stored.load(self.store_cell())
        self.assertEqual(cell.header["seeds"], [1, 3])
        # Each seed has its own command.
        self.assertEqual(cell.header["command"], "run --seed 1; run --seed 3")
        one = cell.cases["a/one"]
        self.assertEqual(one["metrics"]["broken.chain"], [3, 150])
        self.assertEqual((one["outcome"], one["outcomes"]), ("FAIL", ["FAIL", "PASS"]))
        self.assertEqual((one["judged"], one["distinct"]), ({"chain": 150}, 40))
        self.assertEqual(one["why"], "too many")

    def test_incompatible_seeds(self) -> None:
        first = self.run_dir("run")
        self.expect_refusal(first, self.run_dir("same"), says="seed 1 is there twice")
        self.expect_refusal(first, self.run_dir("cpus", seed=2, cpus=2),
                            says="a/one: 'smp' differs")
        self.expect_refusal(first, self.run_dir("less", [make_case("a/one")], seed=2),
                            says="a/two was not run with all seeds")
        self.expect_refusal(first,
                            self.run_dir("fact", facts=[{**FACTS[0], "value": 4}, *FACTS[1:]],
                                         seed=2), says="merge.anon differs between seeds")

    def test_lost_and_partial_runs(self) -> None:
        self.expect_refusal(self.run_dir("lost", outcome="LOST", reason="panic"),
                            says="LOST: panic")
        folder = self.run_dir("short")
        self.write("KTAP version 1\n1..3\n", folder, "6.1", "ktap.txt")
        self.expect_refusal(folder, says="PARTIAL: .* announces 3 cases, results.jsonl has 2")
        folder = self.run_dir("cut")
        path = os.path.join(folder, "6.1", "results.jsonl")
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) - 20)
        self.expect_refusal(folder, says=r"results.jsonl:2: no newline at the end")
        folder = self.run_dir("none")
        os.unlink(os.path.join(folder, "6.1", "facts.jsonl"))
        self.expect_refusal(folder, says="has no facts.jsonl")
        os.unlink(os.path.join(folder, "6.1", "cell.json"))
        self.expect_refusal(folder, says="no cell.json")
        folder = self.run_dir("going")
        os.rename(os.path.join(folder, "6.1"), os.path.join(folder, "6.1.partial"))
        self.expect_refusal(folder, says="6.1.partial: the run is not finished")
        # A lost run prevents storing the others.
        self.expect_refusal(self.run_dir("run"), self.place("lost"), says="LOST")

    def test_paths_of_the_machine_are_replaced(self) -> None:
        own = self.place("run", "6.1")
        reason = "0.5 of 6.1. In %s/x, %s.partial/x, %s: no %s2/y, a%s." % ((own,) * 5)
        self.run_dir("run", [make_case("a/one", "ERROR", reason)])
        for number, (cwd, folder) in enumerate(((self.home, "run"), (self.place("run"), "."),
                                                (self.place("run"), "6.1"), (own, "."),
                                                (own, ".."), ("/", own))):
            to = self.place("to%d" % number)
            with contextlib.chdir(cwd):
                self.store(folder, to=to)
            self.assertEqual(stored.load(self.store_cell(folder=to)).cases["a/one"]["why"],
                             "0.5 of 6.1. In DIR/x, DIR/x, DIR: no %s2/y, a%s." % (own, own))


class Hostile(Made):
    def setUp(self) -> None:
        super().setUp()
        self.store(self.run_dir("run"))
        self.list_lines = self.read(self.store_cell()).splitlines(keepends=True)

    def expect_message(self, pattern: str, lines: list[str], name: str = "6.1") -> None:
        folder = self.place("bad")
        path = self.write("".join(lines), self.store_cell(name, folder))
        for command in (("compare", self.store_cell(), path), ("report", "--folder", folder)):
            result = run_matrix(*command)
            self.assertEqual(result.returncode, 99, result.stdout + result.stderr)
            self.assertRegex(result.stderr, re.escape(path) + pattern)
            self.assertNotIn("Traceback", result.stderr)
        os.unlink(path)

    def altered(self, number: int, **changes: Any) -> list[str]:
        """Returns the lines with changed keys in line @number; None removes a key."""
        record = {**json.loads(self.list_lines[number - 1]), **changes}
        record = {key: value for key, value in record.items() if value is not None}
        return [*self.list_lines[:number - 1], json.dumps(record) + "\n", *self.list_lines[number:]]

    def test_invalid_json(self) -> None:
        self.expect_message(": is empty", [])
        for line, messages in (("[" * 10, "a JSON value"), ("[]", "an object")):
            self.expect_message(":1: expected " + messages, [line + "\n"])

    def test_missing_lines(self) -> None:
        self.expect_message(":1: the header announces 2 cases, the file has 1",
                            [self.list_lines[0], self.list_lines[1], *self.list_lines[3:]])
        self.expect_message(":1: the header announces 3 facts", self.list_lines[:-1])
        self.expect_message(":6: no newline at the end",
                            [*self.list_lines[:-1], self.list_lines[-1][:-9]])

    def test_invalid_values(self) -> None:
        self.expect_message(": a record lacks 'outcome'", self.altered(1, outcome=None))
        self.expect_message(":1: expected a header of format 1", self.altered(1, format=2))
        self.expect_message(":2: 'id' is 'x'; expected '6.1 case a/one'", self.altered(2, id="x"))
        self.expect_message(":3: '6.1 case a/one' is in line 2 already",
                            [self.list_lines[0], self.list_lines[1], self.list_lines[1],
                             *self.list_lines[3:]])
        self.expect_message(r":1: is '6.1'; expected 6.1.jsonl", self.list_lines, name="6.12")

    def test_malformed_run_folders(self) -> None:
        records: tuple[tuple[str, Any, str], ...] = (
            ("cell.json", [], "cell.json:1: expected an object"),
            ("cell.json", {key: CELL[key] for key in CELL if key != "kernel"},
             "6.1: a file lacks 'kernel'"),
            ("results.jsonl", {"case": "x"}, "results.jsonl:1: case 'x' has no folder"),
            ("facts.jsonl", {"value": 1}, "6.1: a file lacks 'fact'"))
        for file, record, messages in records:
            folder = self.run_dir("run")
            self.write(json.dumps(record) + "\n", folder, "6.1", file)
            result = run_matrix("store", "--to", self.place("to"), folder)
            self.assertEqual(result.returncode, 99, result.stdout)
            self.assertIn(messages, result.stderr)
            self.assertNotIn("Traceback", result.stderr)


EXPLAINED = """
[[explained]]
fact = "merge.*"
from = "6.1"
to = "6.12"
why = '0123456789ab ("mm: merge | more") (in v6.7)'
source = "history"
"""


class Report(Made):
    def make(self, explanation: str = EXPLAINED) -> str:
        others: list[dict[str, Any]] = [
            {**FACTS[0], "value": 4}, {**FACTS[1], "value": "[heap] | `x` <b>"}, FACTS[2]]
        self.run_dir("run", label="5.10")
        self.run_dir("run", [make_case("a/one", "FAIL", "bad\nworse", k=500), make_case("a/b")],
                     others,
                     label="6.12")
        self.store(self.run_dir("run"))
        tool: dict[str, Any] = {"kind": "tool", "kernel": "6.18", "accelerator": "wall clock"}
        self.store(self.run_dir("tools", [make_case("a/one", "CRASH", "perf inject: gone",
                                               crashed="SIGSEGV")], [], label="perf-7.2", **tool))
        self.write(explanation, self.store_dir, explained.FILE)
        result = run_matrix("report", "--folder", self.store_dir)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.read("results", "MATRIX.md")

    def test_links_point_to_their_records(self) -> None:
        text = self.make()
        links = re.findall(r"\[([^]]*)\]\(matrix/([^)#]+)#L(\d+)\)", text)
        self.assertGreater(len(links), 20)
        for sentence, file, line in links:
            record = json.loads(self.read(self.store_dir, file).splitlines()[int(line) - 1])
            label = file.removesuffix(".jsonl")
            if sentence in ("PASS", "FAIL", "CRASH SIGSEGV"):
                outcome = "%s %s" % (record["outcome"], record.get("crashed", ""))
                self.assertEqual(outcome.strip(), sentence)
            self.assertTrue(record["id"] == label or record["id"].startswith(label + " "))

    def test_fact_tables(self) -> None:
        text = self.make()
        rows = [line for line in text.splitlines() if line.startswith("| `merge.anon`")]
        self.assertEqual(len(rows), 1)
        self.assertIn("6.1 → 6.12: [0123456789ab](https://git.kernel.org/linus/0123456789ab) "
                      '("mm: merge \\| more") (in v6.7) *(history)*', rows[0])
        self.assertIn("[5.10](matrix/5.10.jsonl#L4) [6.1](matrix/6.1.jsonl#L4): `2`<br>"
                      "[6.12](matrix/6.12.jsonl#L4): `4`", rows[0])
        row = next(line for line in text.splitlines() if line.startswith("| `name.heap`"))
        self.assertIn("6.1 → 6.12: **unexplained**", row)
        self.assertIn("\\[heap\\] \\| \\`x\\` &lt;b&gt;", row)
        self.assertNotIn("unexplained", rows[0])
        self.assertIn("| `sizes` | `112, 120` |", text)

    def test_summary(self) -> None:
        """The page begins with what differs: outcomes, and facts with their commits."""
        text = self.make().partition("\n## What differs\n")[2].partition("\n## ")[0]
        self.assertRegex(text, r"(?m)^\* \d+ of \d+ cases have the same outcome with every kernel "
                         r"of 5\.10 to 6\.12\.$")
        self.assertRegex(text, r"(?m)^\| 6\.1 → 6\.12 \| \d+ \| `merge\.anon`.* \| "
                         r"\[0123456789ab\]")
        kernels = [stored.load(self.place(self.store_dir, label + ".jsonl"))
                   for label in ("5.10", "6.1", "6.12")]
        changed = {name for names in summary.find_changed_cases(kernels).values() for name in names}
        for name in {name for kernel in kernels for name in kernel.cases}:
            outcomes = {cell.cases[name]["outcome"] for cell in kernels if name in cell.cases}
            self.assertEqual(name in changed, len(outcomes) > 1, name)
        self.assertTrue(changed)

    def test_figures_and_reasons(self) -> None:
        text = self.make()
        self.assertIn("| `a/one` | `broken.chain` |", text)
        self.assertIn("50.0 % (500 of 1000)", text)
        self.assertIn("bad; worse", text)
        self.assertIn("[CRASH SIGSEGV](matrix/perf-7.2.jsonl#L2)", text)
        self.assertIn("| [SIGSEGV](matrix/perf-7.2.jsonl#L2) | perf inject: gone |", text)

    def test_check_detects_changes(self) -> None:
        self.make()
        check = ("report", "--check", "--folder", self.store_dir)
        self.assertEqual(run_matrix(*check).returncode, 0)
        self.write("something else\n", "results", "MATRIX.md")
        result = run_matrix(*check)
        self.assertEqual(result.returncode, 1)
        self.assertIn("differs from the stored results", result.stdout)
        self.make()
        self.store(self.run_dir("run", facts=FACTS[1:]))
        self.assertEqual(run_matrix(*check).returncode, 1)


class Versions(unittest.TestCase):

    def test_explanations_apply_to_overlapping_ranges(self) -> None:
        reason = {"fact": "uprobe.*", "from": "6.1", "to": "6.12", "why": "", "source": ""}
        for before, after, wanted in (
                ("6.1", "6.12", True), ("6.1", "6.6", True), ("6.6", "6.12", True),
                ("5.10", "7.3", True), ("5.10", "6.1", False), ("6.12", "6.16", False)):
            self.assertEqual(bool(explained.find_explanations([reason], "uprobe.x", before, after)),
                             wanted, (before, after))
        self.assertFalse(explained.find_explanations([reason], "merge.x", "6.1", "6.12"))

    def test_explanations_of_architectures(self) -> None:
        reason = {"fact": "chain.*", "architecture": "aarch64", "why": "", "source": ""}
        for before, after, wanted in (("6.1", "6.1-aarch64", True), ("6.1", "6.12", False),
                                      ("6.1-aarch64", "6.12-aarch64", False)):
            self.assertEqual(bool(explained.find_explanations([reason], "chain.x", before, after)),
                             wanted, (before, after))

    def test_predecessor(self) -> None:
        """A kernel is compared with the one before of its architecture; the first kernel of an
        architecture, with the same version on x86-64."""
        labels = ["6.1", "6.12", "6.1-aarch64", "6.12-aarch64", "7.0-aarch64"]
        cell = [stored.Stored("", {"label": label, "kind": "kernel"}, {}, {"x": {}})
                for label in labels]
        found = [stored.find_predecessor(cell, index, "x") for index in range(len(cell))]
        self.assertEqual([predecessor.label if predecessor else "" for predecessor in found],
                         ["", "6.1", "6.1", "6.1-aarch64", "6.12-aarch64"])
        self.assertEqual(sorted(cell, key=lambda predecessor: predecessor.sort_key), cell)


class Committed(unittest.TestCase):
    def test_matrix_is_up_to_date(self) -> None:
        result = process.run([*MATRIX, "report", "--check"], timeout=240)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
