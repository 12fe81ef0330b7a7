# SPDX-License-Identifier: GPL-2.0-only
"""Tests `make pages`: the data of the boards, and what a browser makes of them."""

import json
import os
import re
import sys
import tempfile
import unittest
from typing import Any

from ci.base import files, process
from ci.matrix.results import stored
from ci.pages import board, upstream
from ci.scoreboard import stored_page
from harness.selftest.support.browser import CHROMIUM, Browser
from harness.selftest.support.scratch import ROOT


class Pages(unittest.TestCase):
    pages: str

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="jitproof-")
        cls.addClassCleanup(folder.cleanup)
        cls.pages = os.path.join(folder.name, "pages")
        process.run_or_raise([sys.executable, ROOT + "/ci/pages", "-o", cls.pages])

    def load(self, name: str) -> dict[str, Any]:
        data = re.search(r'id="data">\n(.*?)</script>',
                         files.read(os.path.join(self.pages, name)), re.S)
        assert data
        self.assertNotIn("<", data[1])
        page = json.loads(data[1])
        self.assertEqual((page["format"], page["version"]), (board.FORMAT, board.VERSION))
        for table in page["tables"]:
            for row in table["rows"]:
                self.assertEqual(len(row["cells"]), len(table["columns"]), row["name"])
        return dict(page)

    def test_matrix(self) -> None:
        """Each cell of a case has the outcome of its record, which it names."""
        tables = self.load("matrix.html")["tables"]
        checked = 0
        for table in tables[1:]:
            for row in table["rows"]:
                for label, cell in zip(table["columns"], row["cells"]):
                    if cell is None:
                        continue
                    line = int(cell["see"].split("\n")[0].rpartition(" ")[2])
                    record = json.loads(files.read("%s/%s.jsonl" % (
                        stored.FOLDER, label)).splitlines()[line - 1])
                    self.assertEqual(record["case"], row["name"])
                    self.assertEqual(cell["text"].split()[0], record["outcome"])
                    checked += 1
        self.assertEqual(checked, sum(len(made.cases)
                                      for made in stored.load_folder(stored.FOLDER)))

    def test_facts(self) -> None:
        """Two neighbours have the same colour where their values are equal. A value that differs
        from its predecessor's has a reason, which the equal values after it share."""
        facts = self.load("matrix.html")["tables"][0]
        order = [cell for cell in stored.load_folder(stored.FOLDER)
                 if cell.label in facts["columns"]]
        kernels = {cell.label: cell for cell in order}
        changes = 0
        for row in facts["rows"]:
            for at in range(1, len(row["cells"])):
                left_cell, other = row["cells"][at - 1:at + 1]
                if not left_cell or not other:
                    continue
                values = [kernels[label].facts[row["name"]]["value"]
                          for label in facts["columns"][at - 1:at + 1]]
                self.assertEqual(left_cell["grade"] == other["grade"], values[0] == values[1])
                before = stored.find_predecessor(order, at, row["name"])
                changed = before is not None and before.facts[row["name"]]["value"] != values[1]
                earlier = row["cells"][order.index(before)] if before else {}
                self.assertEqual("why" in other, changed or "why" in earlier, row["name"])
                if not changed:
                    self.assertEqual(other.get("why"), earlier.get("why"))
                changes += changed
        self.assertGreater(changes, 10)

    def test_upstream(self) -> None:
        """A failure leads to its finding by the id in its reason, or by its name; a case leads to
        the threads that ask for it."""
        self.assertEqual(upstream.list_threads("bcc#20, #47; erlang/otp#7; otel-fork#1"),
                         ["https://github.com/iovisor/bcc/issues/20",
                          "https://github.com/iovisor/bcc/issues/47",
                          "https://github.com/erlang/otp/issues/7", "otel-fork#1"])
        table = self.load("matrix.html")["tables"][2]
        see = {row["name"]: [cell["see"].split("\n")[1:] for cell in row["cells"]]
               for row in table["rows"] if row["name"].startswith("peers/inject.")}
        oldest, newest = table["columns"].index("perf-5.10"), table["columns"].index("perf-7.3")
        self.assertIn("inject writes its header over the data",
                      see["peers/inject.move"][oldest][0])
        self.assertIn("dies of a MOVE record", see["peers/inject.move"][newest][0])
        self.assertEqual(see["peers/inject.namespaces"][newest],
                         [", ".join(upstream.list_threads("bcc#2030; hotspot#283, #513"))])

    def test_profilers(self) -> None:
        table, = self.load("profilers.html")["tables"]
        cells = stored_page.parse_cells(files.read(ROOT + "/results/PROFILERS.md"))
        for row in table["rows"]:
            scene = re.sub(r".*\((\w+)\)$", r"\1", row["name"])
            for profiler, cell in zip(table["columns"], row["cells"]):
                text = cells[profiler, scene]
                self.assertEqual(cell.get("value", cell["text"]).split("\n")[0], text)
                self.assertEqual(cell["grade"] == "good", text == "ok")

    @unittest.skipUnless(CHROMIUM, "chromium is not installed")
    def test_browser(self) -> None:
        """Filters count, a click shows the cause, and the address holds both."""
        table = self.load("matrix.html")["tables"][1]
        row = next(row for row in table["rows"] if row["cells"][0]["grade"] != "good")
        cell = row["cells"][0]
        name = "%s %s %s" % (table["title"], row["name"], table["columns"][0])
        with Browser(width=390) as browser:
            for page in "index.html", "profilers.html", "matrix.html":
                browser.open("file://" + os.path.join(self.pages, page))
                self.assertLessEqual(browser.evaluate("document.documentElement.scrollWidth"), 390)
            browser.evaluate("document.getElementById('row').value = %s; document.getElementById("
                             "'row').dispatchEvent(new Event('input'))" % json.dumps(row["name"]))
            wanted = sum(row["name"] in right_cell["name"] for right_cell in table["rows"])
            self.assertIn("%d of %d rows" % (wanted, len(table["rows"])),
                          browser.read_text("#table1 p"))
            browser.click("[data-cell=%s]" % json.dumps(name))
            for text in cell["why"].split("\n")[0], cell["command"], cell["see"]:
                self.assertIn(text, browser.read_text("#cell"))
            self.assertTrue(browser.evaluate(
                "(({ top, bottom }) => 0 < top && bottom <= innerHeight)"
                "(document.getElementById('cell').getBoundingClientRect())"))
            output, address = browser.read_text("#cell"), browser.evaluate("location.href")
            browser.open(address)
            self.assertEqual(browser.read_text("#cell"), output)
            self.assertEqual(browser.errors, [])
