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
import json
import os
import re
import shutil
import sys
import tempfile
from typing import Any, Iterator, NamedTuple, Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, jsonl, process
from ci.causes import words
from ci.labelled import sysroot

NOTE = 0.02  # of the samples: below it a cause is a note
NONE = "none"


class Compared(NamedTuple):
    case: str
    truth: tuple[str, str]  # the worst cause of stacks and that of names, as validators found them
    said: tuple[str, str]  # and as explain did
    error: str

    @property
    def agree(self) -> bool:
        return not self.error and self.truth == self.said


def worst(result: dict[str, Any], metrics: Sequence[str], definition: str) -> str:
    """What cost most, if at least one sample in fifty."""
    counts: dict[str, int] = collections.Counter()
    for one in result.get("exceptions", []):
        if one["metric"] in metrics:
            cause = words.of_validators(one, definition)
            counts[cause] = max(counts[cause], one["count"])
    samples = result["books"]["samples"]["code"] if result.get("books") else 1
    found = [cause for cause in counts if counts[cause] >= NOTE * samples]
    return max(found, key=lambda cause: counts[cause], default=NONE)


def causes_of_truth(result: dict[str, Any], definition: str) -> tuple[str, str]:
    names = worst(result, words.NAMES, definition)
    if words.publishes_nothing(definition):
        names = "no-name-source"
    return worst(result, words.STACKS, definition), names


def causes_said(causes: Sequence[str], truth: tuple[str, str]) -> tuple[str, str]:
    """A file's missing names count only where the validators miss the file, too."""
    stacks = [one for one in causes if one not in words.OF_NAMES
              and (one not in words.OF_FILES or one == truth[0])]
    names = [one for one in causes if one in words.OF_NAMES]
    return (stacks or [NONE])[0], (names or [NONE])[0]


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


def compare(jitproof: str, run: str, result: dict[str, Any]) -> Compared:
    home = os.path.join(run, result["case"])
    injected = os.path.join(home, "injected.data")
    data = injected if os.path.exists(injected) else os.path.join(home, "perf.data")
    definition = files.read(os.path.join(home, "case"))
    truth = causes_of_truth(result, definition)
    with tempfile.TemporaryDirectory(prefix="jitproof-causes-") as root:
        try:
            lay_out(home, data, root)
        except (OSError, ValueError) as error:
            return Compared(result["case"], truth, (NONE, NONE), str(error))
        done = process.run([jitproof, "explain", "--json", "--elf", os.path.join(home, "elf"),
                            "--root", root, data], timeout=120)
    if done.returncode not in (0, 1):
        return Compared(result["case"], truth, (NONE, NONE), done.stderr.strip()[:200])
    causes = [one["id"] for one in json.loads(done.stdout)["causes"]]
    return Compared(result["case"], truth, causes_said(causes, truth), "")


def matrix(found: list[Compared], which: int) -> Iterator[str]:
    """The worst of the validators down, the worst of explain across."""
    pairs = collections.Counter((one.truth[which], one.said[which])
                                for one in found if not one.error)
    across = sorted({said for _, said in pairs})
    yield "| with the truth \\ without | %s |" % " | ".join(across)
    yield "|---" * (len(across) + 1) + "|"
    for truth in sorted({truth for truth, _ in pairs}):
        cells = [str(pairs[truth, said] or "") for said in across]
        yield "| %s | %s |" % (truth, " | ".join(cells))


def report(found: list[Compared]) -> Iterator[str]:
    known = [one for one in found if one.truth[0] not in words.UNKNOWABLE]
    yield "<!-- SPDX-License-Identifier: GPL-2.0-only -->"
    yield "# What explain says without the truth\n"
    yield ("Made by `python3 ci/causes DIR` from a run of `make check-full`. Of %d cases whose "
           "cause of broken stacks a capture can tell, %d agree on the worst cause of broken "
           "stacks and on that of missing names; %d more have a cause that no capture tells.\n" % (
               len(known), sum(one.agree for one in known), len(found) - len(known)))
    yield "## Stacks\n"
    yield from matrix(found, 0)
    yield "\n## Names\n"
    yield from matrix(found, 1)
    yield "\n## Cases that differ\n"
    yield "| case | validators: stacks, names | explain: stacks, names |\n|---|---|---|"
    for one in found:
        if not one.agree:
            yield "| %s | %s | %s |" % (one.case, ", ".join(one.truth),
                                        one.error or ", ".join(one.said))
    yield "\n## What a capture cannot tell\n"
    for word, why in words.UNKNOWABLE.items():
        yield "* `%s`: %s" % (word, why)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jitproof", default="build/jitproof", help="default: %(default)s")
    parser.add_argument("run", metavar="DIR", help="a run directory")
    options = parser.parse_args()
    results = [one for _, one in jsonl.read(os.path.join(options.run, "results.jsonl"))
               if one["outcome"] in ("PASS", "FAIL", "XFAIL")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda one: compare(options.jitproof, options.run, one), results))
    print("\n".join(report(found)))
    return 0 if all(one.agree or one.truth[0] in words.UNKNOWABLE for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
