# SPDX-License-Identifier: GPL-2.0-only
"""What a browser makes of the page of `report`: pixels, clicks, keys and addresses."""

import json
import os
import shutil
import unittest
from typing import Any, Iterator

from ci.base import process
from harness.selftest.support.browser import CHROMIUM, Browser
from harness.selftest.support.scratch import FIXTURES, JITPROOF, Folder

TIME, THREAD, BAND, OFFSET, METHOD, VERDICT, CAUSE, SEEN, TRUE, LEVEL = range(10)


def is_orange(colour: tuple[int, ...]) -> bool:
    """Returns whether a pixel has the colour of holes; others are grey, blue or green."""
    return colour[0] - colour[2] > 80


@unittest.skipUnless(CHROMIUM, "chromium is not installed")
class Shown(Folder):
    browser: Browser

    @classmethod
    def setUpClass(cls) -> None:
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.__exit__)

    def tearDown(self) -> None:
        errors, self.browser.errors = self.browser.errors, []
        self.assertEqual(errors, [])
        super().tearDown()

    def open(self, source: str) -> dict[str, Any]:
        """Opens the page of a fixture or a path. Returns its first picture."""
        path = os.path.join(FIXTURES, source)
        self.page = self.place("page.html")
        process.run_or_raise([JITPROOF, "report", path, "-o", self.page])
        self.browser.open("file://" + self.page)
        report = json.loads(process.run_or_raise([JITPROOF, "report", "--json", path]))
        return dict(report["pictures"][0])

    def read_count(self) -> int:
        """Returns how many stacks the page claims to show."""
        return int(self.browser.read_text("#count").split()[0])

    def read_colours(self, left: float, width: float) -> Iterator[tuple[int, ...]]:
        """Yields the colour of each pixel of a part of the canvas, from the top down."""
        values = self.browser.evaluate(
            "Array.from(document.getElementById('canvas').getContext('2d').getImageData("
            "%d, 16, %d, 464).data)" % (left, width))
        for position in range(0, len(values), 4):
            yield tuple(values[position:position + 3])

    def find_x(self, picture: dict[str, Any], row: list[int]) -> float:
        width = self.browser.evaluate("document.getElementById('canvas').clientWidth")
        return float(row[TIME] / picture["length"] * width)

    def test_filter(self) -> None:
        picture = self.open("anon")
        exact = picture["strings"].index("exact")
        expected = sum(row[VERDICT] == exact for row in picture["rows"])
        self.assertEqual(self.read_count(), len(picture["rows"]))
        self.browser.evaluate("{ const select = document.getElementById('verdict'); "
                              "select.value = 'exact'; "
                              "select.dispatchEvent(new Event('change')); }")
        self.assertEqual(self.read_count(), expected)
        self.assertLess(0, expected)
        self.assertLess(expected, len(picture["rows"]))

    def test_click_on_a_function(self) -> None:
        """A click on a function shows the samples in it and its callees; a second click shows
        all."""
        picture = self.open("anon")
        stacks, rows = picture["stacks"], picture["rows"]
        for row in rows:
            self.assertLess(row[SEEN], len(stacks))

        def count_below(stack: int) -> int:
            count = 0
            for row in rows:
                position = row[SEEN]
                while position > stack:
                    position = stacks[position][0]
                count += position == stack
            return count

        counts = {stack: count_below(stack) for stack in range(1, len(stacks))}
        stack = next(stack for stack, count in counts.items() if 1 < count < len(rows))
        selector = "#whole [data-stack='%d']" % stack
        self.browser.click(selector)
        self.assertEqual(self.read_count(), counts[stack])
        address = self.browser.evaluate("location.href")
        self.browser.open(address)
        self.assertEqual(self.read_count(), counts[stack], "the address holds the stack")
        self.browser.click(selector)
        self.assertEqual(self.read_count(), len(rows))

    def test_broken_flames(self) -> None:
        """Whole stacks and broken stacks add up to all stacks that were walked."""
        for fixture, broken in ("anon", False), ("pathless", True):
            picture = self.open(fixture)
            walked = sum(row[SEEN] > 0 for row in picture["rows"])
            counts = [int(self.browser.read_text("#%s h3" % side).split(": ")[1])
                      for side in ("whole", "broken")]
            self.assertEqual(counts, [0, walked] if broken else [walked, 0])

    def test_hole_is_visible(self) -> None:
        """A hole is visible: samples that no mapping record covers have their colour."""
        for fixture in "pathless", "anon":
            picture = self.open(fixture)
            row = picture["rows"][len(picture["rows"]) // 2]
            colours = list(self.read_colours(self.find_x(picture, row) - 3, 6))
            self.assertEqual(any(map(is_orange, colours)), fixture == "pathless", fixture)

    def test_processes(self) -> None:
        """The tree shows who forked whom; a click on a process shows its samples only."""
        picture = self.open("gated")
        pids = {pid for pid, _ in picture["threads"]}
        self.assertGreater(len(pids), 1)
        for pid in pids:
            self.browser.click("#processes [data-pid='%d']" % pid)
            self.assertEqual(self.read_count(), sum(
                picture["threads"][row[THREAD]][0] == pid for row in picture["rows"]))
            address = self.browser.evaluate("location.href")
            self.browser.open(address)
            self.assertEqual(self.browser.evaluate("location.href"), address)
            self.assertEqual(self.browser.evaluate(
                "document.querySelector('#processes [aria-pressed=true]').dataset.pid"), str(pid))

    def test_keys(self) -> None:
        """Keys zoom and move; the address holds the view; 0 shows all."""
        self.open("anon")
        self.browser.evaluate("document.getElementById('canvas').focus()")
        full_view = self.browser.evaluate("location.hash")
        for key in "+", "ArrowRight":
            before = self.browser.evaluate("location.hash")
            self.browser.press(key)
            # The address changes once the view rests; 1,000 frames are a limit.
            self.browser.evaluate(
                "(async () => { for (let i = 0; i < 1000 && location.hash === %s; i++) "
                "await new Promise(requestAnimationFrame); })()" % json.dumps(before))
            self.assertNotEqual(self.browser.evaluate("location.hash"), before)
        address = self.browser.evaluate("location.href")
        self.browser.open(address)
        self.assertEqual(self.browser.evaluate("location.href"), address)
        self.browser.evaluate("document.getElementById('canvas').focus()")
        self.browser.press("0")
        self.assertEqual(self.browser.evaluate("location.hash"), full_view)

    def test_hidden_load(self) -> None:
        """Code that a grown mapping hides is hatched, and the legend counts it as judging does."""
        result = process.run([JITPROOF, "run", "-o", self.place("run"), "growth/anon.jitdump.keep"])
        if result.returncode == 4:
            self.skipTest("perf is denied here")
        with open(self.place("run", "results.jsonl"), encoding="utf-8") as file:
            hidden = json.loads(file.readline())["metrics"]["order.hidden"]["k"]
        self.open(self.place("run"))
        self.assertGreater(hidden, 0)
        self.assertIn("hidden by a later record: %d" % hidden,
                      self.browser.read_text(".legend"))
        width = self.browser.evaluate("document.getElementById('canvas').clientWidth")
        self.assertGreater(sum(map(is_orange, self.read_colours(0, width))), 100)

    def test_links(self) -> None:
        """A link of the answer opens the picture of its case."""
        self.open("reuse")
        self.browser.click("summary")
        self.browser.click("details button.link")
        self.assertEqual(self.browser.read_text("#picture h2"),
                         self.browser.read_text("details button.link"))

    def test_click_on_a_cause(self) -> None:
        """A click on a cause shows only the samples in the cause's code; the page's address keeps
        this choice."""
        picture = self.open(os.path.join("witness", "perf.data"))
        self.browser.click(".fault:last-of-type button.link")
        output = self.read_count()
        self.assertIn("all with code of the cause", self.browser.read_text("#count"))
        self.assertLess(0, output)
        self.assertLess(output, len(picture["rows"]))
        address = self.browser.evaluate("location.href")
        self.browser.open("about:blank")
        self.browser.open(address)
        self.assertEqual(self.read_count(), output)
        self.browser.click("#count button")
        self.assertEqual(self.read_count(), len(picture["rows"]))

    def test_case_without_picture(self) -> None:
        """The address of a case without samples shows that case, with its reason."""
        for name in "clock", "anon":
            shutil.copytree(os.path.join(FIXTURES, name), self.place("run", name))
        self.write("", "run", "anon", "perf.data")
        self.open(self.place("run"))
        self.assertIn("fixture/anon", self.browser.read_text("#picture h2"))  # the failed case
        self.assertIn("ERROR", self.browser.read_text("#picture"))
        self.browser.evaluate("[...document.querySelectorAll('button.link')]"
                              ".find((link) => link.textContent === 'fixture/clock').click()")
        self.assertIn("fixture/clock", self.browser.read_text("#picture h2"))
        self.assertIn("figures with an expectation", self.browser.read_text("#picture summary"))

    def test_picture_of_a_file(self) -> None:
        """The page of a file without truth shows its kinds of mappings."""
        picture = self.open(os.path.join("anon", "perf.data"))
        self.assertEqual(self.read_count(), len(picture["rows"]))
