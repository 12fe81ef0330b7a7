# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix compare: what differs between two results; 1 where that is a regression."""

import argparse
import fnmatch
import os
import sys
from typing import IO

from ci.base import status
from ci.matrix.option_types import Subparsers
from ci.matrix.results import cells, differences, stored

DESCRIPTION = """A and B are each a stored file, a folder of them, the folder of a run, or a label
of what is stored (6.12, perf-7.2). One result is compared with one whatever their labels are, of
several each with that of its label. The status is 1 where B has a regression: a new FAIL, CRASH,
ERROR, TIMEOUT, XPASS or lost run, a splat in the kernel's log, a case that became SKIP or is gone,
a changed fact, a changed expectation; 2 where no case matches, 99 where a file cannot be read.
Figures are listed and are no regression: every count that changed where both are of one label,
suite and seeds and ran under virtual time, else rates whose 95 % intervals do not meet."""


def read(what: str, folder: str) -> list[stored.Stored]:
    """The results that an argument means, in the order of tables."""
    if os.path.isdir(what):
        found = cells.find(what)
        if not found:
            several = stored.load_folder(what)
            if not several:
                raise status.Malformed(what, 0, "holds neither stored files nor a run")
            return several
        return cells.by_label(map(cells.load, found), whole)
    label = os.path.join(folder, what + ".jsonl")
    named = os.sep not in what and not os.path.exists(what) and os.path.exists(label)
    return [stored.load(label if named else what)]


def whole(several: list[stored.Stored]) -> stored.Stored:
    """Lost with one seed is lost."""
    lost = [made for made in several if made.lost]
    return lost[0] if lost else cells.merge(several)


def check_globs(globs: list[str], several: list[stored.Stored]) -> None:
    """Each means a case that there is, or was; where all is lost nobody knows."""
    names = {name for made in several for name in made.cases}
    for glob in globs if names else ():
        if not fnmatch.filter(names, glob):
            raise status.Refused("no case matches %s" % glob)


def only(found: list[differences.Difference], globs: list[str]) -> list[differences.Difference]:
    """Of these cases alone and of no facts, and what is about no case: lost, or a splat."""
    return [one for one in found if not one.name or one.kind not in differences.FACTS
            and any(fnmatch.fnmatchcase(one.name, glob) for glob in globs)]


def tell(found: list[differences.Difference], limit: int, out: IO[str]) -> None:
    for kind, bad, title in differences.KINDS:
        of_kind = [one for one in found if one.kind == kind]
        if not of_kind:
            continue
        print("%s%s (%d):" % ("REGRESSION: " if bad else "", title, len(of_kind)), file=out)
        for one in of_kind[:limit]:
            print("  %s: %s%s" % (one.label, one.name + ": " if one.name else "",
                                  one.text.replace("\n", " | ")), file=out)
        if len(of_kind) > limit:
            print("  ... and %d more (--all)" % (len(of_kind) - limit), file=out)


def run(options: argparse.Namespace) -> int:
    one, other = (read(what, options.folder) for what in (options.a, options.b))
    check_globs(options.case, one + other)
    pairs = differences.pairs(one, other)
    found = list(differences.compare_pairs(pairs, options.exact))
    if options.case:
        found = only(found, options.case)
    tell(found, sys.maxsize if options.all else 40, sys.stdout)
    bad = sum(each.kind in differences.REGRESSIONS for each in found)
    figures = sum(each.kind == "figure" for each in found)
    if options.exact:
        bad += figures
    compared = sum(all(made and not made.lost for made in pair) for pair in pairs)
    print("%d compared, %d differences, %d figures, %d regressions" % (
        compared, len(found) - figures, figures, bad))
    return 1 if bad else 0


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("compare", help="what differs between two results",
                                   description=DESCRIPTION)
    parser.add_argument("a", metavar="A", help="what was")
    parser.add_argument("b", metavar="B", help="what is")
    parser.add_argument("--folder", default=stored.FOLDER,
                        help="where labels are looked for (default: results/matrix)")
    parser.add_argument("--case", action="append", default=[], metavar="GLOB",
                        help="only these cases, and no facts; again and again")
    parser.add_argument("--exact", action="store_true",
                        help="every changed count is a regression, too")
    parser.add_argument("--all", action="store_true", help="list all of each kind, not 40")
    parser.set_defaults(run=status.of("ci/matrix compare", run))
