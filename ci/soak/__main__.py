#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make soak: runs the cases N times under each condition of ci/soak/conditions.py.

Progress is kept in O/soak, so an interrupted soak goes on where it stopped; runs of another program
or of other cases do not count. O/soak/kept has the folder of each case with an unexpected outcome.
Exits 1 when there is one, 4 when every condition was skipped.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import random
import shutil
import sys
import time
from typing import Any

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, process, status
from ci.base.status import Missing, Refused
from ci.soak import drivers, page
from ci.soak.condition import Condition, Run, judge_again, metrics
from ci.soak.conditions import CONDITIONS

TREE = os.path.abspath(__file__ + "/../../..")


def seed_of(seed: int, name: str, number: int) -> int:
    """The seed of one run: the same whatever else runs."""
    return random.Random("%d %s %d" % (seed, name, number)).randrange(1, 1 << 31)


def order(conditions: list[Condition], runs: int, seed: int) -> list[tuple[Condition, int]]:
    """(condition, number) of all runs: idle first, as others compare with it, then by seed."""
    found = []
    for number in range(runs):
        rest = list(conditions)
        random.Random("%d %d" % (seed, number)).shuffle(rest)
        found += [(one, number) for one in sorted(rest, key=lambda one: one.name != "idle")]
    return found


def keep(run: Run, case: str, folder: str) -> None:
    """Copies a case's folder, or the run's last words if it has none."""
    source, target = os.path.join(run.cases, case), os.path.join(folder, case)
    shutil.rmtree(target, ignore_errors=True)
    if os.path.isdir(source):
        shutil.copytree(source, target, symlinks=True)
    else:
        os.makedirs(target)
        files.write(os.path.join(target, "errors"), run.errors)


def once(known: Condition, number: int, options: argparse.Namespace,
         progress: page.Progress) -> dict[str, Any]:
    """Makes a run under a condition; Missing where it cannot be here."""
    seed, start = seed_of(options.seed, known.name, number), time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = drivers.folder_of(stack)
        run = Run(os.path.abspath(options.jitproof), options.arguments, seed, folder, stack)
        known.prepare(run)
        run.execute()
        results = run.results()
        bad = [one for one in results
               if not known.is_expected(one, progress.idle.get(one["case"], ""))]
        place = os.path.join(options.folder, "kept", "%s.%d" % (known.name, number))
        for one in bad:
            keep(run, one["case"], place)
        line: dict[str, Any] = {
            "condition": known.name, "number": number, "seed": seed,
            "outcomes": {one["case"]: one["outcome"] for one in results},
            "unexpected": [{"case": one["case"], "outcome": one["outcome"], "why": one["why"],
                            "metrics": metrics(one)} for one in bad],
            "excused": [{"case": one["case"], "why": one["why"]} for one in results
                        if one["outcome"] in ("ERROR", "TIMEOUT") and one not in bad]}
        if options.judge_with:
            cases, worse = judge_again(options.judge_with, run.cases, known)
            line["other"] = {"cases": cases, "bad": worse}
    return {**line, "seconds": round(time.monotonic() - start, 1)}


def reap() -> None:
    """Kills orphans of a run: they became our children."""
    for one in process.children():
        drivers.signal_all([int(one.rpartition(":")[2])], 9)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def print_run(line: dict[str, Any]) -> None:
    print("%s %d: %d cases, %d unexpected, %.0f s" % (
        line["condition"], line["number"], len(line["outcomes"]), len(line["unexpected"]),
        line["seconds"]), flush=True)
    for bad in line["unexpected"]:
        print("  %s %s: %s" % (bad["outcome"], bad["case"], page.one_line(bad["why"])),
              flush=True)


def choose(only: list[str]) -> list[Condition]:
    names = [one.name for one in CONDITIONS]
    for name in only:
        if name not in names:
            raise Refused("no condition %s: %s" % (name, ", ".join(names)))
    return [one for one in CONDITIONS if not only or one.name in only]


def main_of(options: argparse.Namespace) -> int:
    if options.list:
        for one in CONDITIONS:
            print("%-16s %s" % (one.name, one.about))
        return 0
    chosen, begin = choose(options.only), time.monotonic()
    options.arguments = ["--set=" + options.set, *options.glob]
    options.folder = os.path.join(os.path.abspath(options.build), "soak")
    options.jitproof = options.jitproof or os.path.join(options.build, "jitproof")
    os.makedirs(options.folder, exist_ok=True)
    program = hashlib.sha256(files.read_bytes(options.jitproof)).hexdigest()
    progress = page.Progress(options.folder, page.Identity(program, tuple(options.arguments)))
    drivers.set_process(drivers.SUBREAPER, 1)
    skipped = dict[str, str]()
    for known, number in order(chosen, options.runs, options.seed):
        if known.name in skipped or (known.name, number) in progress.runs:
            continue
        if options.minutes and time.monotonic() - begin > options.minutes * 60:
            print("time is up")
            break
        try:
            line = once(known, number, options, progress)
        except Missing as reason:
            skipped[known.name] = str(reason)
            print("%s: SKIP: %s" % (known.name, reason), flush=True)
            continue
        finally:
            reap()
        progress.add(line)
        print_run(line)
    commit = process.run(["git", "describe", "--always", "--dirty"], cwd=TREE).stdout.strip()
    text = page.make(chosen, progress, skipped, commit or "unknown")
    page.write(os.path.join(options.folder, "SOAK.md"), text)
    if options.store:
        page.write(os.path.join(TREE, "results/SOAK.md"), text)
    runs = [run for one in chosen for run in progress.of(one.name)]
    bad = sum(len(run["unexpected"]) for run in runs)
    print("%d runs, %d cases, %d unexpected, %d conditions skipped" % (
        len(runs), page.count_cases(runs), bad, len(skipped)))
    return 1 if bad else 0 if runs else 4


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--build", default="build", metavar="O")
    parser.add_argument("--jitproof", help="O/jitproof")
    parser.add_argument("--list", action="store_true", help="the conditions, and run nothing")
    parser.add_argument("--only", action="append", default=[], metavar="CONDITION",
                        help="may be repeated")
    parser.add_argument("--runs", type=int, default=13, metavar="N", help="under each condition; "
                        "13 make more than 300 (%(default)s)")
    parser.add_argument("--set", choices=("check", "full"), default="check")
    parser.add_argument("--glob", action="append", default=[], help="only these cases of the set; "
                        "may be repeated")
    parser.add_argument("--seed", type=int, default=1, help="of the order, of loop lengths and of "
                        "stops (%(default)s)")
    parser.add_argument("--minutes", type=float, default=0, help="start no run after so long")
    parser.add_argument("--judge-with", metavar="PROGRAM", help="another jitproof judges each "
                        "recording too, and the page counts what it would have failed")
    parser.add_argument("--store", action="store_true", help="write results/SOAK.md, too")
    return status.of("soak", main_of)(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
