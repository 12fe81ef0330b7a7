# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix store: converts the folders of runs to results/matrix/LABEL.jsonl."""

import argparse
import os

from ci.base import files, status
from ci.matrix.option_types import Subparsers
from ci.matrix.results import cells, stored

DESCRIPTION = """Each DIR is the folder of a run (of `ci/matrix run` or `ci/matrix tools`) or of
one of its cells. Runs of one kernel or tool with different seeds become one file: counts are
summed, the worst outcome counts. If any run was lost or is incomplete, or a file cannot be written,
nothing is written and the exit status is 99. The same runs always give the same bytes."""


def run(options: argparse.Namespace) -> int:
    stored_cells = cells.group_by_label(
        map(cells.load_whole, cells.find_cells_of_runs(options.dirs)), cells.merge_seeds)
    texts = {cell.label + ".jsonl": stored.format_stored(cell) for cell in stored_cells}
    files.replace(options.to, texts, stored.load)
    for cell in stored_cells:
        print("%s: %d cases, %d facts, seeds %s" % (
            os.path.relpath(os.path.join(options.to, cell.label + ".jsonl")), len(cell.cases),
            len(cell.facts), " ".join(map(str, cell.header["seeds"]))))
    print("next: python3 ci/matrix report")
    return 0


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("store", help="store the results of runs in results/matrix/",
                                   description=DESCRIPTION)
    parser.add_argument("dirs", metavar="DIR", nargs="+",
                        help="folders of runs")
    parser.add_argument("--to", default=stored.FOLDER, metavar="FOLDER",
                        help="default: results/matrix")
    parser.set_defaults(run=status.guard_command("ci/matrix store", run))
