#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tries what real JITs publish: runs the programs of the recipes in ci/labelled under `jitproof
trial` instead of a recorder, and writes results/JITS.md (--page), a table of JITs and questions.

Skips a runtime that is not installed and prints how to install it. Exit status: 0 tried, 1 a trial
failed, 4 no runtime is installed.
"""

import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from typing import Callable, Mapping, Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files
from ci.base.status import Missing
from ci.labelled import of_runtimes, of_servers  # they register their recipes
from ci.labelled.bench import TIMEOUT, Bench, find_descendant
from ci.labelled.recipe import RECIPES

# One recipe for each runtime and way to publish: the others differ only in how they record.
CHOSEN = ("node-injected-7.3", "node-map-ours", "java-map-6.1", "java-no-fp-6.1",
          "php-jit-map-7.3", "python-3.12-map-6.1", "python-3.13-jitdump-7.3", "erlang-map-6.12",
          "mono-map-7.2", "qemu-map-6.1", "qemu-dump-7.2", "luajit-6.1", "pypy-6.1", "sbcl-6.1",
          "guile-6.12", "deno-6.1", "bun-7.3", "postgres-injected-7.3", "dotnet-map-6.12")
OPTIONS = ("--json", "--seed", "7", "--bursts", "10", "--steps", "1500")
# Loop lengths in ci/labelled/scripts.py, too long for single steps.
LOOPS = re.compile(r"\b(2000|3000|5000|20000)\b")

Cells = dict[str, dict[str, int]]


class Trial(Bench):
    """Tries the program instead of recording it."""

    def __init__(self, scratch: str, name: str) -> None:
        super().__init__(scratch, name)
        self.cells: Cells = {}

    def write(self, name: str, text: str) -> str:
        return super().write(name, LOOPS.sub("20", text))

    def try_program(self, *what: str) -> None:
        command = [self.jitproof, "trial", *OPTIONS, *what]
        self.add_note(command)
        done = subprocess.run(command, cwd=self.folder, env=self.environment, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=5 * TIMEOUT)
        found = [line for line in done.stdout.splitlines() if line.startswith('{"seed"')]
        if done.returncode not in (0, 1) or not found:
            raise RuntimeError("exit %d: %s" % (done.returncode, done.stderr.strip()[-300:]))
        self.cells = json.loads(found[-1])["cells"]

    def launch(self, version: str, options: Sequence[str], command: Sequence[str],
               clock: bool = True, before: Sequence[str] = (),
               meanwhile: Callable[[], None] | None = None, inject: str = "") -> None:
        self.try_program("--", *before, *command)

    def attach(self, version: str, options: Sequence[str], command: Sequence[str],
               seconds: float = 1.0, name: str = "",
               meanwhile: Callable[[], None] | None = None) -> None:
        target = self.start(command)
        try:
            self.pid = find_descendant(target.pid, name) if name else target.pid
            if meanwhile:
                meanwhile()
            self.try_program("--pid", str(self.pid))
        finally:
            self.stop(target, 2)


def describe(cell: Mapping[str, int]) -> str:
    """Returns the text of a cell in the page."""
    if not cell["of"]:
        return ""
    if not cell["bad"]:
        return "ok"
    share = 100 * cell["bad"] / cell["of"]
    return "**%.3g %%**" % share if share >= 0.1 else "**< 0.1 %**"


def make_page(results: Mapping[str, Cells]) -> str:
    """Returns results/JITS.md: a row for each question, a column for each recipe."""
    names = list(results)
    questions = list(dict.fromkeys(one for cells in results.values() for one in cells))
    lines = [
        "<!-- SPDX-License-Identifier: GPL-2.0-only -->", "# JITs on trial", "",
        "Written by `make trials`, for JIT authors and for users who profile their code. Each",
        "column is a recipe of `ci/labelled`; `python3 ci/trials NAME` repeats its trial.",
        "[trace](../docs/trace.md#cells-of-a-trial) explains the questions. A cell states the",
        "share of the code that ran and is affected. An empty cell has no evidence.",
        "", "| question | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for question in questions:
        cells = [describe(results[name].get(question, {"bad": 0, "of": 0})) for name in names]
        lines.append("| %s | %s |" % (question, " | ".join(cells)))
    return "\n".join(lines) + "\n"


def try_recipe(name: str, scratch: str) -> Cells:
    bench = Trial(scratch, name)
    RECIPES[name].make(bench)
    return bench.cells


def print_result(name: str, cells: Cells) -> None:
    red = ["%s %d of %d" % (one, cell["bad"], cell["of"])
           for one, cell in cells.items() if cell["bad"]]
    print("%s: %s" % (name, ", ".join(red) or (
        "no red cell" if cells["published"]["of"] else "no emitted code ran in a burst")),
        flush=True)


def try_all(chosen: Sequence[str], scratch: str) -> tuple[dict[str, Cells], int]:
    """Returns the cells of each tried recipe, and the number of failed trials."""
    results: dict[str, Cells] = {}
    failed = 0
    for name in chosen:
        try:
            results[name] = try_recipe(name, scratch)
            print_result(name, results[name])
        except Missing as reason:
            print("%s: skipped: %s" % (name, reason), flush=True)
        except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
            failed += 1
            print("%s: failed: %s" % (name, error), flush=True)
    return results, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jitproof", default="build/jitproof", help="default: %(default)s")
    parser.add_argument("--scratch", default="/tmp/labelled",
                        help="where runtimes run (default: %(default)s)")
    parser.add_argument("--page", help="write the table to this file")
    parser.add_argument("globs", nargs="*", default=["*"])
    options = parser.parse_args()
    os.makedirs(os.path.join(options.scratch, "bin"), exist_ok=True)
    shutil.copy2(options.jitproof, os.path.join(options.scratch, "bin", "jitproof"))
    chosen = [name for name in CHOSEN if any(fnmatch.fnmatch(name, one) for one in options.globs)]
    results, failed = try_all(chosen, options.scratch)
    if options.page:
        files.write(options.page, make_page(results))
    if failed:
        return 1
    return 0 if results else 4


if __name__ == "__main__":
    assert of_runtimes and of_servers
    sys.exit(main())
