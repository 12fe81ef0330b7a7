# SPDX-License-Identifier: GPL-2.0-only
"""Reads results/matrix/explained.toml, the explanations of facts that differ between kernels
(docs/facts.md)."""

import fnmatch
import os
import tomllib

from ci.base import jsonl
from ci.base.status import Malformed
from ci.base.text import parse_numbers
from ci.matrix.results import stored

FILE = "explained.toml"
KEYS = {"fact", "from", "to", "architecture", "why", "source"}


def load(folder: str) -> list[dict[str, str]]:
    """Loads the explanations of a folder. Returns an empty list if it has no file of them."""
    path = os.path.join(folder, FILE)
    if not os.path.exists(path):
        return []
    try:
        table = tomllib.loads(jsonl.read_bytes(path).decode("utf-8"))
    except ValueError as error:
        raise Malformed(path, 0, str(error)[:200]) from error
    entries = table.get("explained", [])
    if set(table) - {"explained"} or not isinstance(entries, list):
        raise Malformed(path, 0, "expected only [[explained]] tables")
    for number, entry in enumerate(entries, 1):
        place = "%s: explanation %d" % (path, number)
        if not {"fact", "why", "source"} <= set(entry) <= KEYS:
            raise Malformed(place, 0, "expected the keys fact, why, source and some of %s" %
                            ", ".join(sorted(KEYS)))
        if ("from" in entry, "to" in entry) != (("architecture" not in entry,) * 2):
            raise Malformed(place, 0, "expected 'from' and 'to', or 'architecture'")
        if "from" in entry and parse_numbers(entry["from"]) >= parse_numbers(entry["to"]):
            raise Malformed(place, 0, "'to' is %s; expected a version later than 'from', %s" % (
                entry["to"], entry["from"]))
    return entries


def does_overlap(entry: dict[str, str], before: str, after: str) -> bool:
    """Returns whether the range of an explanation overlaps the range of two kernels' labels. So an
    explanation stays valid when kernels in between are added or removed."""
    if "from" not in entry:
        return False
    old, new = parse_numbers(before), parse_numbers(after)
    return max(old, parse_numbers(entry["from"])) < min(new, parse_numbers(entry["to"]))


def find_explanations(explanations: list[dict[str, str]], fact: str, before: str,
                      after: str) -> list[dict[str, str]]:
    """Returns the explanations of a fact that differs between two kernels' labels."""
    architecture = stored.find_architecture(after)
    is_same = stored.find_architecture(before) == architecture
    return [entry for entry in explanations if fnmatch.fnmatchcase(fact, entry["fact"]) and (
        does_overlap(entry, before,
                     after) if is_same else entry.get("architecture") == architecture)]
