#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares the causes that `jitproof explain` finds from the capture alone with those that the
validators find from the truth, for each case of a run directory. Prints Markdown: a table of causes
by causes, the cases that differ, and what a capture cannot show.

The files that a capture names are laid out as on the recorded machine: perf maps and jitdumps from
the case's folder, programs and libraries from this machine."""

import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import re
import shutil
import sys
import tempfile
from typing import Any, Iterator, NamedTuple, Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, jsonl, process
from ci.causes import truth as of_truth, words
from ci.labelled import sysroot



class Compared(NamedTuple):
    case: str
    truth: tuple[str, str]  # worst causes by the validators: (broken stacks, missing names)
    explained: tuple[str, str]  # worst causes by explain: (broken stacks, missing names)
    agree: bool
    why: str  # why a capture cannot show the true cause, or "" if unknown


def find_worst_cause(causes: Sequence[str], truth: tuple[str, str],
                     costs: dict[str, str]) -> tuple[str, str]:
    """Returns the worst causes that explain found, as far as the validators can find them: names in
    native files are in no truth, and a missing file counts only where the validators miss it."""
    stacks = [cause for cause in causes if costs[cause] == "stacks"
              or (costs[cause] == "both" and cause == truth[0])]
    names = [cause for cause in causes if costs[cause] == "names" and cause != "stripped-symbols"]
    return (stacks or [words.NONE])[0], (names or [words.NONE])[0]


def link_case_files(home: str, data: str, root: str) -> None:
    """Lays out below @root the files that explain may read."""
    touched = sysroot.Touched(data)
    sysroot.copy(sysroot.list_wanted_files(touched), root)
    for name in os.listdir(home):
        if re.fullmatch(r"perf-\d+\.map", name):
            os.makedirs(os.path.join(root, "tmp"), exist_ok=True)
            shutil.copy2(os.path.join(home, name), os.path.join(root, "tmp", name))
    for path in touched.pages:
        kept = os.path.join(home, os.path.basename(path))
        if sysroot.DUMP.search(path) and os.path.exists(kept):
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            shutil.copy2(kept, root + path)
        kept = os.path.join(home, "jit", os.path.basename(path))
        if os.path.exists(kept):
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            shutil.copy2(kept, root + path)


def compare_case(jitproof: str, run: str, result: dict[str, Any],
                 table: words.Causes) -> Compared:
    home = os.path.join(run, result["case"])
    injected = os.path.join(home, "injected.data")
    data = injected if os.path.exists(injected) else os.path.join(home, "perf.data")
    definition = files.read(os.path.join(home, "case"))
    result = of_truth.judge_by_one_method(jitproof, home, result, definition)
    truth = of_truth.count_causes(result, definition, table.costs)
    with tempfile.TemporaryDirectory(prefix="jitproof-causes-") as root:
        try:
            link_case_files(home, data, root)
        except (OSError, ValueError) as error:
            return Compared(result["case"], truth, (str(error), words.NONE), False, "")
        done = process.run([jitproof, "explain", "--json", "--elf", os.path.join(home, "elf"),
                            "--root", root, data], timeout=120)
    if done.returncode not in (0, 1):
        return Compared(result["case"], truth, (done.stderr.strip()[:200], words.NONE),
                        False, "")
    causes = [cause["id"] for cause in json.loads(done.stdout)["causes"]]
    explained = find_worst_cause(causes, truth, table.costs)
    return Compared(result["case"], truth, explained, of_truth.does_agree(result, truth, explained),
                    of_truth.find_reason(result, truth, definition, table.unknowable))


def format_matrix(found: list[Compared], which: int) -> Iterator[str]:
    """Yields a table: the worst cause by validators in rows, the worst cause by explain in
    columns."""
    pairs = collections.Counter((case.truth[which], case.explained[which]) for case in found)
    across = sorted({explained for _, explained in pairs})
    yield "| validators \\ explain | %s |" % " | ".join(across)
    yield "|---" * (len(across) + 1) + "|"
    for truth in sorted({truth for truth, _ in pairs}):
        cells = [str(pairs[truth, explained] or "") for explained in across]
        yield "| %s | %s |" % (truth, " | ".join(cells))


def format_report(found: list[Compared]) -> Iterator[str]:
    differ = [case for case in found if not case.agree]
    open_ones = [case for case in differ if not case.why]
    yield "<!-- SPDX-License-Identifier: GPL-2.0-only -->"
    yield "# What explain finds without the truth\n"
    yield ("Made by `python3 ci/causes DIR` from a run of `make check-full`. In %d of %d cases "
           "explain and the validators agree on the worst cause of broken stacks and of "
           "missing names; in %d a capture cannot show what the validators find; %d are open.\n" % (
               len(found) - len(differ), len(found), len(differ) - len(open_ones), len(open_ones)))
    yield "## Stacks\n"
    yield from format_matrix(found, 0)
    yield "\n## Names\n"
    yield from format_matrix(found, 1)
    yield "\n## Cases that differ\n"
    yield ("The reasons are those of the table of causes (`jitproof explain --causes`), or of the "
           "case's own expectations.\n")
    yield "| case | validators: stacks, names | explain: stacks, names | why |\n|---|---|---|---|"
    for case in differ:
        yield "| %s | %s | %s | %s |" % (case.case, ", ".join(case.truth),
", ".join(case.explained), case.why or "**open**")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jitproof", default="build/jitproof", help="default: %(default)s")
    parser.add_argument("run", metavar="DIR", help="a run directory")
    parser.add_argument("globs", nargs="*", default=["*"], metavar="GLOB",
                        help="cases (default: all)")
    options = parser.parse_args()
    results = [result for _, result in jsonl.read(os.path.join(options.run, "results.jsonl"))
               if result["outcome"] in ("PASS", "FAIL", "XFAIL")
               and any(fnmatch.fnmatchcase(result["case"], glob) for glob in options.globs)]
    table = words.Causes.load(options.jitproof)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(
            lambda result: compare_case(options.jitproof, options.run, result, table), results))
    print("\n".join(format_report(found)))
    return 0 if all(case.agree or case.why for case in found) else 1


if __name__ == "__main__":
    sys.exit(main())
