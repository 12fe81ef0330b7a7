#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds `jitproof explain`, which has the capture alone, against the validators, which have the
truth: for each case of a run directory, the causes that each found. Prints Markdown: causes x
causes, the cases that differ, and what no capture can tell.

The files that a capture names are laid out as on the recorded machine: perf maps and jitdumps from
the case's folder, programs and libraries from this machine.
"""

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
    truth: tuple[str, str]  # the worst cause of stacks and that of names, as validators found them
    said: tuple[str, str]  # and as explain did
    agree: bool
    why: str  # they do not: what a capture does not tell; "": nobody knows


def causes_said(causes: Sequence[str], truth: tuple[str, str], costs: dict[str, str]) -> \
        tuple[str, str]:
    """Names of native files are in no truth; a missing file counts where validators miss it."""
    stacks = [one for one in causes if costs[one] == "stacks"
              or (costs[one] == "both" and one == truth[0])]
    names = [one for one in causes if costs[one] == "names" and one != "stripped-symbols"]
    return (stacks or [words.NONE])[0], (names or [words.NONE])[0]


def lay_out(home: str, data: str, root: str) -> None:
    """What explain may look at, below @root."""
    touched = sysroot.Touched(data)
    sysroot.copy(sysroot.wanted(touched), root)
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


def compare(jitproof: str, run: str, result: dict[str, Any],
            table: words.Causes) -> Compared:
    home = os.path.join(run, result["case"])
    injected = os.path.join(home, "injected.data")
    data = injected if os.path.exists(injected) else os.path.join(home, "perf.data")
    definition = files.read(os.path.join(home, "case"))
    result = of_truth.by_one_method(jitproof, home, result, definition)
    truth = of_truth.causes(result, definition, table.costs)
    with tempfile.TemporaryDirectory(prefix="jitproof-causes-") as root:
        try:
            lay_out(home, data, root)
        except (OSError, ValueError) as error:
            return Compared(result["case"], truth, (str(error), words.NONE), False, "")
        done = process.run([jitproof, "explain", "--json", "--elf", os.path.join(home, "elf"),
                            "--root", root, data], timeout=120)
    if done.returncode not in (0, 1):
        return Compared(result["case"], truth, (done.stderr.strip()[:200], words.NONE),
                        False, "")
    causes = [one["id"] for one in json.loads(done.stdout)["causes"]]
    said = causes_said(causes, truth, table.costs)
    return Compared(result["case"], truth, said, of_truth.same(result, truth, said),
                    of_truth.reason(result, truth, definition, table.unknowable))


def matrix(found: list[Compared], which: int) -> Iterator[str]:
    """The worst of the validators down, the worst of explain across."""
    pairs = collections.Counter((one.truth[which], one.said[which]) for one in found)
    across = sorted({said for _, said in pairs})
    yield "| with the truth \\ without | %s |" % " | ".join(across)
    yield "|---" * (len(across) + 1) + "|"
    for truth in sorted({truth for truth, _ in pairs}):
        cells = [str(pairs[truth, said] or "") for said in across]
        yield "| %s | %s |" % (truth, " | ".join(cells))


def report(found: list[Compared]) -> Iterator[str]:
    differ = [one for one in found if not one.agree]
    open_ones = [one for one in differ if not one.why]
    yield "<!-- SPDX-License-Identifier: GPL-2.0-only -->"
    yield "# What explain says without the truth\n"
    yield ("Made by `python3 ci/causes DIR` from a run of `make check-full`. In %d of %d cases "
           "explain and the validators agree on the worst cause of broken stacks and on that of "
           "missing names; in %d no capture tells what the validators find; %d are open.\n" % (
               len(found) - len(differ), len(found), len(differ) - len(open_ones), len(open_ones)))
    yield "## Stacks\n"
    yield from matrix(found, 0)
    yield "\n## Names\n"
    yield from matrix(found, 1)
    yield "\n## Cases that differ\n"
    yield ("The reasons are those of the table of causes (`jitproof explain --causes`), or of the "
           "case's own expectations.\n")
    yield "| case | validators: stacks, names | explain: stacks, names | why |\n|---|---|---|---|"
    for one in differ:
        yield "| %s | %s | %s | %s |" % (one.case, ", ".join(one.truth), ", ".join(one.said),
                                         one.why or "**open**")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jitproof", default="build/jitproof", help="default: %(default)s")
    parser.add_argument("run", metavar="DIR", help="a run directory")
    parser.add_argument("globs", nargs="*", default=["*"], metavar="GLOB", help="cases; all")
    options = parser.parse_args()
    results = [one for _, one in jsonl.read(os.path.join(options.run, "results.jsonl"))
               if one["outcome"] in ("PASS", "FAIL", "XFAIL")
               and any(fnmatch.fnmatchcase(one["case"], glob) for glob in options.globs)]
    table = words.Causes.of(options.jitproof)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda one: compare(options.jitproof, options.run, one, table),
                              results))
    print("\n".join(report(found)))
    return 0 if all(one.agree or one.why for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
