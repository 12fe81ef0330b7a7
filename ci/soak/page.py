# SPDX-License-Identifier: GPL-2.0-only
"""What came of the runs: kept while they are made, and the page at the end."""

from __future__ import annotations

import collections
import dataclasses
import json
import os
from typing import Any, Sequence

from ci.base import files, jsonl
from ci.base.intervals import wilson
from ci.soak.condition import Condition

HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-only -->
# Runs under bad conditions

`make soak` runs the cases under each condition of `ci/soak/conditions.py`. *Unexpected* is every
outcome but PASS, XFAIL and SKIP; an ERROR or TIMEOUT is expected where the condition's row declares
its reason (*excused*), a SKIP that an idle run does not have only where the row declares that.
*Bound* is the upper end of the 95 %% Wilson interval of the share of unexpected cases. Skipped
cases do not count.

Measured at commit %s: %s.

| condition | what it is | runs | cases | excused | unexpected | bound |
|---|---|---|---|---|---|---|
"""


@dataclasses.dataclass(frozen=True)
class Identity:
    """What must be the same for a run to count: the program, and what it ran."""
    program: str  # sha256
    arguments: tuple[str, ...]

    def key(self) -> list[Any]:
        return [self.program, list(self.arguments)]


class Progress:
    """progress.jsonl: a line for each run."""

    def __init__(self, folder: str, identity: Identity) -> None:
        self.path, self.identity = os.path.join(folder, "progress.jsonl"), identity
        self.runs: dict[tuple[str, int], dict[str, Any]] = {}
        self.idle: dict[str, str] = {}  # outcomes of cases in idle runs
        if os.path.exists(self.path) and os.path.getsize(self.path):
            for _, line in jsonl.read(self.path):
                if line["of"] == identity.key():
                    self.take(line)

    def take(self, line: dict[str, Any]) -> None:
        self.runs[line["condition"], line["number"]] = line
        if line["condition"] == "idle":
            self.idle.update(line["outcomes"])

    def add(self, line: dict[str, Any]) -> None:
        line = {"of": self.identity.key(), **line}
        self.take(line)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def of(self, name: str) -> list[dict[str, Any]]:
        return [line for (condition, _), line in sorted(self.runs.items()) if condition == name]


def count_cases(runs: Sequence[dict[str, Any]]) -> int:
    return sum(outcome != "SKIP" for run in runs for outcome in run["outcomes"].values())


def row(name: str, about: str, runs: Sequence[dict[str, Any]]) -> str:
    cases, bad = count_cases(runs), sum(len(run["unexpected"]) for run in runs)
    excused = sum(len(run.get("excused", ())) for run in runs)
    bound = "%.2f %%" % (100 * wilson(min(bad, cases), cases)[1]) if cases else "-"
    return "| %s | %s | %d | %d | %d | %d | %s |\n" % (name, about, len(runs), cases, excused, bad,
                                                        bound)


def unexpected(conditions: Sequence[Condition], progress: Progress) -> list[str]:
    """Rows of the table of unexpected results, by condition, case and metric."""
    of: dict[tuple[str, ...], list[dict[str, Any]]] = collections.defaultdict(list)
    for one in conditions:
        for run in progress.of(one.name):
            for bad in run["unexpected"]:
                of[one.name, bad["case"], bad["outcome"], ", ".join(bad["metrics"])].append(bad)
    return ["| %s | %d | %s |\n" % (" | ".join(key), len(found), one_line(found[0]["why"]))
            for key, found in of.items()]


def one_line(why: str) -> str:
    return " ".join(why.split())[:300].replace("|", "\\|")


def others(conditions: Sequence[Condition], progress: Progress) -> str:
    """How many cases the program of --judge-with would have failed."""
    runs = [run for one in conditions for run in progress.of(one.name) if "other" in run]
    if not runs:
        return ""
    count = collections.Counter(bad.split()[0] for run in runs for bad in run["other"]["bad"])
    return "\nThe other program judged %d of these recordings; unexpected with it: %s.\n" % (
        sum(run["other"]["cases"] for run in runs),
        ", ".join("%d %s" % (number, outcome) for outcome, number in sorted(count.items()))
        or "none")


def make(conditions: Sequence[Condition], progress: Progress, skipped: dict[str, str],
         commit: str) -> str:
    every = [run for one in conditions for run in progress.of(one.name)]
    arguments = " ".join(progress.identity.arguments)
    text = HEAD % (commit, "`jitproof run %s`" % arguments)
    text += "".join(row(one.name, one.about, progress.of(one.name)) for one in conditions
                    if progress.of(one.name))
    text += row("all", "", every)
    rows = unexpected(conditions, progress)
    if rows:
        text += "\n| condition | case | outcome | metric | times | first reason |\n" \
            "|---|---|---|---|---|---|\n" + "".join(rows)
    if skipped:
        text += "\n| skipped condition | reason |\n|---|---|\n" + "".join(
            "| %s | %s |\n" % one for one in skipped.items())
    return text + others(conditions, progress)


def write(path: str, text: str) -> None:
    files.replace(os.path.dirname(path), {os.path.basename(path): text})
