# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix compare: lists the differences between two results and reports regressions."""

import argparse
import fnmatch
import os
import sys
from typing import IO

from ci.base import status
from ci.matrix.option_types import Subparsers
from ci.matrix.results import cells, differences, stored

DESCRIPTION = """A and B are each a stored file, a folder of stored files, the folder of a run, or
the label of a stored result (6.12, perf-7.2). Two single results are compared whatever their
labels are; otherwise results with the same label are compared. The exit status is 1 if B has a
regression: a new FAIL, CRASH, ERROR, TIMEOUT, XPASS or lost run, a splat in the kernel's log, a
case that became SKIP or is gone, a changed fact, a changed expectation. It is 2 if no case
matches, 99 if a file cannot be read. Changed figures are listed but are no regressions: every
changed count if both ran under virtual time with the same label, suite and seeds; otherwise rates
whose 95 % intervals do not overlap."""


def read_results(argument: str, folder: str) -> list[stored.Stored]:
    """Reads the results that the argument A or B names, in the order of tables. @folder: the folder
    with LABEL.jsonl, if the argument is a label."""
    if os.path.isdir(argument):
        results = cells.find_cells(argument)
        if results:
            return cells.group_by_label(map(cells.load, results), merge_unless_lost)
        stored_cells = stored.load_folder(argument)
        if not stored_cells:
            raise status.Malformed(argument, 0, "holds neither stored files nor a run")
        return stored_cells
    label = os.path.join(folder, argument + ".jsonl")
    named = os.sep not in argument and not os.path.exists(argument) and os.path.exists(label)
    return [stored.load(label if named else argument)]


def merge_unless_lost(stored_cells: list[stored.Stored]) -> stored.Stored:
    """Merges the runs of one label. Returns the first lost run if there is one."""
    lost = [cell for cell in stored_cells if cell.lost]
    return lost[0] if lost else cells.merge_seeds(stored_cells)


def check_globs(globs: list[str], stored_cells: list[stored.Stored]) -> None:
    """Refuses a glob that matches no case, unless all runs were lost."""
    names = {name for cell in stored_cells for name in cell.cases}
    for glob in globs if names else ():
        if not fnmatch.filter(names, glob):
            raise status.Refused("no case matches %s" % glob)


def select_cases(changes: list[differences.Difference],
                 globs: list[str]) -> list[differences.Difference]:
    """Returns the differences of cases that match a glob, and the differences that belong to no
    case: lost runs and splats."""
    return [change for change in changes if not change.name or change.kind not in differences.FACTS
            and any(fnmatch.fnmatchcase(change.name, glob) for glob in globs)]


def print_differences(changes: list[differences.Difference], limit: int, out: IO[str]) -> None:
    for kind, bad, title in differences.KINDS:
        of_kind = [change for change in changes if change.kind == kind]
        if not of_kind:
            continue
        print("%s%s (%d):" % ("REGRESSION: " if bad else "", title, len(of_kind)), file=out)
        for change in of_kind[:limit]:
            print("  %s: %s%s" % (change.label, change.name + ": " if change.name else "",
                                  change.text.replace("\n", " | ")), file=out)
        if len(of_kind) > limit:
            print("  ... and %d more (--all)" % (len(of_kind) - limit), file=out)


def run(options: argparse.Namespace) -> int:
    before, after = (read_results(argument, options.folder) for argument in (options.a, options.b))
    check_globs(options.case, before + after)
    pairs = differences.pair_results(before, after)
    changes = list(differences.compare_pairs(pairs, options.exact))
    if options.case:
        changes = select_cases(changes, options.case)
    print_differences(changes, sys.maxsize if options.all else 40, sys.stdout)
    bad = sum(each.kind in differences.REGRESSIONS for each in changes)
    figures = sum(each.kind == "figure" for each in changes)
    if options.exact:
        bad += figures
    compared = sum(all(cell and not cell.lost for cell in pair) for pair in pairs)
    print("%d pairs compared, %d differences, %d changed figures, %d regressions" % (
        compared, len(changes) - figures, figures, bad))
    return 1 if bad else 0


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("compare", help="list the differences between two results",
                                   description=DESCRIPTION)
    parser.add_argument("a", metavar="A", help="the older result")
    parser.add_argument("b", metavar="B", help="the newer result")
    parser.add_argument("--folder", default=stored.FOLDER,
                        help="folder of the stored results (default: results/matrix)")
    parser.add_argument("--case", action="append", default=[], metavar="GLOB",
                        help="only these cases, and no facts; may be repeated")
    parser.add_argument("--exact", action="store_true",
                        help="treat every changed count as a regression")
    parser.add_argument("--all", action="store_true",
                        help="list all differences, not only 40 of each kind")
    parser.set_defaults(run=status.guard_command("ci/matrix compare", run))
