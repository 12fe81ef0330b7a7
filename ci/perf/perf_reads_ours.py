#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Opens every capture of jitproof below DIR with perf.

perf must print nothing on standard error and count the samples that `jitproof judge --json` counts.
The last line is "N passed, N failed, N skipped". Exits with 1 if a capture failed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from typing import Any, Callable, Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import process
from ci.base.text import find_match


def check_reading(*command: str) -> subprocess.CompletedProcess[str]:
    return process.run(command, timeout=300, env={**os.environ, "LC_ALL": "C", "PAGER": "cat"})


def find_captures(folders: list[str]) -> list[str]:
    return sorted(os.path.join(path, "perf.data") for folder in folders
                  for path, _, names in os.walk(folder) if "perf.data" in names)


def count_stats(text: str) -> int:
    return int(find_match(r"\bSAMPLE events: +(\d+)", text).group(1))


def count_rows(text: str) -> int:
    """Sums the second column of a report, the numbers of samples."""
    return sum(int(line.split()[1]) for line in text.splitlines()
               if line.strip() and not line.startswith("#"))


def count_samples(text: str) -> int:
    """Counts the samples of perf script: the lines of frames begin with a tab."""
    return sum(bool(line.strip()) and not line.startswith("\t") for line in text.splitlines())


# A name, the arguments of perf, and the function that counts the samples in its output.
Reading = tuple[str, tuple[str, ...], Callable[[str], int] | None]
READINGS: tuple[Reading, ...] = (
    ("report --stats", ("report", "--stats"), count_stats),
    ("report --stdio", ("report", "--stdio", "-g", "none", "--no-children", "--sort", "comm",
                        "--show-nr-samples"), count_rows),
    ("script -F tid,time", ("script", "-F", "tid,time"), count_samples),
)
# Reads with perf's defaults: symbols, callchains, its own unwinding. Takes longer, so only
# ci/perf/perf_versions.py does it.
PLAIN: tuple[Reading, ...] = (
    ("report", ("report", "--stdio"), None),
    ("script", ("script",), count_samples),
)


def check_capture(jitproof: str, path: str, perf: str = "perf",
                  readings: Sequence[Reading] = READINGS) -> tuple[int, list[Any]]:
    """Returns the number of samples that jitproof counts in @path, and a list of problems."""
    wrong = []
    done = check_reading(jitproof, "judge", "--json", path)
    if done.returncode:
        return 0, [f"jitproof judge --json: exit {done.returncode}: {done.stderr.strip()}"]
    ours = json.loads(done.stdout)["samples"]
    if not ours:
        wrong.append("jitproof counts no sample")
    for name, arguments, count in readings:
        done = check_reading(perf, *arguments, "-i", path)
        if done.returncode:
            wrong.append(f"perf {name}: exit {done.returncode}")
        if done.stderr.strip():
            wrong.append(f"perf {name} prints: {done.stderr.strip().splitlines()[0]}")
        if not count:
            continue
        try:
            theirs = count(done.stdout)
        except (AttributeError, ValueError, IndexError):
            wrong.append(f"perf {name}: no count in its output")
            continue
        if theirs != ours:
            wrong.append(f"perf {name} counts {theirs} samples, jitproof {ours}")
    return ours, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--perf", default="perf", help="default: %(default)s")
    parser.add_argument("jitproof")
    parser.add_argument("dir", nargs="+")
    options = parser.parse_args()
    if not shutil.which(options.perf):
        print("# SKIP perf is not installed\n0 passed, 0 failed, 1 skipped")
        return 0
    passed = failed = 0
    for path in find_captures(options.dir):
        _, wrong = check_capture(options.jitproof, path, options.perf)
        print(f"{'not ok' if wrong else 'ok'} {path}")
        for line in wrong:
            print(f"  {line}")
        failed += bool(wrong)
        passed += not wrong
    if not passed and not failed:
        print("found no capture")
        failed = 1
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
