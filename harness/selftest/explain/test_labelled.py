#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""`jitproof explain` on captures with a known cause (ci/labelled): the cause comes first in 98 of
100, and healthy captures have none. Prints a table.

As a program: explains captures whose names match a glob; --keep DIR unpacks them there; --folder
DIR reads captures as ci/labelled records them instead of the tree's.
"""

import argparse
import concurrent.futures
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
from typing import NamedTuple, Sequence
import unittest

sys.path.insert(0, os.path.abspath(__file__ + "/../../../.."))
from ci.base import files, intervals, process
from ci.labelled import pack
from harness.selftest.support.scratch import HERE, JITPROOF

SET = os.path.join(HERE, "labelled")
GOLDEN = os.path.join(HERE, "golden", "explained")
HEALTHY = "healthy"
RIGHT = 0.98  # least share of captures for which explain finds the right cause first


class Answer(NamedTuple):
    name: str
    label: list[str]  # see ci/labelled/recipe.py
    causes: list[str]  # the causes that explain found, in its order
    first: dict[str, str]  # the first cause of each question, or "-"
    error: str

    @property
    def right(self) -> bool:
        if self.error:
            return False
        if ":" in self.label[0]:
            return all(self.first[question] in causes.split("|")
                       for question, _, causes in (word.partition(":") for word in self.label))
        return self.causes[:1] == [] if self.label[0] == HEALTHY else self.causes[:1] != [] and \
            self.causes[0] in self.label

    def format_row(self) -> str:
        answer = self.error or ", ".join(self.causes) or HEALTHY
        if ":" in self.label[0]:
            answer = " ".join("%s:%s" % one for one in self.first.items()) + " (%s)" % answer
        return "| %-28s | %-24s | %-60s | %s |" % (self.name, " ".join(self.label), answer,
                                                  "ok" if self.right else "**wrong**")


def run_on(home: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs jitproof on an unpacked capture; without the user's cache of binaries, ~/.debug."""
    return process.run([JITPROOF, *words, "--root", "root", "perf.data"], timeout=240, cwd=home,
                       env={**os.environ, "HOME": home})


def list_names(folder: str) -> list[str]:
    return sorted(name[:-len(".tar.xz")] for name in os.listdir(folder)
                  if name.endswith(".tar.xz"))


def explain_one(name: str, home: str) -> Answer:
    """Runs explain on an unpacked capture."""
    label = files.read(os.path.join(home, "label")).split()
    result = run_on(home, "explain", "--json")
    if result.returncode not in (0, 1):
        return Answer(name, label, [], {},
                      "exit %d: %s" % (result.returncode, result.stderr.strip()))
    found = json.loads(result.stdout)
    causes = ["%s %.0f%%" % (one["id"], 100 * one["share"]) for one in found["causes"]]
    if found["healthy"] != (not causes):
        return Answer(name, label, [], {}, "healthy: %s, and %d causes" %
                      (found["healthy"], len(causes)))
    if result.returncode != bool(causes):
        return Answer(name, label, [], {},
                      "exit %d, and %d causes" % (result.returncode, len(causes)))
    first = {question: (found[question] or [{"id": "-"}])[0]["id"]
             for question in ("stacks", "names")}
    return Answer(name, label, [one["id"] for one in found["causes"]], first, "")


def explain_set(folder: str, globs: Sequence[str], scratch: str) -> list[Answer]:
    """Explains the tree's set, unpacked into @scratch."""
    shared = os.path.join(scratch, pack.FILES)
    os.makedirs(shared, exist_ok=True)
    chosen = [name for name in list_names(folder) if any(fnmatch.fnmatch(name,
                                                                         glob) for glob in globs)]
    for name in chosen:
        pack.unpack(folder, name, os.path.join(scratch, name), shared)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda name: explain_one(name, os.path.join(scratch, name)), chosen))


def print_texts(folder: str, scratch: str) -> str:
    """Returns what explain prints for the unpacked captures, without notes, since these depend on
    the vDSO of this machine."""
    def print_one(name: str) -> str:
        result = run_on(os.path.join(scratch, name), "explain")
        return "%s/%s%s\n" % (name, result.stdout.split("\nnotes, below 2 %")[0], result.stderr)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return "".join(pool.map(print_one, list_names(folder)))


def format_rate(found: Sequence[Answer]) -> str:
    """Formats the number of right answers, with the 95 % interval of their rate."""
    right = sum(one.right for one in found)
    least, most = intervals.compute_wilson(right, len(found))
    return "%d of %d (%.0f to %.0f %%)" % (right, len(found), 100 * least, 100 * most)


def format_table(found: Sequence[Answer]) -> str:
    return "\n".join([
        *(one.format_row() for one in found),
        "| main cause first: %s | healthy, and called so: %s |" % (
            format_rate([one for one in found if one.label[0] != HEALTHY]),
            format_rate([one for one in found if one.label[0] == HEALTHY]))])


class Labelled(unittest.TestCase):
    found: list[Answer]
    texts: str

    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory(prefix="jitproof-labelled-") as scratch:
            cls.found = explain_set(SET, ["*"], scratch)
            cls.texts = print_texts(SET, scratch)
        print("\n" + format_table(cls.found))

    def test_each_text(self) -> None:
        """UPDATE=1 writes the golden file anew: review the difference."""
        if os.environ.get("UPDATE"):
            files.write(GOLDEN, self.texts)
        self.assertEqual(self.texts.splitlines(), files.read(GOLDEN).splitlines())

    def test_main_cause_first(self) -> None:
        sick = [one for one in self.found if one.label[0] != HEALTHY]
        self.assertGreaterEqual(len(sick), 40)
        right = [one.name for one in sick if one.right]
        self.assertGreaterEqual(len(right), RIGHT * len(sick),
                                sorted({one.name for one in sick} - set(right)))

    def test_healthy_captures_have_no_cause(self) -> None:
        well = [one for one in self.found if one.label[0] == HEALTHY]
        self.assertGreaterEqual(len(well), 20)
        self.assertEqual([one.name for one in well if not one.right], [])

    def test_each_cause_is_there(self) -> None:
        """Each cause of explain is the main cause of a capture."""
        usage = process.run([JITPROOF, "explain", "--help"]).stdout.split("Causes:")[1]
        known = {line.split()[0] for line in usage.splitlines() if line.startswith("  ")}
        self.assertEqual(known - {one.label[0] for one in self.found}, set())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", help="captures as recorded: NAME/perf.data, root/, label")
    parser.add_argument("--keep", metavar="DIR", help="unpack into the new folder DIR")
    parser.add_argument("globs", nargs="*", default=["*"])
    options = parser.parse_args()
    if options.folder:
        found = [explain_one(name, os.path.join(options.folder, name))
                 for name in sorted(os.listdir(options.folder))
                 if os.path.exists(os.path.join(options.folder, name, "label"))
                 and any(fnmatch.fnmatch(name, glob) for glob in options.globs)]
    else:
        with tempfile.TemporaryDirectory(prefix="jitproof-labelled-") as scratch:
            found = explain_set(SET, options.globs, options.keep or scratch)
    print(format_table(found))
    return 0 if all(one.right for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
