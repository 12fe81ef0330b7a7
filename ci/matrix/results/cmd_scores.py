# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix scores: stores the scores of profilers on each kernel, and makes results/GUESTS.md."""

import argparse
import os

from ci.base import files, status
from ci.matrix.option_types import Subparsers
from ci.matrix.results import cells, scores, stored

DESCRIPTION = """Each DIR is the folder of a run of `ci/matrix run --suite profilers`, or of one of
its cells. Its scores replace the stored scores of the same scenes. Without DIR, only the page is
made. Nothing is written if any cell is incomplete."""


def merge_runs(dirs: list[str], before: list[scores.Kernel]) -> dict[str, str]:
    """Merges the runs of @dirs into the stored kernels. Returns the text of each changed file."""
    by_label, changed = {kernel.label: kernel for kernel in before}, set[str]()
    for cell in cells.find_cells_of_runs(dirs):
        kernel = scores.load_cell(cell)
        changed.add(kernel.label)
        by_label[kernel.label] = scores.merge_kernels(by_label.get(kernel.label, kernel), kernel)
    return {label + ".jsonl": scores.format_kernel(by_label[label]) for label in sorted(changed)}


def run(options: argparse.Namespace) -> int:
    files.replace(options.folder, merge_runs(options.dirs, scores.load_folder(options.folder)),
                  scores.load)
    kernels = scores.load_folder(options.folder)
    if not kernels:
        raise cells.Partial("%s: no scores are stored" % options.folder)
    board = os.path.join(stored.ROOT, "results", "PROFILERS.md")
    text = scores.render(kernels, files.read(board))
    if options.check:
        if files.read(options.output) == text:
            return 0
        print("%s differs from the stored scores, PROFILERS.md and profilers.toml; run "
              "python3 ci/matrix scores" % os.path.relpath(options.output))
        return 1
    files.replace(os.path.dirname(options.output), {os.path.basename(options.output): text})
    print(os.path.relpath(options.output))
    return 0


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("scores", help="store scores and make results/GUESTS.md",
                                   description=DESCRIPTION)
    parser.add_argument("dirs", metavar="DIR", nargs="*",
                        help="folders of runs")
    parser.add_argument("--folder", default=scores.FOLDER, help="default: results/matrix/scores")
    parser.add_argument("-o", "--output", metavar="FILE",
                        default=os.path.join(stored.ROOT, "results", "GUESTS.md"),
                        help="default: results/GUESTS.md")
    parser.add_argument("--check", action="store_true",
                        help="write no page; exit with 1 if the page would change")
    parser.set_defaults(run=status.guard_command("ci/matrix scores", run))
