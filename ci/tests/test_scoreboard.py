# SPDX-License-Identifier: GPL-2.0-only
"""Tests ci/scoreboard: it scores each cell once a round, resumes, and lists differing rounds."""

import os
import sys

from ci.base import files, process
from ci.scoreboard import page, stored_page, summary
from harness.selftest.support.scratch import Folder

# A jitproof with three scenes: `steady`; `shaky`, which fails in even rounds; and `stuck`, which
# cannot run while a file of that name exists.
FAKE = """#!{python}
import json, os, sys
here = os.path.dirname(os.path.abspath(__file__))
words = sys.argv[1:]
if "--list" in words:
    print("shaky\\nsteady\\nstuck")
    sys.exit(0)
again = "--again" in words
if again:
    with open(words[words.index("--again") + 1]) as run:
        profiler, scene, seed = run.read().split()
else:
    profiler, scene = words[words.index("--profiler") + 1], words[-1]
    seed = [word for word in words if word.startswith("--seed=")][0][7:]
if "-o" in words:
    with open(words[words.index("-o") + 1], "w") as run:
        print(profiler, scene, seed, file=run)
with open(here + "/calls", "a") as calls:
    print(profiler, scene, seed, *["again"] * again, file=calls)
if profiler != "perf":
    print("jitproof score: nobody has it", file=sys.stderr)
    sys.exit(4)
if scene == "stuck" and os.path.exists(here + "/stuck"):
    print("it is stuck", file=sys.stderr)
    sys.exit(99)
wrong = scene == "shaky" and int(seed) % 2 == 0
json.dump({{"profiler": profiler, "version": "(again)" if again else "1", "workloads": [{{
    "workload": scene, "outcome": "FAIL" if wrong else "PASS", "why": "",
    **({{"watched_ns": 0}} if again else {{"watched_ns": 20, "cpu_ns": 1}}),
    "seen": {{"k": 50, "n": 50, "good": True}},
    "wrong": {{"k": int(wrong), "n": 40, "good": not wrong}}, "skipped": {{}},
    "exceptions": [{{"metric": "names.wrong", "cause": "moonlight", "count": 1}}] * wrong}}]}},
    sys.stdout)
sys.exit(wrong)
"""


