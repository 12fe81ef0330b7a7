# SPDX-License-Identifier: GPL-2.0-only
"""Checks the cases' expectations: an exception that is allowed for a tool's versions is a defect of
the tool, and names its finding."""

import re
from typing import Iterator

from ci.lint.tree import Found, Source, Tree, read_text

FINDINGS = "results/FINDINGS.md"
ID = re.compile(r"\b[a-z]+(?:-[a-z]+)*\.[a-z0-9]+(?:-[a-z0-9]+)*\b")


def find_ids(tree: Tree) -> set[str]:
    """Returns the ids in the page of findings: words in backticks, or arguments of a command."""
    text = read_text(tree.root, FINDINGS) if tree.path_exists(FINDINGS) else ""
    return {identifier for code in re.findall(r"`([^`]+)`", text) for identifier
            in ID.findall(code)}


def check_allowed(source: Source, ids: set[str]) -> Iterator[Found]:
    """Checks one file of results/expected."""
    for number, line in enumerate(source.text.split("\n"), 1):
        if not re.match(r"\s+when \S+ \S+: .*\ballow\b", line):
            continue
        ids_named = [identifier for identifier in ID.findall(line.partition("#")[2]) if identifier
                     in ids]
        if not ids_named:
            yield source.found(number, "an allow under when without the id of a finding",
                               f"known defects of a tool are in {FINDINGS}: (perf.inject-offset)")


def check(tree: Tree) -> Iterator[Found]:
    ids = find_ids(tree)
    for source in tree.sources:
        if source.path.startswith("results/expected/"):
            yield from check_allowed(source, ids)
