# SPDX-License-Identifier: GPL-2.0-only
"""Tests that a profiler with one fault has exactly the red columns in a score that the fault
explains."""

import glob
import json
import os
import shutil
from typing import Any

from ci.base import files, process
from harness.selftest.support import wrong_streams as wrong
from harness.selftest.support.scratch import HERE, JITPROOF, Folder

# fork_exec runs until the deadline: it does nothing after its last task.
SCENES = """case fork_exec full : fork_exec --tasks=2 : launch : seconds=4
case deep full : anon_exec --depth=40 : attach
case threads full : anon_exec --threads=3 : attach
"""
COLUMNS = ("seen", "mapped", "right", "wrong", "whole", "invented", "tasks", "lost")


def find_red(row: dict[str, Any]) -> set[str]:
    return {column for column in COLUMNS if column in row and not row[column]["good"]}


class WrongProfilers(Folder):
    last_row = ""  # last row of the last score, for messages

    def find_red_columns(self, alteration: str, scene: str = "anon_exec",
                         *options: str) -> set[str]:
        self.write(files.read(os.path.join(HERE, "support", "wrong_profiler.py")),
                   "profilers", "altering.py")
        done = process.run(
            [JITPROOF, "score", "--profiler", "altering", "--json", "--samples=100", "--seconds=30",
             "--scenes", self.write(SCENES, "scenes"), *options, scene], timeout=120, env={
                 **os.environ, "JITPROOF_PROFILERS": self.place("profilers"),
                 "JITPROOF_ALTERATION": alteration, "JITPROOF_TREE": os.path.join(HERE, "../..")})
        if done.returncode == 4:
            self.skipTest(done.stderr)
        row, = json.loads(done.stdout)["workloads"]
        if row["outcome"] == "SKIP":
            self.skipTest(row["why"])
        self.assertIn("lost", row, row["why"])
        self.last_row = "%s: %s" % (alteration, row)
        return find_red(row)

    def score_streams(self, scene: str, *streams: tuple[str, wrong.Stream]) -> dict[str, Any]:
        """Scores the kept run with each (name, stream) instead of its own stream. Returns the rows
        by name."""
        kept = self.place("kept/a/runs/score", scene)
        for name, stream in streams:
            folder = self.place("altered", name)
            shutil.copytree(kept, folder, symlinks=True, copy_function=os.link)
            os.unlink(os.path.join(folder, "observations"))
            files.write(os.path.join(folder, "observations"), stream.join_text())
        done = process.run([JITPROOF, "score", "--json", "--again", self.place("altered")])
        self.assertEqual(done.stderr, "")
        rows = json.loads(done.stdout)["workloads"]
        return dict(zip(sorted(name for name, _ in streams), rows, strict=True))

    def score_altered(self, scene: str, *pairs: tuple[wrong.Alteration, wrong.Alteration]
                ) -> dict[str, dict[str, Any]]:
        """Scores the kept run with each (form, alteration). Returns the rows by `FORM
        ALTERATION`."""
        kept = self.place("kept/a/runs/score", scene)
        text = files.read(os.path.join(kept, "observations"))
        published = [line.split() for path in glob.glob(os.path.join(kept, "perf-*.map"))
                     for line in files.read(path).splitlines()]
        streams = []
        for form, alteration in pairs:
            stream = wrong.Stream(text, {name: int(start, 16) for start, _, name in published})
            form(stream)
            alteration(stream)
            streams.append(("%s %s" % (form.__name__, alteration.__name__), stream))
        return self.score_streams(scene, *streams)

    def test_truthful(self) -> None:
        for scene in ("anon_exec", "fork_exec", "deep", "threads", "address_reuse", "code_move"):
            self.assertEqual(self.find_red_columns("none", scene), set(), scene)
        self.assertEqual(self.find_red_columns("sums"), set())

    def test_samples(self) -> None:
        for alteration in ("drop", "window"):
            self.assertEqual(self.find_red_columns(alteration), {"seen"}, self.last_row)
        for alteration in ("double", "kernel"):
            self.assertEqual(self.find_red_columns(alteration, "threads"), {"invented"},
                             self.last_row)
        self.assertEqual(self.find_red_columns("weights"), {"seen"})

    def test_stacks(self) -> None:
        for alteration in ("caller", "leaf"):
            self.assertEqual(self.find_red_columns(alteration), {"whole"}, self.last_row)
        for alteration in ("invent", "order"):
            self.assertEqual(self.find_red_columns(alteration), {"whole", "invented"},
                             self.last_row)
        # Whether the thread was on a CPU 3 ms later is the machine's load.
        self.assertEqual(self.find_red_columns("later") - {"seen"}, {"whole", "invented"},
                         self.last_row)
        self.assertEqual(self.find_red_columns("truncate", "deep"), {"whole"})
        # It depends on chance whether the other thread was in its code at that moment.
        self.assertEqual(self.find_red_columns("tids", "threads") - {"seen"}, {"whole", "invented"})

    def test_names(self) -> None:
        self.assertEqual(self.find_red_columns("swap"), {"right", "wrong"})
        self.assertEqual(self.find_red_columns("nameless"), {"right"})
        self.assertEqual(self.find_red_columns("stale", "address_reuse"), {"right", "wrong"})
        self.assertEqual(self.find_red_columns("nearest"), {"wrong"})

    def test_libraries(self) -> None:
        """A library without symbols lacks names, the JIT code beside it does not."""
        self.assertEqual(self.find_red_columns("libraries", "tail_calls"), set())
        self.assertEqual(self.find_red_columns("swap", "tail_calls"), {"right", "wrong"})
        self.assertEqual(self.find_red_columns("sums", "tail_calls"), set())
        self.assertEqual(self.find_red_columns("none", "tail_calls", "-o", self.place("kept")),
                         set())
        rows = self.score_altered("tail_calls", (wrong.sum_samples, wrong.keep_all),
                                  *wrong.BESIDE_FILES)
        self.assertEqual(find_red(rows["sum_samples keep_all"]), set())
        for (form, alteration), expected in wrong.BESIDE_FILES.items():
            row = rows["%s %s" % (form.__name__, alteration.__name__)]
            with self.subTest(form=form.__name__, alteration=alteration.__name__):
                self.assertEqual(find_red(row), expected, row)

    def test_mappings(self) -> None:
        self.assertEqual(self.find_red_columns("maps"), {"mapped", "whole"})

    def test_tasks(self) -> None:
        for alteration in ("fork", "exit", "exec", "comm", "strays"):
            self.assertEqual(self.find_red_columns(alteration, "fork_exec"), {"tasks"},
                             self.last_row)

    def test_processes(self) -> None:
        """The parent has no code at the addresses of its child's code."""
        self.assertEqual(self.find_red_columns("parent", "fork_exec"),
                         {"seen", "wrong", "invented"}, self.last_row)

    def test_lost(self) -> None:
        self.assertEqual(self.find_red_columns("lost"), {"lost"})

    def test_moved(self) -> None:
        """The sum of samples fits the CPU time, the samples of each process do not."""
        self.find_red_columns("none", "fork_exec", "-o", self.place("kept"))
        for row in self.score_altered("fork_exec", (wrong.sum_samples, wrong.use_one_process),
                                      (wrong.sum_names, wrong.use_one_process)).values():
            self.assertEqual(find_red(row), {"seen", "invented"}, row)

    def test_forms(self) -> None:
        """Scores one recording in each form, unaltered and with each alteration that the form
        shows."""
        self.find_red_columns("none", "anon_exec", "-o", self.place("kept"))
        done = process.run([JITPROOF, "score", "--json", "--again", self.place("kept")])
        self.assertEqual([row["workload"] for row in json.loads(done.stdout)["workloads"]],
                         ["anon_exec"])
        rows = self.score_altered("anon_exec", *((form, wrong.keep_all) for form in wrong.FORMS),
                                  *wrong.ALTERATIONS)
        # Whether a true stream has all samples is a matter of the host.
        for form in wrong.FORMS:
            row = rows["%s keep_all" % form.__name__]
            self.assertEqual(find_red(row) - {"seen"}, set(), row)
            # A stream that declares no-losses has no column `lost`.
            self.assertEqual("lost" in row, form is not wrong.sum_names, row)
        # Surplus weight counts as invented, however many stacks share it.
        for form in (wrong.sum_samples, wrong.sum_names):
            cell = rows["%s multiply_weights" % form.__name__]["invented"]
            self.assertGreater(4 * cell["k"], cell["n"], cell)
        for (form, alteration), expected in wrong.ALTERATIONS.items():
            row = rows["%s %s" % (form.__name__, alteration.__name__)]
            with self.subTest(form=form.__name__, alteration=alteration.__name__):
                if expected is None:
                    self.assertEqual((row["outcome"], find_red(row)), ("ERROR", set()), row)
                    self.assertIn("before the capture began, or of after", row["why"])
                else:
                    self.assertEqual(find_red(row) - {"seen"}, expected - {"seen"}, row)
                    self.assertLessEqual(expected, find_red(row), row)
