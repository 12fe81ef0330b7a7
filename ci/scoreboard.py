#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs every workload under each profiler that is here, and writes results/PROFILERS.md.

Usage: scoreboard.py [--profiler NAME]... [-o FILE] [SCORE_OPTION...]

Without --profiler: all adapters of the tree, and our own capture. What is missing is listed with
the command that would install it. SCORE_OPTIONs (--launch, --samples=N, a workload ...) go to
`jitproof score`.
"""

import argparse
import datetime
import json
import os
import platform
import sys
from typing import Any, Iterator

sys.path.insert(0, os.path.abspath(__file__ + "/../.."))
from ci.base import process

ROOT = os.path.abspath(__file__ + "/../..")
COLUMNS = ("seen", "mapped", "right", "wrong", "whole", "invented", "lost")
COUNTS = ("wrong", "invented", "lost")
HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-only -->
# Profilers: what does each make of every workload?

Measured by `make scoreboard` (`jitproof score`, docs/score.md), %s, Linux %s, %s. A cell lists what
is wrong; `ok`: nothing is; what a profiler cannot tell is not listed (below). Percentages are of
samples in emitted code, or of judged stacks; `wrong`, `invented` and `lost` are samples.

"""

Score = dict[str, Any]


def adapters() -> list[str]:
    names = [name[:-3] for name in sorted(os.listdir(os.path.join(ROOT, "harness", "profiler")))
             if name.endswith(".py")]
    return ["jitproof"] + names


def take(binary: str, profiler: str, options: list[str]) -> Score | str:
    """The score; or why there is none."""
    done = process.run([binary, "score", "--profiler", profiler, "--json", *options], timeout=1200)
    if done.returncode:
        return done.stderr.strip().removeprefix("jitproof score: ")
    return json.loads(done.stdout)


def figure(column: str, cell: dict[str, Any]) -> str:
    if column in COUNTS:
        return "%s %d" % (column, cell["k"])
    return "%s %.3g %%" % (column, 100 * cell["k"] / cell["n"])


def cell_of(row: dict[str, Any]) -> str:
    """What is wrong in a workload."""
    if "whole" not in row and "seen" not in row:
        return "not judged" if row["outcome"] != "SKIP" else "-"
    return ", ".join(figure(column, row[column]) for column in COLUMNS
                     if column in row and not row[column]["good"]) or "ok"


def table(scores: list[Score]) -> Iterator[str]:
    yield "| workload | " + " | ".join(score["profiler"] for score in scores) + " |"
    yield "|---" * (len(scores) + 1) + "|"
    for rows in zip(*(score["workloads"] for score in scores)):
        yield "| %s | %s |" % (rows[0]["workload"], " | ".join(map(cell_of, rows)))


def causes(score: Score) -> Iterator[str]:
    """The two most frequent exceptions of each workload in which something is wrong."""
    for row in score["workloads"]:
        if cell_of(row) in ("ok", "-"):
            continue
        worst = sorted(row["exceptions"], key=lambda one: -one["count"])[:2]
        text = "; ".join("%s: %s (%d)" % (one["metric"], one["cause"], one["count"])
                         for one in worst) or row["why"].split("\n")[0] or "see the figures"
        yield "| %s | %s |" % (row["workload"], text.replace("|", "\\|"))


def cost(score: Score) -> str:
    watched = sum(row["watched_ns"] for row in score["workloads"] if "cpu_ns" in row)
    used = sum(row["cpu_ns"] for row in score["workloads"] if "cpu_ns" in row)
    return "%.1f %%" % (100 * used / watched) if watched else "-"


def skipped(score: Score) -> str:
    """What it declares to lack, by what was not judged for it."""
    lacks: dict[str, set[str]] = {}
    for row in score["workloads"]:
        for validator, lack in row["skipped"].items():
            lacks.setdefault(lack, set()).add(validator)
    return "; ".join("%s: %s" % (lack, ", ".join(sorted(names)))
                     for lack, names in sorted(lacks.items())) or "nothing"


def render(scores: list[Score], missing: dict[str, str], options: list[str], day: str,
           kernel: str, machine: str) -> str:
    lines = [HEAD % (day, kernel, machine), *table(scores), ""]
    for score in scores:
        command = " ".join(["jitproof score --profiler", score["profiler"], *options])
        lines += ["## %s %s" % (score["profiler"], score["version"]), "", "`%s`: %s." % (
            command, score["verdict"].split(": ", 1)[1]), "", "CPU time of the profiler: %s. "
            "Not judged: %s." % (cost(score), skipped(score)), ""]
        found = list(causes(score))
        if found:
            lines += ["| workload | causes |", "|---|---|", *found, ""]
    if missing:
        lines += ["## Not here", ""]
        lines += ["* %s: %s" % (name, why) for name, why in sorted(missing.items())]
    return "\n".join(lines).rstrip("\n") + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profiler", action="append", default=[])
    parser.add_argument("-o", default=os.path.join(ROOT, "results", "PROFILERS.md"))
    parser.add_argument("--day", default=datetime.date.today().isoformat())
    arguments, options = parser.parse_known_args()
    binary = os.path.join(os.path.abspath(os.environ.get("O", os.path.join(ROOT, "build"))),
                          "jitproof")
    scores: list[Score] = []
    missing: dict[str, str] = {}
    for name in arguments.profiler or adapters():
        print("%s ..." % name, flush=True)
        score = take(binary, name, options)
        if isinstance(score, str):
            missing[name] = score
            print("  " + score, flush=True)
        else:
            scores.append(score)
            print("  " + score["verdict"], flush=True)
    if not scores:
        print("no profiler is here")
        return 4
    with open(arguments.o, "w", encoding="utf-8") as file:
        file.write(render(scores, missing, options, arguments.day, platform.release().split("-")[0],
                          platform.machine()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
