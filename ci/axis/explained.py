# SPDX-License-Identifier: GPL-2.0-only
"""What is known to have changed a fact, and in which version: results/matrix/explained.toml."""

import fnmatch
import os
import re
import tomllib

from axis import jsonl, stored
from axis.jsonl import Malformed

FILE = "explained.toml"
KEYS = {"facts": (stored.list_of(stored.is_text), True), "version": (stored.is_text, True),
        "backports": (stored.list_of(stored.is_text), False), "commit": (stored.is_text, False),
        "subject": (stored.is_text, True), "source": (stored.is_text, True)}
VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
COMMIT = re.compile(r"[0-9a-f]{12,40}")


def load(folder):
    """The changes of a folder's file, none where there is no file."""
    path = os.path.join(folder, FILE)
    if not os.path.exists(path):
        return []
    try:
        table = tomllib.loads(jsonl.read_bytes(path).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Malformed(path, 0, str(error)[:200]) from error
    changes = table.get("change", [])
    if set(table) - {"change"} or not isinstance(changes, list):
        raise Malformed(path, 0, "expected nothing but [[change]]")
    for number, change in enumerate(changes, 1):
        where = "%s: change %d" % (path, number)
        if not isinstance(change, dict):
            raise Malformed(where, 0, "expected a table")
        stored.check(where, 0, change, KEYS)
        for version in (change["version"], *change.get("backports", ())):
            if not VERSION.fullmatch(version):
                raise Malformed(where, 0, "'%.40s' is no version" % version)
        if "commit" in change and not COMMIT.fullmatch(change["commit"]):
            raise Malformed(where, 0, "'%.40s' is no commit" % change["commit"])
    return changes


def lies_between(version, before, after):
    """Whether something that came with a version is in after and not in before. 6.12 came after
    6.11.9, and 6.1.110 only tells of the 6.1 series."""
    came, old, new = map(stored.numbers, (version, before, after))
    if len(came) > 2 and (new[:2] != came[:2] or old >= came):
        # A backport reaches its own series; who comes later has it by the version itself.
        return False
    return old < came <= new


def explain(changes, fact, before, after):
    """The changes that a difference between two versions goes back to."""
    return [change for change in changes
            if any(fnmatch.fnmatchcase(fact, glob) for glob in change["facts"])
            and any(lies_between(version, before, after)
                    for version in (change["version"], *change.get("backports", ())))]
