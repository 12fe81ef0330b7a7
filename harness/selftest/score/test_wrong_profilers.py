# SPDX-License-Identifier: GPL-2.0-only
"""A profiler with one rule wrong has the red cells that it deserves in a score, and no others."""

import glob
import json
import os
import shutil
from typing import Any

from ci.base import files, process
from harness.selftest.support import wrong_streams as wrong
from harness.selftest.support.scratch import HERE, JITPROOF, Folder

# Once its tasks are over nothing ends it but the deadline.
SCENES = """case fork_exec full : fork_exec --tasks=2 : launch : seconds=4
case deep full : anon_exec --depth=40 : attach
case threads full : anon_exec --threads=3 : attach
"""
COLUMNS = ("seen", "mapped", "right", "wrong", "whole", "invented", "tasks", "lost")


def red_of(row: dict[str, Any]) -> set[str]:
    return {column for column in COLUMNS if column in row and not row[column]["good"]}


class Liar(Folder):
    told = ""  # what the last score says

    def red(self, lie: str, scene: str = "anon_exec", *options: str) -> set[str]:
        self.write(files.read(os.path.join(HERE, "support", "wrong_profiler.py")),
                   "profilers", "liar.py")
        done = process.run(
            [JITPROOF, "score", "--profiler", "liar", "--json", "--samples=100", "--seconds=30",
             "--scenes", self.write(SCENES, "scenes"), *options, scene], timeout=120, env={
                 **os.environ, "JITPROOF_PROFILERS": self.place("profilers"), "JITPROOF_LIE": lie,
                 "JITPROOF_TREE": os.path.join(HERE, "../..")})
        if done.returncode == 4:
            self.skipTest(done.stderr)
        row, = json.loads(done.stdout)["workloads"]
        if row["outcome"] == "SKIP":
            self.skipTest(row["why"])
        self.assertIn("lost", row, row["why"])
        self.told = "%s: %s" % (lie, row)
        return red_of(row)

    def again(self, scene: str, *streams: tuple[str, wrong.Stream]) -> dict[str, Any]:
        """What a score says of the kept run with each of these (name, stream) in it."""
        kept = self.place("kept/a/runs/score", scene)
        for name, stream in streams:
            folder = self.place("lies", name)
            shutil.copytree(kept, folder, symlinks=True, copy_function=os.link)
            os.unlink(os.path.join(folder, "observations"))
            files.write(os.path.join(folder, "observations"), stream.text())
        done = process.run([JITPROOF, "score", "--json", "--again", self.place("lies")])
        self.assertEqual(done.stderr, "")
        rows = json.loads(done.stdout)["workloads"]
        return dict(zip(sorted(name for name, _ in streams), rows, strict=True))

    def told_by(self, scene: str, *told: tuple[wrong.Lie, wrong.Lie]
                ) -> dict[str, dict[str, Any]]:
        """The same of each of these (form, lie), by both names."""
        kept = self.place("kept/a/runs/score", scene)
        text = files.read(os.path.join(kept, "observations"))
        published = [line.split() for path in glob.glob(os.path.join(kept, "perf-*.map"))
                     for line in files.read(path).splitlines()]
        streams = []
        for form, lie in told:
            stream = wrong.Stream(text, {name: int(start, 16) for start, _, name in published})
            form(stream)
            lie(stream)
            streams.append(("%s %s" % (form.__name__, lie.__name__), stream))
        return self.again(scene, *streams)

    def test_truthful(self) -> None:
        for scene in ("anon_exec", "fork_exec", "deep", "threads", "address_reuse", "code_move"):
            self.assertEqual(self.red("none", scene), set(), scene)
        self.assertEqual(self.red("sums"), set())

    def test_samples(self) -> None:
        for lie in ("drop", "window"):
            self.assertEqual(self.red(lie), {"seen"}, self.told)
        for lie in ("double", "kernel"):
            self.assertEqual(self.red(lie, "threads"), {"invented"}, self.told)
        self.assertEqual(self.red("weights"), {"seen"})

    def test_stacks(self) -> None:
        for lie in ("caller", "leaf"):
            self.assertEqual(self.red(lie), {"whole"}, self.told)
        for lie in ("invent", "order"):
            self.assertEqual(self.red(lie), {"whole", "invented"}, self.told)
        # Whether the thread was on a CPU 3 ms later is the machine's load.
        self.assertEqual(self.red("later") - {"seen"}, {"whole", "invented"}, self.told)
        self.assertEqual(self.red("truncate", "deep"), {"whole"})
        # Whether the other thread was in its code just then is chance.
        self.assertEqual(self.red("tids", "threads") - {"seen"}, {"whole", "invented"})

    def test_names(self) -> None:
        self.assertEqual(self.red("swap"), {"right", "wrong"})
        self.assertEqual(self.red("nameless"), {"right"})
        self.assertEqual(self.red("stale", "address_reuse"), {"right", "wrong"})
        self.assertEqual(self.red("nearest"), {"wrong"})

    def test_libraries(self) -> None:
        """A library without symbols has no names to tell, and JIT code beside it has."""
        self.assertEqual(self.red("libraries", "tail_calls"), set())
        self.assertEqual(self.red("swap", "tail_calls"), {"right", "wrong"})
        self.assertEqual(self.red("sums", "tail_calls"), set())
        self.assertEqual(self.red("none", "tail_calls", "-o", self.place("kept")), set())
        rows = self.told_by("tail_calls", (wrong.sums, wrong.full), *wrong.BESIDE_FILES)
        self.assertEqual(red_of(rows["sums full"]), set())
        for (form, lie), deserved in wrong.BESIDE_FILES.items():
            row = rows["%s %s" % (form.__name__, lie.__name__)]
            with self.subTest(form=form.__name__, lie=lie.__name__):
                self.assertEqual(red_of(row), deserved, row)

    def test_mappings(self) -> None:
        self.assertEqual(self.red("maps"), {"mapped", "whole"})

    def test_tasks(self) -> None:
        for lie in ("fork", "exit", "exec", "comm", "strays"):
            self.assertEqual(self.red(lie, "fork_exec"), {"tasks"}, self.told)

    def test_processes(self) -> None:
        """The parent has no code where its child does."""
        self.assertEqual(self.red("parent", "fork_exec"), {"seen", "wrong", "invented"}, self.told)

    def test_lost(self) -> None:
        self.assertEqual(self.red("lost"), {"lost"})

    def test_moved(self) -> None:
        """All samples together are as many as the CPU time says; of each process they are not."""
        self.red("none", "fork_exec", "-o", self.place("kept"))
        for row in self.told_by("fork_exec", (wrong.sums, wrong.one_process),
                                (wrong.sums_of_names, wrong.one_process)).values():
            self.assertEqual(red_of(row), {"seen", "invented"}, row)

    def test_forms(self) -> None:
        """One recording, told in each form, truly and with each lie that shows there."""
        self.red("none", "anon_exec", "-o", self.place("kept"))
        done = process.run([JITPROOF, "score", "--json", "--again", self.place("kept")])
        self.assertEqual([row["workload"] for row in json.loads(done.stdout)["workloads"]],
                         ["anon_exec"])
        rows = self.told_by("anon_exec", *((form, wrong.full) for form in wrong.FORMS),
                            *wrong.LIES)
        # Whether a true stream has all samples is a matter of the host.
        for form in wrong.FORMS:
            row = rows["%s full" % form.__name__]
            self.assertEqual(red_of(row) - {"seen"}, set(), row)
            # Who cannot tell what it lost has lost nobody knows what.
            self.assertEqual("lost" in row, form is not wrong.sums_of_names, row)
        # All that is too much is invented, however many stacks share it.
        for form in (wrong.sums, wrong.sums_of_names):
            cell = rows["%s heavy" % form.__name__]["invented"]
            self.assertGreater(4 * cell["k"], cell["n"], cell)
        for (form, lie), deserved in wrong.LIES.items():
            row = rows["%s %s" % (form.__name__, lie.__name__)]
            with self.subTest(form=form.__name__, lie=lie.__name__):
                if deserved is None:
                    self.assertEqual((row["outcome"], red_of(row)), ("ERROR", set()), row)
                    self.assertIn("before the capture began, or of after", row["why"])
                else:
                    self.assertEqual(red_of(row) - {"seen"}, deserved - {"seen"}, row)
                    self.assertLessEqual(deserved, red_of(row), row)
