# SPDX-License-Identifier: GPL-2.0-only
"""The first half page of results/MATRIX.md: what differs between kernels and between perfs, and why
it matters."""

import itertools
import re
from typing import Iterable, Iterator

from ci.matrix.results import differences, explained, stored

WHY = ("Where a fact or an outcome differs, a profiler that was tried on one kernel, or with one "
       "perf, may show other functions on the next.")
SHOWN = 3  # most cases, facts or commits in a line
Change = tuple[str, str]  # labels of the last kernel before and the first after the change


def list_changes(kernels: list[stored.Stored], name: str) -> Iterator[Change]:
    """Yields the labels of the kernels between which a fact changes."""
    for index, cell in enumerate(kernels):
        before = stored.find_predecessor(kernels, index, name) if name in cell.facts else None
        if before and before.facts[name]["value"] != cell.facts[name]["value"]:
            yield before.label, cell.label


def find_changes(kernels: list[stored.Stored]) -> dict[Change, list[str]]:
    """Returns the facts that change between neighbours, by the labels of both."""
    changes = dict[Change, list[str]]()
    for name in sorted({name for cell in kernels for name in cell.facts}):
        for change in list_changes(kernels, name):
            changes.setdefault(change, []).append(name)
    order = [kernel.label for kernel in kernels]
    return dict(sorted(changes.items(), key=lambda item: order.index(item[0][1])))


def find_commits(text: str) -> list[str]:
    return re.findall(r"\b[0-9a-f]{12}\b", text)


def list_commits(explanations: list[dict[str, str]], change: Change, facts: list[str]) -> list[str]:
    return list(dict.fromkeys(
        commit for fact in facts
        for reason in explained.find_explanations(explanations, fact, *change)
        for commit in find_commits(reason["why"])))


def find_changed_cases(cells: list[stored.Stored]) -> dict[str, list[str]]:
    """Returns the cases whose outcomes differ, by the text "OUTCOME from LABEL to LABEL, ..."."""
    changed_cases = dict[str, list[str]]()
    for name in sorted({name for cell in cells for name in cell.cases}):
        with_case = [cell for cell in cells if name in cell.cases]
        runs = [(outcome, [cell.label for cell in run]) for outcome, run in itertools.groupby(
            with_case, lambda cell: differences.format_outcome(cell.cases[name]))]
        if len(runs) > 1:
            text = ", ".join("%s from %s to %s" % (outcome, labels[0], labels[-1])
                             if len(labels) > 1 else "%s with %s" % (outcome, labels[0])
                             for outcome, labels in runs)
            changed_cases.setdefault(text, []).append(name)
    return changed_cases


def list_first(texts: Iterable[str]) -> str:
    """Returns a list of the first SHOWN texts, and how many more there are."""
    texts = list(texts)
    hidden = ["%d more" % (len(texts) - SHOWN)] if len(texts) > SHOWN else []
    return ", ".join(texts[:SHOWN] + hidden)


def list_cases(cells: list[stored.Stored]) -> Iterator[str]:
    """Yields how many cases have the same outcome everywhere, then the cases whose outcomes
    differ."""
    if not cells:
        return
    names = {name for cell in cells for name in cell.cases}
    changed = find_changed_cases(cells)
    yield "%d of %d cases have the same outcome with every %s of %s to %s." % (
        len(names) - sum(map(len, changed.values())), len(names),
        "kernel" if cells[0].header["kind"] == "kernel" else "perf", cells[0].label,
        cells[-1].label)
    yield from ("%s: %s." % (outcomes, list_first(cases)) for outcomes, cases in changed.items())