class Scoreboard(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.binary = self.write(FAKE.format(python=sys.executable), "build", "jitproof")
        os.chmod(self.binary, 0o755)

    def run_board(self, *words: str, profiler: str = "perf") -> tuple[int, str]:
        result = process.run(
            [sys.executable, page.ROOT + "/ci/scoreboard", "--profiler", profiler, "-o",
             self.place("page"), "--day", "today", *words],
            env={**os.environ, "O": self.place("build")}, timeout=240)
        return result.returncode, result.stdout + result.stderr

    def read_calls(self) -> list[str]:
        calls = files.read(self.place("build", "calls")).splitlines()
        os.unlink(self.place("build", "calls"))
        return calls

    def test_resumed_round_repeats_nothing(self) -> None:
        """A scene runs only once in a round, with the same build."""
        self.write("", "build", "stuck")
        status, output = self.run_board()
        self.assertEqual(status, 99, output)
        self.assertIn("perf stuck: it is stuck", output)
        self.assertEqual(self.read_calls(), ["perf shaky 1", "perf steady 1", "perf stuck 1"])
        self.assertEqual(self.run_board("--minutes=0")[0], 3)
        os.unlink(self.place("build", "stuck"))
        self.assertEqual(self.run_board()[0], 0)
        self.assertEqual(self.read_calls(), ["perf stuck 1"])
        self.assertEqual(self.run_board()[0], 0)
        self.assertEqual(self.read_calls(), ["perf shaky 2", "perf steady 2", "perf stuck 2"])
        self.write(files.read(self.binary) + "# newer\n", "build", "jitproof")
        self.run_board()
        self.run_board("--samples=7")
        self.assertEqual(self.read_calls(), 2 * ["perf shaky 1", "perf steady 1", "perf stuck 1"])

    def test_another_program_judges_kept_runs(self) -> None:
        self.run_board("--keep")
        self.run_board("--keep")
        self.read_calls()
        before = files.read(self.place("page"))
        self.assertIn("| CPU time of the profiler | 5.0 % |", before)
        self.write(files.read(self.binary) + "# newer\n", "build", "jitproof")
        self.assertEqual(self.run_board("--again")[0], 0)
        self.assertEqual(self.read_calls(),
                         ["perf %s %d again" % (scene, number) for number in (1, 2)
                          for scene in ("shaky", "steady", "stuck")])
        self.assertEqual(files.read(self.place("page")), before)
        self.run_board("--again", profiler="samply")
        self.assertFalse(os.path.exists(self.place("build", "calls")))

    def test_cells_that_vary(self) -> None:
        self.assertIn("0 of 0 cells", self.run_board()[1])
        self.assertIn("| shaky | ok |", files.read(self.place("page")))
        status, output = self.run_board()
        self.assertEqual(status, 0, output)
        self.assertIn("perf shaky varies: ok / wrong 1\n1 of 3 cells", output)
        self.assertIn("no reason yet: perf shaky\n", output)
        self.assertIn("no cause yet: perf shaky: names.wrong: moonlight (1)", output)
        self.run_board()
        self.run_board()
        text = files.read(self.place("page"))
        self.assertIn("| shaky | varies: ok / wrong 2 of 80 ? |", text)
        self.assertIn("| steady | ok |", text)
        self.assertIn("asked 4 times", text)
        self.assertIn("In 1 of the 3 cells that were measured more than once.", text)
        self.assertIn("| perf | shaky |  |", text)
        self.assertIn("2 of 3 workloads without a fault; seen 3/3, nothing wrong 2/3.", text)
        before = text
        self.read_calls()
        self.assertEqual(self.run_board("--page")[0], 0)
        self.assertEqual(files.read(self.place("page")), before)
        self.assertFalse(os.path.exists(self.place("build", "calls")))

    def test_missing_profiler(self) -> None:
        """Expects that only one scene runs, and that no page is made without a profiler."""
        status, output = self.run_board(profiler="samply")
        self.assertEqual((status, output.splitlines()[-1]), (4, "no profiler is here"))
        self.assertEqual(self.read_calls(), ["samply shaky 1"])
        self.assertFalse(os.path.exists(self.place("page")))
        self.run_board("--profiler=perf", profiler="samply")
        self.assertNotIn("samply", files.read(self.place("page")).split("## Not here")[0])
        self.assertIn("* samply: nobody has it", files.read(self.place("page")))

    def test_summary(self) -> None:
        """The page begins with what differs; the best comes first."""
        cells = {("good", "storm"): "ok", ("good", "fork"): "varies: ok / right 5 %, wrong 3",
                 ("bad", "storm"): "CRASH", ("bad", "fork"): "whole 3 %, lost 4",
                 ("bad", "other"): "-"}
        lines = list(summary.render(cells, ["bad", "good"], {"storm": "a storm", "fork": "fork"}))
        self.assertEqual(lines[-3:], [
            "| good | 1 of 2 | names are missing (1), names are wrong (1) |",
            "| bad | 0 of 2 | losses are not reported (1), stacks are broken (1) |", ""])
        self.assertIn("* Few profilers are right with: fork (0 of 2), a storm (1 of 2).", lines)

    def test_stored_page(self) -> None:
        """The stored page has the summary that follows from its cells, and a section for each
        profiler."""
        text = files.read(os.path.join(page.ROOT, "results", "PROFILERS.md"))
        cells, sections = stored_page.parse_cells(text), stored_page.parse_sections(text)
        scenes = [scene for _, scene in cells if " " not in scene]
        profilers = list(dict.fromkeys(profiler for profiler, _ in cells))
        lines = summary.render(cells, profilers, page.label_scenes(scenes))
        self.assertIn("\n".join(lines) + "\n## ", text)
        self.assertEqual(list(sections), profilers)
        for (profiler, scene), cell in cells.items():
            if scene in scenes:
                self.assertEqual(scene in sections[profiler].reasons, cell not in ("ok", "-"),
                                 (profiler, scene))

    def test_evidence(self) -> None:
        """A cause needs a finding, or source and sample; without, page and cell are marked."""
        text = {"text": "walks by tables: unwind() in walk.c"}
        complete_cause = {**text, "source": "walk.c unwind()", "sample": "7f00 7f10"}
        for entry, proven in ((text, False), ({**text, "source": "walk.c unwind()"}, False),
                              (complete_cause, True), ({"text": "asks no map (perf.memfd-map)"},
                                                       True),
                              ({"text": "has no times", "by": "scene"}, True),
                              ({"text": "unconfirmed: why"}, False)):
            self.assertEqual(page.is_confirmed(page.mark_text(entry)), proven, entry)
        self.assertEqual(page.mark_text({"text": "unconfirmed: why"}), "unconfirmed: why")

    def test_stored_causes(self) -> None:
        """Each cause in the stored page is in profilers.toml, cites an existing finding, and has
        the same mark (confirmed or not) in its cell."""
        text = files.read(os.path.join(page.ROOT, "results", "PROFILERS.md"))
        findings = files.read(os.path.join(page.ROOT, "results", "FINDINGS.md"))
        known = page.read_known("known")
        marked = {cause["text"] for cause in known}
        for one in known:
            cited = page.FINDING.search(one["text"])
            if cited and cited[0] != "(FINDINGS.md)":
                self.assertTrue(cited[0][1:-1] in findings, cited[0])
        split = [stored_page.split_row(line) for line in text.splitlines()]
        rows = {cells[0]: cells for cells in split if len(cells) > 5}
        labels = {scene: label for label, scene in page.ASKED}
        for place, (profiler, section) in enumerate(stored_page.parse_sections(text).items()):
            for scene, (_, reason, _) in section.reasons.items():
                rest = reason
                for known_text in sorted(marked, key=len, reverse=True):
                    rest = rest.replace(known_text, "")
                self.assertEqual(rest.strip("; "), "", (profiler, scene))
                cell = rows[labels.get(scene, scene)][place + 1]
                self.assertEqual(cell.endswith(page.DOUBT),
                                 not reason or page.UNCONFIRMED in reason, (profiler, scene))
