# SPDX-License-Identifier: GPL-2.0-only
"""Reads results/mutants/survivors: the mutants that nothing can notice, each with the reason.

	FILE FUNCTION
		LINE
		THE LINE CHANGED
		# the reason
"""

import os
from typing import Iterable

from ci.base import files
from ci.base.status import Malformed
from ci.mutants.operators import Mutant

# Largest number of entries. It may only shrink.
MAX_SURVIVORS = 24
PATH = "results/mutants/survivors"
Key = tuple[str, str, str, str]


def read(tree: str) -> dict[Key, str]:
    """Returns the reason of each entry. Raises Malformed."""
    path = os.path.join(tree, PATH)
    listed_survivors: dict[Key, str] = {}
    if not os.path.exists(path):
        return listed_survivors
    block: list[str] = []
    for number, line in enumerate([*files.read(path).split("\n"), ""], 1):
        if line.startswith("#"):
            continue
        if line.strip():
            block.append(line)
            continue
        if not block:
            continue
        words = block[0].split()
        reason = " ".join(comment_line.strip()[1:].strip() for comment_line in block[3:])
        if len(words) != 2 or len(block) < 4 or not reason or \
                not all(comment_line.startswith("\t") for comment_line in block[1:]) or \
                not all(comment_line.strip().startswith("#") for comment_line in block[3:]):
            raise Malformed(path, number, "expected FILE FUNCTION, a line, the line changed, "
                            "and '# reason'")
        key = (words[0], words[1], block[1].strip(), block[2].strip())
        if key in listed_survivors:
            raise Malformed(path, number, "the same mutant twice")
        listed_survivors[key] = reason
        block = []
    return listed_survivors


def find_stale(mutants: Iterable[Mutant], known: Iterable[Key]) -> list[Key]:
    """Returns the entries whose line no longer exists, or which no operator makes any more."""
    existing = {mutant.key() for mutant in mutants}
    return [key for key in known if key not in existing]
