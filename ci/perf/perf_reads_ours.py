# SPDX-License-Identifier: GPL-2.0-only
"""Opens a capture of jitproof with perf, which must print nothing on standard error and count the
samples that `jitproof judge --json` counts."""

import json
import os
import subprocess
from typing import Callable

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
    # perf's defaults: symbols, callchains, its own unwinding.
    ("report", ("report", "--stdio"), None),
    ("script", ("script",), count_samples),
)


def find_problems(jitproof: str, path: str, perf: str) -> list[str]:
    """Returns a line for each problem."""
    problems = []
    result = check_reading(jitproof, "judge", "--json", path)
    if result.returncode:
        return [f"jitproof judge --json: exit {result.returncode}: {result.stderr.strip()}"]
    ours = json.loads(result.stdout)["samples"]
    if not ours:
        problems.append("jitproof counts no sample")
    for name, arguments, count in READINGS:
        result = check_reading(perf, *arguments, "-i", path)
        if result.returncode:
            problems.append(f"perf {name}: exit {result.returncode}")
        if result.stderr.strip():
            problems.append(f"perf {name} prints: {result.stderr.strip().splitlines()[0]}")
        if not count:
            continue
        try:
            theirs = count(result.stdout)
        except (AttributeError, ValueError, IndexError):
            problems.append(f"perf {name}: no count in its output")
            continue
        if theirs != ours:
            problems.append(f"perf {name} counts {theirs} samples, jitproof {ours}")
    return problems
