# SPDX-License-Identifier: GPL-2.0-only
"""Tests that a profiler with one fault has exactly the red columns in a score that the fault
explains."""

import glob
import json
import os
import shutil
import tempfile
from typing import Any

from ci.base import files, process
from harness.selftest.support import wrong_streams as wrong, wrong_texts
from harness.selftest.support.scratch import HERE, JITPROOF, Folder

# fork_exec runs until the deadline: it does nothing after its last task.
SCENES = """case fork_exec full : fork_exec --tasks=2 : launch : seconds=8
case deep full : anon_exec --depth=40 : attach
case threads full : anon_exec --threads=3 : attach
"""
COLUMNS = ("seen", "mapped", "right", "wrong", "whole", "invented", "tasks", "lost")


def find_red(row: dict[str, Any]) -> set[str]:
    return {column for column in COLUMNS if column in row and not row[column]["good"]}


class WrongProfilers(Folder):
    kept: str  # folder of one truthful run of each scene

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="jitproof-")
        cls.addClassCleanup(folder.cleanup)
        cls.kept = os.path.realpath(folder.name)

    def score_live(self, alteration: str, scene: str, *options: str) -> dict[str, Any]:
        """Returns the row of a new run with an alteration of wrong_profiler.py. The frequency is
        high, because on a busy host each pause takes about one sample's worth of certainty."""
        self.write(files.read(os.path.join(HERE, "support", "wrong_profiler.py")),
                   "profilers", "altering.py")
        result = process.run(
            [JITPROOF, "score", "--profiler", "altering", "--json", "--samples=100", "--seconds=30",
             "--freq=3989", "--scenes", self.write(SCENES, "scenes"), *options, scene],
            timeout=240, env={**os.environ, "JITPROOF_PROFILERS": self.place("profilers"),
                              "JITPROOF_ALTERATION": alteration,
                              "JITPROOF_TREE": os.path.join(HERE, "../..")})
        if result.returncode == 4:
            self.skipTest(result.stderr)
        row, = json.loads(result.stdout)["workloads"]
        if row["outcome"] == "SKIP":
            self.skipTest(row["why"])
        self.assertIn("lost", row, row["why"])
        return row

    def keep_run(self, scene: str) -> str:
        """Returns the folder of the scene's truthful run, whose score is checked at first."""
        kept_folder = os.path.join(self.kept, scene)
        if not os.path.exists(kept_folder):
            row = self.score_live("none", scene, "-o", kept_folder)
            self.assertEqual(find_red(row), set(), row)
        return os.path.join(kept_folder, "a/runs/score", scene)

    def score_texts(self, scene: str, texts: dict[str, str]) -> dict[str, Any]:
        """Scores the kept run with each of the named texts as its stream. Returns the rows by
        name."""
        kept_folder = self.keep_run(scene)
        altered = tempfile.mkdtemp(dir=self.home)
        for name, text in texts.items():
            folder = os.path.join(altered, name)
            shutil.copytree(kept_folder, folder, symlinks=True, copy_function=os.link)
            os.unlink(os.path.join(folder, "observations"))
            files.write(os.path.join(folder, "observations"), text)
        result = process.run([JITPROOF, "score", "--json", "--again", altered])
        self.assertEqual(result.stderr, "")
        rows = json.loads(result.stdout)["workloads"]
        return dict(zip(sorted(texts), rows, strict=True))

    def expect_red(self, scene: str, expected: dict[str, set[str]]) -> None:
        """Expects exactly these red columns of each alteration of wrong_texts.py."""
        text = files.read(os.path.join(self.keep_run(scene), "observations"))
        rows = self.score_texts(scene, {name: wrong_texts.ALTERATIONS[name](text)
                                        for name in expected})
        for name, columns in expected.items():
            with self.subTest(scene=scene, alteration=name):
                self.assertEqual(find_red(rows[name]), columns, rows[name])

    def score_altered(self, scene: str, *pairs: tuple[str, str]) -> dict[str, dict[str, Any]]:
        """Scores the kept run with each (form, alteration). Returns the rows by `FORM
        ALTERATION`."""
        kept_folder = self.keep_run(scene)
        text = files.read(os.path.join(kept_folder, "observations"))
        published = [line.split() for path in glob.glob(os.path.join(kept_folder, "perf-*.map"))
                     for line in files.read(path).splitlines()]
        texts = {}
        for form, alteration in pairs:
            stream = wrong.Stream(text, {name: int(start, 16) for start, _, name in published})
            wrong.CHANGES[form](stream)
            wrong.CHANGES[alteration](stream)
            texts["%s %s" % (form, alteration)] = stream.join_text()
        return self.score_texts(scene, texts)

    def test_truthful_profiler_is_green(self) -> None:
        for scene in ("anon_exec", "fork_exec", "deep", "threads", "address_reuse", "code_move"):
            self.keep_run(scene)
        self.assertEqual(find_red(self.score_live("sums", "anon_exec")), set())

    def test_samples(self) -> None:
        self.expect_red("anon_exec", {"window": {"seen"}})
        self.expect_red("threads", {"double": {"invented"}})
        self.assertEqual(find_red(self.score_live("weights", "anon_exec")), {"seen"})

    def test_stacks(self) -> None:
        self.expect_red("deep", {"truncate": {"whole"}})

    def test_names(self) -> None:
        self.expect_red("address_reuse", {"stale": {"right", "wrong"}})

    def test_libraries(self) -> None:
        """A library without symbols lacks names, the JIT code beside it does not."""
        self.expect_red("tail_calls", {"libraries": set()})
        self.assertEqual(find_red(self.score_live("sums", "tail_calls")), set())
        rows = self.score_altered("tail_calls", ("sum_samples", "keep_all"),
                                  *wrong.BESIDE_FILES)
        self.assertEqual(find_red(rows["sum_samples keep_all"]), set())
        for (form, alteration), expected in wrong.BESIDE_FILES.items():
            row = rows["%s %s" % (form, alteration)]
            with self.subTest(form=form, alteration=alteration):
                self.assertEqual(find_red(row), expected, row)

    def test_tasks(self) -> None:
        self.expect_red("fork_exec", {name: {"tasks"}
                                      for name in ("fork", "exit", "exec", "comm", "strays")})

    def test_processes(self) -> None:
        """The parent has no code at the addresses of its child's code."""
        self.expect_red("fork_exec", {"parent": {"seen", "wrong", "invented"}})

    def test_lost_samples(self) -> None:
        row = self.score_live("lost", "anon_exec")
        self.assertEqual(find_red(row), {"lost"}, row)

    def test_samples_moved_to_other_processes(self) -> None:
        """The sum of samples fits the CPU time, the samples of each process do not."""
        for row in self.score_altered("fork_exec", ("sum_samples", "use_one_process"),
                                      ("sum_names", "use_one_process")).values():
            self.assertEqual(find_red(row), {"seen", "invented"}, row)

    def test_each_form_of_a_stream(self) -> None:
        """Scores one recording in each form, unaltered and with each alteration that the form
        shows."""
        self.keep_run("anon_exec")
        result = process.run([JITPROOF, "score", "--json", "--again",
                              os.path.join(self.kept, "anon_exec")])
        self.assertEqual([row["workload"] for row in json.loads(result.stdout)["workloads"]],
                         ["anon_exec"])
        rows = self.score_altered("anon_exec", *((form, "keep_all") for form in wrong.FORMS),
                                  *wrong.EXPECTED)
        # Chance decides whether a true stream has all samples on this host.
        for form in wrong.FORMS:
            row = rows["%s keep_all" % form]
            self.assertEqual(find_red(row) - {"seen"}, set(), row)
            # A stream that declares no-losses has no column `lost`.
            self.assertEqual("lost" in row, form != "sum_names", row)
        # Surplus weight counts as invented, however many stacks share it.
        for form in ("sum_samples", "sum_names"):
            cell = rows["%s multiply_weights" % form]["invented"]
            self.assertGreater(4 * cell["k"], cell["n"], cell)
        for (form, alteration), expected in wrong.EXPECTED.items():
            row = rows["%s %s" % (form, alteration)]
            with self.subTest(form=form, alteration=alteration):
                if expected is None:
                    self.assertEqual((row["outcome"], find_red(row)), ("ERROR", set()), row)
                    self.assertIn("before the capture began or after", row["why"])
                else:
                    self.assertEqual(find_red(row) - {"seen"}, expected - {"seen"}, row)
                    self.assertLessEqual(expected, find_red(row), row)
