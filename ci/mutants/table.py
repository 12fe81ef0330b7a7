# SPDX-License-Identifier: GPL-2.0-only
"""Stores the results of mutants while they are tried, and renders them at the end."""

import collections
import json
import os
import textwrap
from typing import Any, Mapping, Sequence

from ci.base import files
from ci.mutants import survivors
from ci.mutants.choice import digest
from ci.mutants.operators import Mutant

TRIED = "results/mutants/tried"
OPEN = "nobody"
HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-only -->
# What our own tests notice

`make mutants` changes one line of the validators, the judge, the model, the unwinder, the injector,
`explain` or the readers, and asks whether fixtures, altered fixtures and recorded runs are still
judged byte for byte as before, and whether the tests that run the line pass. *Explained*:
[survivors](mutants/survivors) states why nobody can notice it. [tried](mutants/tried) names the
test that notices each.

%s

| %s | made | killed | explained | survived |
|---|---|---|---|---|
"""
STATES = ("made", "killed", "explained", "survived")


class Progress:
    """O/mutants/progress: a line for each mutant that was tried."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, "progress")
        self.of: dict[tuple[str, ...], dict[str, Any]] = {}
        if os.path.exists(self.path):
            for line in files.read(self.path).splitlines():
                record = json.loads(line)
                self.of[tuple(record["key"])] = record

    def add(self, mutant: Mutant, result: dict[str, Any]) -> None:
        record = {"key": mutant.key(), "operator": mutant.operator, **result}
        self.of[mutant.key()] = record
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def state(self, mutant: Mutant, listed_survivors: Mapping[survivors.Key, str]) -> str:
        if mutant.key() in listed_survivors:
            return "explained"
        return str(self.of.get(mutant.key(), {}).get("state", "not tried"))


def print_summary(chosen: Sequence[Mutant], progress: Progress,
                  known: Mapping[survivors.Key, str]) -> int:
    """Prints a summary. Returns the number of survivors."""
    states = collections.Counter(progress.state(mutant, known) for mutant in chosen)
    survived = [mutant for mutant in chosen if progress.state(mutant, known) == "survived"]
    for mutant in survived:
        print("survived: %s:%d %s()\n\t%s\n\t%s" % (mutant.file, mutant.line + 1, mutant.function,
                                                    mutant.old.strip(), mutant.new.strip()))
    nr_tried = sum(states[state] for state in STATES[1:])
    print("%d mutants: %s" % (nr_tried, ", ".join("%d %s" % (states[state], state)
                                              for state in STATES[1:])))
    for state, text in (("same", "do not change the code"), ("no C", "are no C"),
                        ("undecided", "were not decided in time"), ("not tried", "were not tried")):
        if states[state]:
            print("besides, %d mutants %s" % (states[state], text))
    return len(survived)


def read_killers(tree: str) -> dict[str, str]:
    """Returns the last killer of each mutant, or OPEN, by the mutant's digest."""
    path = os.path.join(tree, TRIED)
    lines = files.read(path).splitlines() if os.path.exists(path) else []
    words = [line.split(" ", 2) for line in lines if line and not line.startswith("#")]
    return {word[0]: word[2] for word in words}


def render_tried(chosen: Sequence[Mutant], progress: Progress,
                 listed_survivors: Mapping[survivors.Key, str]) -> str:
    lines = []
    for mutant in chosen:
        state = progress.state(mutant, listed_survivors)
        if state in ("killed", "survived"):
            killer = progress.of[mutant.key()]["by"] if state == "killed" else OPEN
            lines.append("%s %s %s\n" % (digest(mutant), mutant.operator, killer))
    return ("# SPDX-License-Identifier: GPL-2.0-only\n# Written by make mutants: a mutant (see "
            "ci/mutants/choice.py), its operator, who notices it.\n") + "".join(sorted(lines))


def render_rows(chosen: Sequence[Mutant], progress: Progress,
                listed_survivors: Mapping[survivors.Key, str],
                operators: bool) -> str:
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for mutant in chosen:
        state = progress.state(mutant, listed_survivors)
        if state in STATES:
            for row in (mutant.operator if operators else os.path.dirname(mutant.file), "all"):
                counts[row].update((state, "made"))
    names = sorted(counts, key=lambda row: (row == "all", row))
    return "".join("| %s | %s |\n" % (
        name, " | ".join(str(counts[name][state]) for state in STATES)) for name in names)


def render_page(chosen: Sequence[Mutant], progress: Progress, known: Mapping[survivors.Key, str],
                commit: str, limit: float) -> str:
    """Returns results/MUTANTS.md. @most: see --most."""
    killers = collections.Counter(get_kind(progress.of[mutant.key()]["by"]) for mutant in chosen
                                  if progress.state(mutant, known) == "killed")
    survived = ["* `%s` %s(): `%s` became `%s`\n" % mutant.key() for mutant in chosen
            if progress.state(mutant, known) == "survived"]
    late = sum(progress.state(mutant, known) in ("undecided", "not tried") for mutant in chosen)
    measured = "Measured at commit %s. Of the killed, %s." % (commit, ", ".join(
        "%s noticed %d" % mutant for mutant in killers.most_common(8)))
    text = HEAD % (textwrap.fill(measured, 100), "folder") + \
        render_rows(chosen, progress, known, False) + \
        "\n| operator | made | killed | explained | survived |\n" \
        "|---|---|---|---|---|\n" + render_rows(chosen, progress, known, True)
    if limit:
        text += "\nOf recorded runs and Python tests that run a line, the fastest were asked, " \
            "which take %g s\ntogether with tracing: others may notice more.\n" % limit
    if late:
        text += "\nThe run is incomplete: %d of %d mutants were not tried.\n" % (
            late, len(chosen))
    return text + ("\n## Not explained\n\n" + "".join(sorted(survived)) if survived else "")


def get_kind(killer: str) -> str:
    return killer.split()[0].split(".")[0]
