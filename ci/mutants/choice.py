# SPDX-License-Identifier: GPL-2.0-only
"""Selects the mutants to try, spread over all operators. A later run selects the same mutants, as
far as their lines have not changed."""

import collections
import glob
import hashlib
import os

from ci.base import files
from ci.mutants import operators
from ci.mutants.operators import Mutant

FOLDERS = ("validators", "harness/judge", "harness/outcome", "harness/explain",
           "harness/model/space", "harness/model/oracle", "harness/model/unwind",
           "harness/model/evidence", "harness/model/symbols", "harness/model/files",
           "harness/inject", "harness/format/perfdata", "harness/format/observations",
           "harness/format/truth", "harness/format/jit", "harness/format/elf",
           "harness/format/rundir", "harness/format/procmaps")
# Files without effect on judging: writers, and code that only captures use.
NOT_MUTATED = ("harness/format/truth/write.c", "harness/format/truth/acts.c")


def list_mutants(tree: str) -> list[Mutant]:
    mutants: list[Mutant] = []
    for folder in FOLDERS:
        for path in sorted(glob.glob(os.path.join(tree, folder, "*.c"))):
            file = os.path.relpath(path, tree)
            if file not in NOT_MUTATED:
                mutants += operators.make_file_mutants(file, files.read(path))
    return mutants


def digest(mutant: Mutant) -> str:
    return hashlib.sha256("\0".join(mutant.key()).encode()).hexdigest()[:16]


def choose(mutants: list[Mutant], count: int) -> list[Mutant]:
    """Returns up to @count mutants of @mutants: if possible, the same number from each operator; at
    most one from each line."""
    waiting: dict[str, collections.deque[Mutant]] = {}
    for mutant in sorted(mutants, key=digest):
        waiting.setdefault(mutant.operator, collections.deque()).append(mutant)
    chosen: dict[tuple[str, str], Mutant] = {}
    while waiting and len(chosen) < count:
        for name in sorted(waiting):
            while waiting[name] and (waiting[name][0].file, waiting[name][0].old) in chosen:
                waiting[name].popleft()
            if not waiting[name]:
                del waiting[name]
            elif len(chosen) < count:
                mutant = waiting[name].popleft()
                chosen[mutant.file, mutant.old] = mutant
    return list(chosen.values())
