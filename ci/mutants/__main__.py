# SPDX-License-Identifier: GPL-2.0-only
"""make mutants: changes one line of the validators, the judge, the model, the unwinder, the
injector, `explain` or a reader, builds, and checks whether a test notices.

A mutant that no test notices shows a missing test, or nothing can notice it: then
results/mutants/survivors contains it with the reason. O/mutants keeps the progress, so that an
interrupted call continues. Exits 1 if a mutant survives that the file does not explain, or if the
file explains a mutant that no longer exists.
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
# Prefixes of oracles that need not notice a mutant again: a new recording or other alterations
# differ.
CHANGING = ("run ", "judge run ", "explain run ", "inject ", "tampered.")


def describe_commit() -> str:
    result = process.run(["git", "describe", "--always", "--dirty"], cwd=TREE)
    return result.stdout.strip() or "unknown"


class Worker:
    """Tries mutants in a process and a folder of its own."""

    def __init__(self, bench: Bench, options: argparse.Namespace, begin: float) -> None:
        self.bench, self.begin = bench, begin
        self.seconds, self.most = options.seconds, options.most
        # Seconds for each mutant if --random chose some; 0: no limit.
        self.share = options.seconds * options.jobs / options.random if options.random else 0.0
        self.killers = table.read_killers(TREE)

    def __call__(self, job: tuple[Mutant, bool | None]) -> tuple[Mutant, str, dict[str, Any]]:
        """Returns the mutant, the oracle that noticed it the last time, and the result now."""
        mutant, slow = job
        first = self.killers.get(choice.digest(mutant), "")
        remaining = self.seconds - (time.monotonic() - self.begin)
        if self.seconds and remaining <= 0:
            return mutant, "", {}
        with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
            self.bench.link_adapters(scratch)
            return mutant, first, self.bench.try_mutant(
                mutant, scratch, first, self.share and min(remaining, self.share), slow, self.most)


JOB: list[Callable[[Any], Any]] = []  # fork() passes it to workers


def run_job(item: Any) -> Any:
    return JOB[0](item)


def run_parallel(jobs: int, job: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    JOB[:] = [job]
    # Workers terminate on SIGTERM without handling it as an interruption.
    with multiprocessing.get_context("fork").Pool(jobs, signal.signal,
                                                  (signal.SIGTERM, signal.SIG_DFL)) as pool:
        yield from pool.imap_unordered(run_job, items)


def try_mutants(options: argparse.Namespace, waiting: list[Mutant], progress: table.Progress,
                begin: float) -> list[Mutant]:
    """Tries mutants. Returns those that their former killer no longer notices, if no other oracle
    noticed them in time."""
    bench = Bench(TREE, os.path.abspath(options.build), options.run)
    lost_mutants, late = list[Mutant](), 0
    if not options.random:
        bench.trace_oracles(lambda note, names: list(run_parallel(options.jobs, note, names)))
    worker = Worker(bench, options, begin)
    # Try the fast oracles on all mutants first.
    for slow in (None,) if options.random else (False, True):
        jobs = [(mutant, slow) for mutant in waiting
                if slow is None or (progress.state(mutant, {}) == "undecided") == slow]
        for mutant, first, result in run_parallel(options.jobs, worker, jobs):
            late += not result
            if result:
                progress.add(mutant, result)
            if slow is None and result.get("state") == "undecided" and first and \
                    not first.startswith(CHANGING):
                print("%s:%d: %s noticed it once: %s" % (mutant.file, mutant.line + 1, first,
                                                         mutant.new.strip()))
                lost_mutants.append(mutant)
    if late:
        print("out of time: %d mutants not tried" % late)
    return lost_mutants


def matches_place(mutant: Mutant, text: str) -> bool:
    """Returns whether @text is the end of the mutant's FILE:LINE, or part of its FILE."""
    return text in mutant.file or ("/%s:%d" % (mutant.file, mutant.line + 1)).endswith("/" + text)


def run_mutants(options: argparse.Namespace) -> int:
    begin = time.monotonic()
    mutants, listed_survivors = choice.list_mutants(TREE), survivors.read(TREE)
    gone = survivors.find_stale(mutants, listed_survivors)
    for file, function, old, _ in gone:
        print("%s: %s %s(): this mutant is gone: %s" % (survivors.PATH, file, function, old))
    chosen = choice.choose(mutants, options.count)
    if options.only:
        chosen = [mutant for mutant in mutants
                  if any(matches_place(mutant, text) for text in options.only)]
    if options.random:
        seed = options.seed if options.seed is not None else random.randrange(2**32)
        print("seed %d" % seed)
        who = table.read_killers(TREE)
        chosen = [mutant for mutant in chosen if mutant.key() not in listed_survivors and
                  who.get(choice.digest(mutant)) != table.OPEN]
        chosen = random.Random(seed).sample(chosen, min(options.random, len(chosen)))
    folder = os.path.join(os.path.abspath(options.build), "mutants")
    os.makedirs(folder, exist_ok=True)
    progress = table.Progress(folder)
    states_to_retry = ("survived", "undecided") if options.again else ("undecided",)
    waiting = [mutant for mutant in chosen if mutant.key() not in listed_survivors and (
        options.random or progress.state(mutant, listed_survivors) in (*states_to_retry,
                                                                       "not tried"))]
    lost = try_mutants(options, waiting, progress, begin) if waiting else []
    if lost:
        # Tests change: another test may notice the mutant now.
        everyone = argparse.Namespace(**{**vars(options), "random": 0, "seconds": 0})
        try_mutants(everyone, lost, progress, begin)
        lost = [mutant for mutant in lost if progress.state(mutant, listed_survivors) != "killed"]
    left = table.print_summary(chosen, progress, listed_survivors)
    if options.store:
        files.write(os.path.join(TREE, "results/MUTANTS.md"),
                    table.render_page(chosen, progress, listed_survivors, describe_commit(),
                                      options.most))
        files.write(os.path.join(TREE, table.TRIED),
                    table.render_tried(chosen, progress, listed_survivors))
    return 1 if left or gone or lost else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--build", default="build", metavar="O",
                        help="the build folder (default: build)")
    parser.add_argument("--run", metavar="DIR", help="a recorded run (default: record one)")
    parser.add_argument("-n", "--count", type=int, default=400, help="number of mutants, the same "
                        "ones each time (400)")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="only N of the mutants "
                        "that an oracle noticed or that are new; former killers come first")
    parser.add_argument("--seed", type=int, help="selects the N mutants (default: random, printed)")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="instead, all mutants of files whose name contains TEXT, or of "
                        "FILE:LINE; may be repeated")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(),
                        help="mutants at the same time (default: one for each CPU)")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time")
    parser.add_argument("--most", type=float, default=0, metavar="S", help="of recorded runs and "
                        "Python tests, use only the fastest, which take S seconds together")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--store", action="store_true", help="write results/MUTANTS.md and "
                        "results/mutants/tried")
    return status.guard_command("mutants", run_mutants)(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
