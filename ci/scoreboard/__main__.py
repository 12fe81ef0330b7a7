#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measures each installed profiler on every scene and writes results/PROFILERS.md.

An interrupted call continues in the next call. Once all cells are measured, another call measures
them again with another seed (a round), and the page shows where rounds differ. A round belongs to
one build, one version of the adapter and one list of options; unknown options are passed to
`jitproof score`. O/scoreboard stores the answers.

Exit status: 0 a round is finished, 3 it is not, 4 no profiler is installed.
"""

import argparse
import datetime
import os
import platform
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, status
from ci.scoreboard import page
from ci.scoreboard.rounds import ROOT, Rounds, list_adapters

UNFINISHED = 3
# Defaults of `jitproof score`. The caller's options come later and override them.
OPTIONS = ("--samples=100", "--seconds=15")


def report(boards: list[page.Board]) -> None:
    """Prints the cells that vary, and wrong cells without a known cause."""
    cells = [(board, scene, cell) for board in boards for scene, cell in board.cells.items()]
    repeated = sum(len(cell.rows) > 1 for _, _, cell in cells)
    vary = [one for one in cells if one[2].do_rounds_differ]
    for board, scene, cell in vary:
        print("%s %s %s" % (board.profiler, scene, cell))
    print("%d of %d cells that were measured more than once vary" % (len(vary), repeated))
    reasons = page.read_known("varies")
    for board, scene, _ in vary:
        if not page.explain_variation(board.profiler, scene, reasons):
            print("no reason yet: %s %s" % (board.profiler, scene))
    known_causes = page.read_known("known")
    for board in boards:
        for line in page.find_unexplained(board, known_causes):
            print("no cause yet: " + line)


def run(options: argparse.Namespace) -> int:
    build = os.path.abspath(os.environ.get("O", os.path.join(ROOT, "build")))
    rounds = Rounds(build, [*OPTIONS, *options.more], options.scene, options.keep, options.again)
    profilers = options.profiler or list_adapters()
    nr_remaining = 0
    if not options.page:
        numbers = (rounds.list_kept_rounds(profilers) if options.again else
                   [rounds.find_unfinished_round(profilers)])
        nr_remaining = sum(rounds.measure_round(number, profilers, 60 * options.minutes,
                                                options.jobs)
                        for number in numbers)
    boards = [page.Board(rounds, profiler) for profiler in profilers]
    missing = {board.profiler: rounds.explain_absence(board.profiler) for board in boards
               if not board.cells}
    boards = [board for board in boards if board.cells]
    if not boards:
        print("no profiler is here")
        return 4
    if nr_remaining:
        print("%d cells are not measured yet: run this again" % nr_remaining)
        return UNFINISHED
    files.write(options.output, page.render(
        boards, missing, options.day, platform.release().split("-")[0], platform.machine()))
    report(boards)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profiler", action="append", default=[],
                        help="measure only this profiler; repeatable (default: all)")
    parser.add_argument("--minutes", type=float, default=float("inf"),
                        help="stop after this time; the next call continues")
    parser.add_argument("-j", dest="jobs", type=int, default=1, metavar="N",
                        help="measure N cells at a time: most of them wait (default: %(default)s)")
    parser.add_argument("--page", action="store_true", help="measure nothing, only write the page")
    parser.add_argument("--keep", action="store_true", help="keep the runs, as -o of score does")
    parser.add_argument("--again", action="store_true",
                        help="judge the runs kept by --keep, and start no profiler")
    parser.add_argument("-o", dest="output", default=os.path.join(ROOT, "results", "PROFILERS.md"))
    parser.add_argument("--day", default=datetime.date.today().isoformat())
    parser.add_argument("scene", nargs="*", help="globs; default: all")
    options, arguments = parser.parse_known_args()
    options.more = arguments
    return status.guard_command("scoreboard", run)(options)


if __name__ == "__main__":
    sys.exit(main())
