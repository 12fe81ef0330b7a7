#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Generates crossings of workloads, options, faults, policies and tools, and reports defects that
no case knows (docs/hunt.md)."""

import argparse
import concurrent.futures
import os
import random
import sys
import tempfile
import time
from typing import Any, Iterator, Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import jsonl, process, status
from ci.hunt import known, probing, report, state
from ci.hunt.clusters import Clusters
from ci.hunt.cover import Cover
from ci.hunt.line import make_smallest
from ci.hunt.relations import Relations, is_of_relation
from ci.hunt.space import PERF, Crossing, Item, Request, Space
from ci.hunt.trial import TIMEOUT, Runner, Signature, Trial, remove_figures, remove_options
from ci.perf import perf_tools

# Half a gigabyte of stacks a second, which the judge and each reader unwind for minutes.
HEAVY: tuple[Crossing, ...] = (
    {"capture --freq": "7999", "capture --stack": "65528"},
    {"capture -a": "", "capture --stack": "65528"},
    {"capture": "breakpoint", "capture --stack": "65528"},
    # Each file has 16 stacks, or little more than the tasks that perf states again.
    {"capture --stack": "65528", "capture --switch-output": "1M"},
    {"capture -a": "", "capture --switch-output": "1M"})
TREE = os.path.abspath(__file__ + "/../../..")


class Hunt:
    """Runs crossings until the time is up."""

    def __init__(self, options: argparse.Namespace, space: Space, runner: Runner) -> None:
        self.options, self.space, self.runner = options, space, runner
        self.end = time.monotonic() + options.minutes * 60
        self.cover = Cover(space, options.seed)
        self.clusters = Clusters(space, self.run_all)
        self.progress = state.Progress(options.seed)
        # Crossings to try next, and the values that each of them is to try.
        self.next: list[Crossing] = []
        self.suspects: dict[frozenset[Item], Crossing] = {}
        self.learned: dict[str, Crossing] = {}  # by the reason of the refusal
        self.relations = Relations(runner)
        self.known = known.read_results(os.path.join(TREE, "results"))
        self.pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
        self.running: set[concurrent.futures.Future[Trial]] = set()
        # Reductions take place beside the crossings, in a thread of their own.
        self.reducer = concurrent.futures.ThreadPoolExecutor(1, "reduction")
        self.reductions: set[concurrent.futures.Future[None]] = set()

    def run_all(self, crossings: Sequence[Crossing], wanted: Signature) -> Iterator[Trial]:
        """Runs @crossings with the twins that @wanted needs, and yields the results in their order
        until the hunt's time is up."""
        for crossing in crossings:
            if time.monotonic() > self.end:
                return
            yield self.run_one(crossing, wanted)

    def check_all(self, crossings: Sequence[Crossing]) -> Iterator[Trial]:
        """Checks the case lines of @crossings, some at the same time, without running them."""
        for start in range(0, len(crossings), self.options.jobs):
            if time.monotonic() > self.end:
                return
            yield from self.pool.map(self.runner.check,
                                     crossings[start:start + self.options.jobs])

    def run_one(self, crossing: Crossing, wanted: Signature | None = None) -> Trial:
        """Runs @crossing. With @wanted, leaves out the twins that cannot show it."""
        trial = self.runner.run(crossing, self.progress.seed)
        if wanted and not is_of_relation(wanted):
            return trial
        return self.relations.check(trial, wanted.cause if wanted else "")

    def handle(self, trial: Trial) -> None:
        self.progress.tried += 1
        self.progress.outcomes[trial.outcome] = self.progress.outcomes.get(trial.outcome, 0) + 1
        state.log(self.options.folder, trial)
        if trial.is_judged:
            self.cover.add(trial.crossing)
        elif not trial.is_refused:
            self.cover.add_unjudged(trial.crossing)
        elif not self.cover.is_explained(trial.crossing):
            self.learn(trial)
        if trial.lacks_evidence or trial.outcome == "ERROR" and PERF not in trial.crossing:
            self.progress.note_unjudged(one.cause for one in trial.signatures)
            return
        self.progress.note_unjudged("%s varies between runs, and is not compared with its twin" %
                                    name for name in trial.incomparable)
        trial.signatures |= {one for one in trial.excused
                             if self.known.find_id(one, trial.crossing)}
        fresh = self.clusters.add(trial)
        for cluster in fresh:
            report.print_new(cluster, self.known.find_id(cluster.signature, cluster.crossing))
        if fresh and trial.outcome != TIMEOUT:  # each run of a reduction could take that time
            self.reductions.add(self.reducer.submit(self.clusters.reduce, trial, fresh))

    def learn(self, trial: Trial) -> None:
        """Learns which values make the machine or a tool refuse @trial: excludes values that are
        refused alone; of other crossings, tries the suspected values alone next."""
        reason = remove_options(remove_figures(trial.why))
        items = self.suspects.get(frozenset(trial.crossing.items()))
        if not items and self.learned.get(reason, trial.crossing).items() < trial.crossing.items():
            items = self.learned[reason]  # of another version of perf
        if items:
            self.learned[reason] = items
            # A refusal that names perf's version does not hold for other versions.
            if trial.crossing.get(PERF, trial.why + "\n") in trial.why:
                items = {**items, PERF: trial.crossing[PERF]}
            self.cover.exclude(items)
            report.print_impossible(items, trial.why)
            return
        items = self.cover.find_suspect(trial.crossing, reason)
        if items:
            self.next.append(make_smallest(self.space, items.items(), trial.crossing))
            self.suspects[frozenset(self.next[-1].items())] = items

    def exclude(self, trial: Trial) -> None:
        """Finds the impossible combination in the @trial whose case line was refused, and excludes
        it from further tries."""
        small, items, missing = probing.find_impossible(self.space, trial, self.check_all)
        if time.monotonic() > self.end:
            return
        if missing:
            self.cover.add_lacking(items, missing)
        else:
            self.cover.exclude(items)
            report.print_impossible(items, small.why)

    def choose(self) -> Crossing:
        """Returns the next crossing whose case line jitproof accepts."""
        while self.next:
            crossing = self.next.pop()
            if not self.cover.is_impossible(crossing):
                return crossing
        while True:
            trial = self.runner.check(self.cover.choose())
            if not trial.is_refused:
                return trial.crossing
            if not self.cover.is_explained(trial.crossing):
                self.exclude(trial)

    def wants_more(self) -> bool:
        """Returns whether neither the time is up nor all wanted crossings have begun."""
        most = self.options.crossings
        return time.monotonic() < self.end and not (
            most and self.progress.tried + len(self.running) >= most)

    def step(self) -> None:
        """Keeps --jobs crossings running, less the crossing of a reduction. Handles those that
        ended."""
        jobs = max(1, self.options.jobs - bool(self.reductions))
        while len(self.running) < jobs and self.wants_more():
            self.running.add(self.pool.submit(self.run_one, self.choose()))
        all_running: set[concurrent.futures.Future[Any]] = {*self.running, *self.reductions}
        ended, _ = concurrent.futures.wait(all_running,
                                           return_when=concurrent.futures.FIRST_COMPLETED)
        for reduction in ended & self.reductions:
            self.reductions.remove(reduction)
            reduction.result()
            self.clusters.join()
        for crossing in ended & self.running:
            self.running.remove(crossing)
            self.handle(crossing.result())
            report.print_progress(self.progress, self.cover, self.clusters)
        state.save(self.options.folder, self.progress, self.cover, self.clusters)


