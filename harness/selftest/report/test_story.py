# SPDX-License-Identifier: GPL-2.0-only
"""Tests that `jitproof show` prints the story of one case."""

import json
import os
import shutil

from ci.base import files, process
from harness.selftest.support.scratch import FIXTURES, JITPROOF, Folder


class Story(Folder):
    def setUp(self) -> None:
        super().setUp()
        for name in ("one", "another"):
            shutil.copytree(os.path.join(FIXTURES, "pathless"), self.place("run", "s", name))
            self.write(files.read(self.place("run", "s", name, "case")).replace(
                "fixture/pathless", "s/" + name), "run", "s", name, "case")

    def show(self, *words: str, columns: int = 80) -> str:
        result = process.run([JITPROOF, "show", *words], timeout=240,
                             env={**os.environ, "COLUMNS": str(columns), "TMPDIR": self.home})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for line in result.stdout.splitlines():
            self.assertLessEqual(len(line), columns, line)
        return result.stdout

    def test_parts_of_the_story(self) -> None:
        story = self.show("s/one", self.place("run"))
        self.assertRegex(story, r"^s/one: \w+ in \d+\.\d s\n")
        self.assertRegex(story, r"What the workload did\n    anon_exec [^:]*\n"
                         r"    processes: 1 launched, ")
        self.assertRegex(story, r"functions: [1-9]\d* loaded \([1-9]\d* bytes\)")
        self.assertRegex(story, r"How it was watched\n    attach --synth=paths")
        self.assertRegex(story, r"(?m)^    broken\.dump +[1-9]\d* of \d+; expected =100%: broken")
        self.assertRegex(story, r"Exceptions: [1-9]\d* kinds of metric and cause\n"
                         r"    broken\.\w+: \d+ with cause ")
        self.assertRegex(story, r"(?m)^        first: unmapped at ")
        self.assertLess(story.index("Exceptions:"), story.index("Figures:"))
        self.assertRegex(story, r"Files\n(?:.*\n)*.*\btruth\b")

    def test_width(self) -> None:
        self.show("s/one", self.place("run"), columns=50)

    def test_figures_are_the_results(self) -> None:
        result = process.run([JITPROOF, "judge", "--results", self.place("out"),
                              self.place("run", "s", "one")])
        self.assertIn(result.returncode, (0, 1))
        metrics = json.loads(files.read(self.place("out")))["metrics"]
        story = self.show("one", self.place("run"))
        for metric in ("broken.dump", "broken.chain", "coverage.missing"):
            self.assertRegex(story, r"(?m)^    %s +%d\b" % (metric, metrics[metric]["k"]))

    def test_newest_run(self) -> None:
        os.rename(self.place("run"), self.place("jitproof.abc"))
        self.write("", "jitproof.abc", "results.jsonl")
        os.mkdir(self.place("jitproof.later"))  # the newest folder has no run
        self.assertRegex(self.show("one"), r"^s/one: ")

    def test_refusals(self) -> None:
        for words, error in ((["x", self.place("run")], "no case matches 'x' in "),
                             (["s/oen", self.place("run")], "did you mean 's/one'?"),
                             (["s/", self.place("run")], "'s/' matches s/another and others"),
                             (["one"], "no run of yours is there"),
                             (["one", self.place("none")], "No such file")):
            with self.subTest(" ".join(words)):
                result = process.run([JITPROOF, "show", *words],
                                     env={**os.environ, "TMPDIR": self.home})
                self.assertIn(result.returncode, (2, 99))
                self.assertIn(error, result.stderr)
