# SPDX-License-Identifier: GPL-2.0-only
"""Tests the page of `report`: its data, and what a browser makes of it."""

import json
import os
import re
import shutil
from typing import Any

from ci.base import files, process
from harness.selftest.support.scratch import FIXTURES, JITPROOF, Folder

# Columns of a row.
TIME, THREAD, BAND, OFFSET, METHOD, VERDICT, CAUSE, SEEN, TRUE, LEVEL = range(10)
# CASES: number of copies of a fixture in a run. HOSTILE: a folder's name, which would end the data
# of the page if it was not escaped.
CASES = 200  # with so many cases, each shows fewer rows than the fixture has
HOSTILE = "<!--<script>"


def find_data(page: str) -> str:
    data = re.search(r'id="data">\n(.*?)</script>', files.read(page), re.S)
    assert data
    return data[1]


def read_data(page: str) -> dict[str, Any]:
    return dict(json.loads(find_data(page)))


class Page(Folder):
    def report(self, *arguments: str) -> str:
        result = process.run([JITPROOF, "report", *arguments])
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def load(self, *arguments: str) -> dict[str, Any]:
        report = json.loads(self.report("--json", *arguments))
        self.assertEqual((report["format"], report["version"]), ("jitproof-report", 2))
        return dict(report)

    def make(self, source: str) -> str:
        page = self.place("page.html")
        self.report(source, "-o", page)
        return page

    def test_rows_are_the_verdicts(self) -> None:
        """The rows hold exactly the verdicts that judging counts."""
        report = self.load(os.path.join(FIXTURES, "anon"))
        picture, = report["pictures"]
        judged: dict[str, int] = {}
        for verdicts in report["cases"][0]["verdicts"].values():
            for verdict, count in verdicts.items():
                judged[verdict] = judged.get(verdict, 0) + count
        drawn: dict[str, int] = {}
        for row in picture["rows"]:
            verdict = picture["strings"][row[VERDICT]]
            drawn[verdict] = drawn.get(verdict, 0) + 1
        drawn.pop("outside", None)
        self.assertEqual(drawn, judged)
        self.assertEqual(picture["one_of"], 1)

    def test_places_of_exact_samples(self) -> None:
        """Exact samples lie in code that the truth has at their time, and their stacks name that
        code."""
        picture, = self.load(os.path.join(FIXTURES, "anon"))["pictures"]
        strings, checked = picture["strings"], 0
        for row in picture["rows"]:
            if strings[row[VERDICT]] != "exact":
                continue
            names = {strings[box[6]] for box in picture["truth"]
                     if box[1] == row[BAND] and box[2] <= row[OFFSET] < box[2] + box[3] and
                     box[4] <= row[TIME] <= box[5]}
            self.assertIn(strings[picture["stacks"][row[TRUE]][1]], names)
            self.assertEqual(row[SEEN], row[TRUE])
            checked += 1
        self.assertGreater(checked, 10)

    def test_page_of_a_file(self) -> None:
        """Without a truth, each sample has one row."""
        report = self.load(os.path.join(FIXTURES, "anon", "perf.data"))
        picture, = report["pictures"]
        self.assertEqual(len(picture["rows"]), report["explain"]["samples"])
        self.assertFalse(picture["has_truth"] or picture["truth"])

    def test_page_of_a_run(self) -> None:
        """`run --html` writes the page that `report` makes of the run directory."""
        self.write("case good check : anon_exec : attach --stack=8192 --freq=1999 : samples=100\n"
                   "case wrong check : anon_exec : attach --stack=8192 --freq=1999 : samples=100\n"
                   "\tbroken.dump >=95%\t# a healthy capture breaks nothing\n", "expected", "s")
        page, folder = self.place("page.html"), self.place("run")
        result = process.run([JITPROOF, "run", "--expected", self.place("expected"), "-o", folder,
                              "--html", page])
        if result.returncode == 4:
            self.skipTest("perf is denied here")
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        own, other = read_data(page), self.load(folder)
        self.assertEqual([case["outcome"] for case in own["cases"]], ["PASS", "FAIL"])
        for report in own, other:
            self.assertEqual(report.pop("source"), folder)
            for case in report["cases"]:
                case.pop("seconds", None)
        self.assertEqual(own, other)
        self.assertGreater(len(own["pictures"][1]["rows"]), 100)

    def test_published_names(self) -> None:
        """Without a truth, frames have the names that the jitdump publishes."""
        case = "growth/anon.jitdump.cut"
        result = process.run([JITPROOF, "run", "-o", self.place("run"), case])
        if result.returncode == 4:
            self.skipTest("perf is denied here")
        true, = self.load(self.place("run", case))["pictures"]
        seen, = self.load(self.place("run", case, "injected.data"))["pictures"]
        names = {true["strings"][box[6]] for box in true["truth"]}
        output = {seen["strings"][name] for _, name in seen["stacks"][1:]}
        self.assertGreater(len(names & output), 10)

    def test_shares_of_a_page(self) -> None:
        """Cases that passed have thinner pictures, so that a page of many cases shows all."""
        for number in range(CASES):
            shutil.copytree(os.path.join(FIXTURES, "clock"), self.place("run", str(number)))
        full_view, = self.load(os.path.join(FIXTURES, "clock"))["pictures"]
        report = self.load(self.place("run"))
        self.assertEqual((len(report["pictures"]), report["without_picture"]), (CASES, 0))
        self.assertEqual({picture["one_of"] for picture in report["pictures"]}, {2})
        self.assertLess(len(report["pictures"][0]["rows"]), len(full_view["rows"]))

    def test_run_without_page(self) -> None:
        """A page that cannot be written is an error before any case runs."""
        result = process.run([JITPROOF, "run", "--html", self.place("none", "page.html"),
                              "exact/*"])
        if result.returncode == 4:
            self.skipTest("perf is denied here")
        self.assertEqual((result.returncode, result.stdout), (99, ""))
        self.assertIn("none/page.html: No such file", result.stderr)

    def test_hostile_names(self) -> None:
        shutil.copytree(os.path.join(FIXTURES, "anon"), self.place(HOSTILE))
        page = self.make(self.place(HOSTILE))
        self.assertNotIn("<", find_data(page))
        self.assertEqual(read_data(page)["source"], self.place(HOSTILE))
