#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Asks each profiler that is here every scene, and writes results/PROFILERS.md.

Interrupted, or out of its minutes, it goes on where it stopped when it is called again; once all is
asked, another call asks all once more, with another seed, and the page says where the rounds
differ. That holds for the same program, adapter and SCORE_OPTIONs, which are for `jitproof score`
(--samples=60); answers lie in O/scoreboard. Without --profiler: all adapters of the tree, and our
own capture. What is missing is listed with the command that would install it.

Exit status: 0 a round is finished, 3 it is not, 4 no profiler is here.
"""

import argparse
import datetime
import os
import platform
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, status
from ci.scoreboard import page
from ci.scoreboard.rounds import ROOT, Rounds, adapters

UNFINISHED = 3
# Beside those of the caller, which come later and win.
OPTIONS = ("--samples=100", "--seconds=15")


def report(boards: list[page.Board]) -> None:
    """What somebody should look at: cells that vary, and red ones that nobody explained."""
    cells = [(board, scene, cell) for board in boards for scene, cell in board.cells.items()]
    again = [one for one in cells if len(one[2].rows) > 1]
    vary = [one for one in again if one[2].varies]
    for board, scene, cell in vary:
        print("%s %s %s" % (board.profiler, scene, cell))
    print("%d of %d cells that were asked more than once vary" % (len(vary), len(again)))
    reasons = page.written("varies")
    for board, scene, _ in vary:
        if not page.why_varies(board.profiler, scene, reasons):
            print("no reason yet: %s %s" % (board.profiler, scene))
    known = page.written("known")
    for board in boards:
        for line in page.unexplained(board, known):
            print("no cause yet: " + line)


def run(options: argparse.Namespace) -> int:
    build = os.path.abspath(os.environ.get("O", os.path.join(ROOT, "build")))
    rounds = Rounds(build, [*OPTIONS, *options.more], options.scene, options.keep, options.again)
    profilers = options.profiler or adapters()
    still = 0
    if not options.page:
        numbers = rounds.recorded(profilers) if options.again else [rounds.current(profilers)]
        still = sum(rounds.go_on(number, profilers, 60 * options.minutes, options.jobs)
                    for number in numbers)
    boards = [page.Board(rounds, profiler) for profiler in profilers]
    missing = {board.profiler: rounds.missing(board.profiler) for board in boards
               if not board.cells}
    boards = [board for board in boards if board.cells]
    if not boards:
        print("no profiler is here")
        return 4
    if still:
        print("%d cells are still to be asked: call it again" % still)
        return UNFINISHED
    files.write(options.output, page.render(
        boards, missing, options.day, platform.release().split("-")[0], platform.machine()))
    report(boards)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profiler", action="append", default=[])
    parser.add_argument("--minutes", type=float, default=float("inf"),
                        help="end after so long, to go on later")
    parser.add_argument("-j", dest="jobs", type=int, default=1, metavar="N",
                        help="ask N cells at a time: most of them wait (default: %(default)s)")
    parser.add_argument("--page", action="store_true", help="ask nothing, write the page alone")
    parser.add_argument("--keep", action="store_true", help="keep the runs, as -o of score does")
    parser.add_argument("--again", action="store_true",
                        help="judge the runs that --keep kept, and start no profiler")
    parser.add_argument("-o", dest="output", default=os.path.join(ROOT, "results", "PROFILERS.md"))
    parser.add_argument("--day", default=datetime.date.today().isoformat())
    parser.add_argument("scene", nargs="*", help="globs; default: all")
    options, more = parser.parse_known_args()
    options.more = more
    return status.of("scoreboard", run)(options)


if __name__ == "__main__":
    sys.exit(main())
