# SPDX-License-Identifier: GPL-2.0-only
"""Stores the results of runs while they are made, and makes the page SOAK.md."""

import collections
import json
import os
import re
from typing import Any, Sequence

from ci.base import files, jsonl
from ci.base.intervals import compute_wilson
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


class Progress:
    """The runs so far, stored in progress.jsonl with a line for each run. The program, by its
    sha256, and its arguments must be the same for all runs that count."""

    def __init__(self, folder: str, program: str, arguments: list[str]) -> None:
        self.path = os.path.join(folder, "progress.jsonl")
        self.arguments, self.identity = arguments, [program, arguments]
        self.runs: dict[tuple[str, int], dict[str, Any]] = {}
        self.idle: dict[str, str] = {}  # outcomes of cases in idle runs
        if os.path.exists(self.path) and os.path.getsize(self.path):
            for _, line in jsonl.read(self.path):
                if line["of"] == self.identity:
                    self.count(line)

    def count(self, line: dict[str, Any]) -> None:
        self.runs[line["condition"], line["number"]] = line
        if line["condition"] == "idle":
            self.idle.update(line["outcomes"])

    def add(self, line: dict[str, Any]) -> None:
        line = {"of": self.identity, **line}
        self.count(line)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def get_runs(self, name: str) -> list[dict[str, Any]]:
        return [line for (condition, _), line in sorted(self.runs.items()) if condition == name]


def count_cases(runs: Sequence[dict[str, Any]]) -> int:
    return sum(outcome != "SKIP" for run in runs for outcome in run["outcomes"].values())


def format_row(name: str, description: str, runs: Sequence[dict[str, Any]]) -> str:
    cases, bad = count_cases(runs), sum(len(run["unexpected"]) for run in runs)
    excused = sum(len(run.get("excused", ())) for run in runs)
    bound = "%.2f %%" % (100 * compute_wilson(min(bad, cases), cases)[1]) if cases else "-"
    return "| %s | %s | %d | %d | %d | %d | %s |\n" % (name, description, len(runs), cases, excused,
                                                       bad,
                                                       bound)


def list_unexpected(conditions: Sequence[Condition], progress: Progress) -> list[str]:
    """Returns the rows of the table of unexpected results, by condition, case and metric."""
    by_row: dict[tuple[str, ...], list[dict[str, Any]]] = collections.defaultdict(list)
    for one in conditions:
        for run in progress.get_runs(one.name):
            for result in run["unexpected"]:
                by_row[one.name, result["case"], result["outcome"],
                       ", ".join(result["metrics"])].append(result)
    return ["| %s | %d | %s |\n" % (" | ".join(key), len(results), format_reason(results[0]["why"]))
            for key, results in by_row.items()]


def format_reason(why: str) -> str:
    return " ".join(why.split())[:300].replace("|", "\\|")


def list_earlier(old_page: str, commit: str) -> list[str]:
    """Returns rows of the runs of earlier commits: those of @old_page, and a row of its own runs,
    unless they are of @commit."""
    measured = re.search(r"^Measured at commit ([^ ]+): ", old_page, re.M)
    total = re.search(r"^\| all \|  (\|(?: \d+ \|){4})", old_page, re.M)
    own_row = ["| %s %s\n" % (measured[1], total[1])] if measured and total else []
    rows: list[str] = re.findall(r"^\| [0-9a-f]+(?:-dirty)? \|(?: \d+ \|){4}\n", old_page, re.M)
    return [row for row in own_row + rows if row.split()[1] != commit]


def make_page(conditions: Sequence[Condition], progress: Progress, skipped: dict[str, str],
              commit: str, old_page: str = "") -> str:
    """@old_page: the page that this page replaces."""
    runs = [run for condition in conditions for run in progress.get_runs(condition.name)]
    text = HEAD % (commit, "`jitproof run %s`" % " ".join(progress.arguments))
    text += "".join(format_row(condition.name, condition.about, progress.get_runs(condition.name))
                    for condition in conditions if progress.get_runs(condition.name))
    text += format_row("all", "", runs)
    rows = list_unexpected(conditions, progress)
    if rows:
        text += "\n| condition | case | outcome | metric | times | first reason |\n" \
            "|---|---|---|---|---|---|\n" + "".join(rows)
    if skipped:
        text += "\n| skipped condition | reason |\n|---|---|\n" + "".join(
            "| %s | %s |\n" % condition for condition in skipped.items())
    earlier = list_earlier(old_page, commit)
    if earlier:
        text += "\n| earlier commit | runs | cases | excused | unexpected |\n" \
            "|---|---|---|---|---|\n" + "".join(earlier)
    return text


def write_page(path: str, text: str) -> None:
    files.replace(os.path.dirname(path), {os.path.basename(path): text})
