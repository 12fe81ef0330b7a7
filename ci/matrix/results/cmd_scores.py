# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix scores: keeps what profilers made of their scenes, and makes results/GUESTS.md."""

import argparse
import os

from ci.base import files, status
from ci.matrix.option_types import Subparsers
from ci.matrix.results import cells, scores, stored

DESCRIPTION = """Each DIR is the folder of a run of `ci/matrix run --suite profilers`, or of one
cell of it; what it says of a scene takes the place of what was kept of it. Without DIR: the page
alone. Nothing is written where any cell is not whole."""


def kept(dirs: list[str], before: list[scores.Kernel]) -> dict[str, str]:
    """The text of each file that the runs change."""
    known, changed = {kernel.label: kernel for kernel in before}, set[str]()
    for folder in dirs:
        found = cells.find(folder)
        if not found:
            raise cells.Partial("%s: no %s is in it or one level below" % (folder, cells.CELL))
        for cell in found:
            kernel = scores.of_cell(cell)
            changed.add(kernel.label)
            known[kernel.label] = scores.merged(known.get(kernel.label, kernel), kernel)
    return {label + ".jsonl": scores.text_of(known[label]) for label in sorted(changed)}


def run(options: argparse.Namespace) -> int:
    files.replace(options.folder, kept(options.dirs, scores.load_folder(options.folder)),
                  scores.load)
    kernels = scores.load_folder(options.folder)
    if not kernels:
        raise cells.Partial("%s: nothing is kept there" % options.folder)
    board = os.path.join(stored.ROOT, "results", "PROFILERS.md")
    text = scores.render(kernels, files.read(board))
    if options.check:
        if files.read(options.output) == text:
            return 0
        print("%s is not what is kept, PROFILERS.md and profilers.toml give; make "
              "it with python3 ci/matrix scores" % os.path.relpath(options.output))
        return 1
    files.replace(os.path.dirname(options.output), {os.path.basename(options.output): text})
    print(os.path.relpath(options.output))
    return 0


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("scores", help="keep runs of profilers, make results/GUESTS.md",
                                   description=DESCRIPTION)
    parser.add_argument("dirs", metavar="DIR", nargs="*")
    parser.add_argument("--folder", default=scores.FOLDER, help="default: results/matrix/scores")
    parser.add_argument("-o", "--output", metavar="FILE",
                        default=os.path.join(stored.ROOT, "results", "GUESTS.md"),
                        help="default: results/GUESTS.md")
    parser.add_argument("--check", action="store_true",
                        help="write no page; 1 where the file is not what it would be")
    parser.set_defaults(run=status.of("ci/matrix scores", run))
