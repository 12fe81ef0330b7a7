# SPDX-License-Identifier: GPL-2.0-only
"""The page of a generated capture of 100,000 samples: its size, and how soon it is there."""

import json
import os
import random
import struct

from ci.base import process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.browser import CHROMIUM, Browser
from harness.selftest.support.scratch import JITPROOF, Folder

SAMPLES, PID = 100000, 100
LEVEL = 9
# Names of frames: each mapping is one function, so that stacks differ as in a real program.
FUNCTIONS, SIZE, START = 200, 0x10000, 0x7f0000000000
LARGEST = 5 << 20  # most bytes of a page
SOON_S = 2.0  # most seconds of CPU time until the first picture is drawn
FRAMES, FRAME_S = 40, 1 / 60  # frames of a zoom, and most seconds of CPU time for each
# Turns the wheel forth and back. Several events come before each frame, as from a fast wheel.
ZOOM = """(async () => {
    const canvas = document.getElementById("canvas"), box = canvas.getBoundingClientRect();
    for (let frame = 0; frame < %d; frame++) {
        for (let i = 0; i < 4; i++)
            canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: frame %% 8 < 4 ? -1 : 1,
                clientX: box.x + 300, clientY: box.y + 200 }));
        await new Promise(requestAnimationFrame);
    }
})()""" % FRAMES


class Size(Folder):
    def make(self, fan_out: int, deepest: int) -> str:
        """Makes a capture in which each function calls up to @fan_out others."""
        chance = random.Random(1)
        perf = rd.PerfData([rd.Attr.make(rd.IDENTIFIER | rd.IP | rd.TID | rd.TIME | rd.CALLCHAIN,
                                         [7])], [], {})
        perf.records.append(perf.comm(PID, PID, "made", 5, executed=True))
        for number in range(FUNCTIONS):
            perf.records.append(perf.map(PID, START + number * 2 * SIZE, SIZE,
                                         "/made/function%d" % number, 6))
        for number in range(SAMPLES):
            function, chain = 0, list[int]()
            for _ in range(chance.randint(1, deepest)):
                chain.insert(0, START + function * 2 * SIZE + chance.randrange(SIZE))
                function = (function * 7 + 1 + chance.randrange(fan_out)) % FUNCTIONS
            chain.insert(0, rd.CONTEXT_USER)
            perf.records.append(rd.Record(rd.SAMPLE, rd.USER, struct.pack(
                "<QQIIQQ%dQ" % len(chain), 7, chain[1], PID, PID + number % 50,
                1000000 + number * 100000, len(chain), *chain)))
        perf.save(self.place("perf.data"))
        process.run_or_raise([JITPROOF, "report", self.place("perf.data"), "-o",
                              self.place("page.html")])
        return self.place("page.html")

    def measure_cpu(self, browser: Browser) -> float:
        """Returns the seconds of CPU time that the page has used."""
        figures = browser.call("Performance.getMetrics")["metrics"]
        return float(next(metric["value"] for metric in figures
                          if metric["name"] == "TaskDuration"))

    def test_size(self) -> None:
        """All samples are shown; far fewer are drawn at first, and while the view moves."""
        page = self.make(3, 12)
        self.assertLess(os.path.getsize(page), LARGEST)
        picture, = json.loads(process.run_or_raise([JITPROOF, "report", "--json",
                                                    self.place("perf.data")]))["pictures"]
        self.assertEqual((picture["samples"], len(picture["rows"])), (SAMPLES, SAMPLES))
        levels = [sum(row[LEVEL] <= level for row in picture["rows"]) for level in range(10)]
        self.assertEqual(levels, sorted(levels))
        self.assertLess(levels[0], SAMPLES // 2)
        if not CHROMIUM:
            self.skipTest("chromium is not installed")
        with Browser() as browser:
            # Count CPU time: other processes may have the processors.
            browser.call("Performance.enable", timeDomain="threadTicks")
            browser.open("file://" + page)
            cpu_time = self.measure_cpu(browser)
            self.assertGreater(cpu_time, 0)
            self.assertLess(cpu_time, SOON_S)
            browser.evaluate(ZOOM)
            self.assertLess((self.measure_cpu(browser) - cpu_time) / FRAMES, FRAME_S)
            self.assertIn("%d of %d stacks" % (SAMPLES, SAMPLES), browser.read_text("#count"))
            self.assertEqual(browser.errors, [])

    def test_many_stacks(self) -> None:
        """If stacks are too many, samples are left out evenly, and the page states how many."""
        page = self.make(50, 12)
        self.assertLess(os.path.getsize(page), LARGEST)
        picture, = json.loads(process.run_or_raise([JITPROOF, "report", "--json",
                                                    self.place("perf.data")]))["pictures"]
        self.assertGreater(picture["one_of"], 1)
        self.assertEqual(picture["samples"], SAMPLES)
        self.assertIn(len(picture["rows"]), range(SAMPLES // picture["one_of"],
                                                  SAMPLES // picture["one_of"] + 2))
        used = set[int]()
        for row in picture["rows"]:
            position = row[7]
            while position and position not in used:
                used.add(position)
                position = picture["stacks"][position][0]
        self.assertGreater(len(used), len(picture["stacks"]) / 4)
