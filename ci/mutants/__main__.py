# SPDX-License-Identifier: GPL-2.0-only
"""make mutants: changes one line of our own validators, judge, outcome, model, unwinder, injector,
explain or readers, builds, and asks whether any test notices.

What nobody notices is a missing test, or cannot be noticed: results/mutants/survivors says which,
and why. Progress is kept in O/mutants, so an interrupted run goes on where it stopped. Exits 1 when
a mutant survives that the file does not explain, or when it explains one that is gone.
"""

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from typing import Any, Callable, Iterator, Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, process, status
from ci.mutants import choice, survivors, table
from ci.mutants.bench import Bench
from ci.mutants.operators import Mutant

TREE = os.path.abspath(__file__ + "/../../..")
# What one of them showed, another need not show: a new recording, or alterations by other kinds.
CHANGING = ("run ", "judge run ", "explain run ", "inject ", "tampered.")


def commit() -> str:
    done = process.run(["git", "describe", "--always", "--dirty"], cwd=TREE)
    return done.stdout.strip() or "unknown"


class Worker:
    """Tries mutants in a process and a folder of its own."""

    def __init__(self, bench: Bench, options: argparse.Namespace, begin: float) -> None:
        self.bench, self.begin = bench, begin
        self.seconds, self.most = options.seconds, options.most
        # Of the time, if only some are tried: else each is asked about to its end.
        self.share = options.seconds * options.jobs / options.random if options.random else 0.0
        self.killers = table.killers(TREE)

    def __call__(self, job: tuple[Mutant, bool | None]) -> tuple[Mutant, str, dict[str, Any]]:
        """Who noticed it the last time, and what came of it now."""
        mutant, slow = job
        first = self.killers.get(choice.digest(mutant), "")
        left = self.seconds - (time.monotonic() - self.begin)
        if self.seconds and left <= 0:
            return mutant, "", {}
        with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
            self.bench.link_adapters(scratch)
            return mutant, first, self.bench.try_one(
                mutant, scratch, first, self.share and min(left, self.share), slow, self.most)


JOB: list[Callable[[Any], Any]] = []  # workers get it by fork()


def work(item: Any) -> Any:
    return JOB[0](item)


def side_by_side(jobs: int, job: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    JOB[:] = [job]
    # Workers end by SIGTERM, which is no interruption of theirs.
    with multiprocessing.get_context("fork").Pool(jobs, signal.signal,
                                                  (signal.SIGTERM, signal.SIG_DFL)) as pool:
        yield from pool.imap_unordered(work, items)


def attempt(options: argparse.Namespace, waiting: list[Mutant], progress: table.Progress,
            begin: float) -> list[Mutant]:
    """Tries them; those that their old killer no longer notices, and nobody else in time."""
    bench = Bench(TREE, os.path.abspath(options.build), options.run)
    lost, late = list[Mutant](), 0
    if not options.random:
        bench.trace(lambda note, names: list(side_by_side(options.jobs, note, names)))
    worker = Worker(bench, options, begin)
    # What is fast is asked about all of them first.
    for slow in (None,) if options.random else (False, True):
        jobs = [(one, slow) for one in waiting
                if slow is None or (progress.state(one, {}) == "undecided") == slow]
        for one, first, result in side_by_side(options.jobs, worker, jobs):
            late += not result
            if result:
                progress.add(one, result)
            if slow is None and result.get("state") == "undecided" and first and \
                    not first.startswith(CHANGING):
                print("%s:%d: %s noticed it once: %s" % (one.file, one.line + 1, first,
                                                         one.new.strip()))
                lost.append(one)
    if late:
        print("time is up: %d not tried" % late)
    return lost


def is_at(mutant: Mutant, text: str) -> bool:
    """Whether @text is the end of its FILE:LINE, or part of its FILE."""
    return text in mutant.file or ("/%s:%d" % (mutant.file, mutant.line + 1)).endswith("/" + text)


def main_of(options: argparse.Namespace) -> int:
    begin = time.monotonic()
    every, known = choice.mutants(TREE), survivors.read(TREE)
    gone = survivors.stale(every, known)
    for file, function, old, _ in gone:
        print("%s: %s %s(): no such mutant any more: %s" % (survivors.PATH, file, function, old))
    chosen = choice.choose(every, options.count)
    if options.only:
        chosen = [one for one in every if any(is_at(one, text) for text in options.only)]
    if options.random:
        seed = options.seed if options.seed is not None else random.randrange(2**32)
        print("seed %d" % seed)
        who = table.killers(TREE)
        chosen = [one for one in chosen if one.key() not in known and
                  who.get(choice.digest(one)) != table.OPEN]
        chosen = random.Random(seed).sample(chosen, min(options.random, len(chosen)))
    folder = os.path.join(os.path.abspath(options.build), "mutants")
    os.makedirs(folder, exist_ok=True)
    progress = table.Progress(folder)
    again = ("survived", "undecided") if options.again else ("undecided",)
    waiting = [one for one in chosen if one.key() not in known and (
        options.random or progress.state(one, known) in (*again, "not tried"))]
    lost = attempt(options, waiting, progress, begin) if waiting and not options.report \
        else []
    if lost:
        # Tests change: another may notice now what that one did.
        everyone = argparse.Namespace(**{**vars(options), "random": 0, "seconds": 0})
        attempt(everyone, lost, progress, begin)
        lost = [one for one in lost if progress.state(one, known) != "killed"]
    left = table.summary(chosen, progress, known)
    if options.store:
        files.write(os.path.join(TREE, "results/MUTANTS.md"),
                    table.table(chosen, progress, known, commit(), options.most))
        files.write(os.path.join(TREE, table.TRIED), table.tried(chosen, progress, known))
    return 1 if left or gone or lost else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--build", default="build", metavar="O")
    parser.add_argument("--run", metavar="DIR", help="a recorded run; else it records one")
    parser.add_argument("-n", "--count", type=int, default=400, help="so many, the same ones "
                        "each time (400)")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="only N of those that "
                        "somebody notices or that are new, begun with who did the last time")
    parser.add_argument("--seed", type=int, help="which N; without it, a new one is printed")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="all of the files whose name holds the text, or of FILE:LINE, "
                        "instead; may be repeated")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=0, help="stop after so long")
    parser.add_argument("--most", type=float, default=0, metavar="S", help="of recorded runs and "
                        "Python tests ask only the fastest, which take S seconds together")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--store", action="store_true", help="write results/MUTANTS.md and "
                        "results/mutants/tried")
    parser.add_argument("--report", action="store_true", help="try none, show what is known")
    return status.of("mutants", main_of)(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