def find_perfs(options: argparse.Namespace) -> dict[str, str]:
    """Returns the paths of the wanted perfs by version."""
    found = [perf_tools.find(options.perf_dir, wanted) for wanted in options.perf]
    return {perf.version: perf.path for perf in found}


def run(options: argparse.Namespace) -> int:
    os.makedirs(options.folder, exist_ok=True)
    stored = state.read(options.folder)
    if options.seed is None:
        options.seed = stored["seed"] if stored else random.randrange(1 << 32)
    print("# seed %d" % options.seed, flush=True)
    perfs = find_perfs(options)
    listed = jsonl.parse("jitproof list", 1, process.run_or_raise(
        [options.jitproof, "list", "--json"]).encode())
    space = Space(listed, Request(tuple(sorted(perfs))))
    with tempfile.TemporaryDirectory(prefix="jitproof-hunt-") as folder:
        os.chmod(folder, 0o755)
        hunt = Hunt(options, space, Runner(
            options.jitproof, folder, perfs,
            os.path.join(options.folder, "kept") if options.keep else ""))
        for crossing in HEAVY:
            if all(value in space.values.get(name, ()) for name, value in crossing.items()):
                hunt.cover.exclude(crossing)
        if stored:
            hunt.progress = state.restore(options.folder, stored, hunt.cover, hunt.clusters,
                                          options.seed)
        try:
            while hunt.running or hunt.reductions or hunt.wants_more():
                hunt.step()
        except KeyboardInterrupt:
            print("# interrupted; %s has the progress" % options.folder)
            hunt.end = 0  # ends a reduction, too
            hunt.runner.stop()
        finally:
            for pool in (hunt.pool, hunt.reducer):
                pool.shutdown(cancel_futures=True)
    return report.print_all(hunt.progress, hunt.cover, hunt.clusters, hunt.known)


def main() -> int:
    parser = argparse.ArgumentParser(prog="jitproof hunt", description=__doc__.split("\n\n")[0])
    parser.add_argument("--jitproof", default=os.path.join(os.environ.get("O", "build"),
                                                           "jitproof"), help="default: %(default)s")
    parser.add_argument("--minutes", type=float, default=10, metavar="N",
                        help="start no crossing after N minutes (%(default)g)")
    parser.add_argument("--crossings", type=int, default=0, metavar="N",
                        help="end after N crossings (combinations of options)")
    parser.add_argument("--seed", type=int, help="of the choice of crossings and of the loop "
                        "lengths (default: that of the stored hunt, else a random one)")
    parser.add_argument("-o", dest="folder", default=os.path.join(os.environ.get("O", "build"),
                                                               "hunt"), metavar="DIR",
                        help="stores the progress, and continues what it finds "
                        "(default: %(default)s)")
    parser.add_argument("-j", "--jobs", type=int, default=len(os.sched_getaffinity(0)),
                        metavar="N", help="crossings at the same time (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep the run directories of "
                        "failures in the folder kept of DIR")
    parser.add_argument("--perf", action="append", default=[], metavar="WANTED",
                        help='also cross with this perf: a suite, a version or "installed"; may be '
                        "repeated (default: our own capture and inject alone)")
    parser.add_argument("--perf-dir", default=os.path.join(os.environ.get("O", "build"), "perf"),
                        help="folder of the suites' perfs (default: %(default)s)")
    return status.guard_command("jitproof hunt", run)(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
