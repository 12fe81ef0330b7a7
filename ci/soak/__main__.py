#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make soak: runs the cases N times under each condition of ci/soak/conditions.py.

O/soak stores the progress, so an interrupted soak can continue; runs of another program or of other
cases do not count. O/soak/kept has the folder of each case with an unexpected outcome. Exits with 1
if there is one, with 4 if every condition was skipped.
"""

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
from ci.soak.condition import Condition, Run, find_metrics
from ci.soak.conditions import CONDITIONS

TREE = os.path.abspath(__file__ + "/../../..")


def make_seed(seed: int, name: str, number: int) -> int:
    """Returns the seed of a run, which does not depend on other runs."""
    return random.Random("%d %s %d" % (seed, name, number)).randrange(1, 1 << 31)


def order_runs(conditions: list[Condition], runs: int, seed: int) -> list[tuple[Condition, int]]:
    """Returns (condition, number) of all runs. Each round begins with `idle`, with which the others
    are compared; the seed determines the rest of the order."""
    found = []
    for number in range(runs):
        shuffled = list(conditions)
        random.Random("%d %d" % (seed, number)).shuffle(shuffled)
        found += [(condition, number) for condition
                  in sorted(shuffled, key=lambda one: one.name != "idle")]
    return found


def keep_case(run: Run, case: str, folder: str) -> None:
    """Copies a case's folder, or the end of the run's output if the case has no folder."""
    source, target = os.path.join(run.cases, case), os.path.join(folder, case)
    shutil.rmtree(target, ignore_errors=True)
    if os.path.isdir(source):
        shutil.copytree(source, target, symlinks=True)
    else:
        os.makedirs(target)
        files.write(os.path.join(target, "errors"), run.errors)


def run_once(known: Condition, number: int, options: argparse.Namespace,
             progress: page.Progress) -> dict[str, Any]:
    """Makes a run under a condition. Raises Missing if the condition is impossible here."""
    seed, start = make_seed(options.seed, known.name, number), time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = drivers.make_folder(stack)
        run = Run(os.path.abspath(options.jitproof), options.arguments, seed, folder, stack)
        known.prepare(run)
        run.execute()
        results = run.results()
        bad = [result for result in results
               if not known.is_expected(result, progress.idle.get(result["case"], ""))]
        place = os.path.join(options.folder, "kept", "%s.%d" % (known.name, number))
        for one in bad:
            keep_case(run, one["case"], place)
        line: dict[str, Any] = {
            "condition": known.name, "number": number, "seed": seed,
            "outcomes": {result["case"]: result["outcome"] for result in results},
            "unexpected": [{"case": result["case"], "outcome": result["outcome"],
                            "why": result["why"],
                            "metrics": find_metrics(result)} for result in bad],
            "excused": [{"case": result["case"], "why": result["why"]} for result in results
                        if result["outcome"] in ("ERROR", "TIMEOUT") and result not in bad]}
    return {**line, "seconds": round(time.monotonic() - start, 1)}


def kill_orphans() -> None:
    """Kills the orphans of a run, which became children of this process."""
    while orphans := process.list_children():
        drivers.signal_all([int(orphan.rpartition(":")[2]) for orphan in orphans], 9)


def print_run(line: dict[str, Any]) -> None:
    print("%s, run %d: %d cases, %d unexpected outcomes, %.0f s" % (
        line["condition"], line["number"], len(line["outcomes"]), len(line["unexpected"]),
        line["seconds"]), flush=True)
    for result in line["unexpected"]:
        print("  %s %s: %s"
              % (result["outcome"], result["case"], page.format_reason(result["why"])),
              flush=True)


def choose_conditions(only: list[str]) -> list[Condition]:
    names = [condition.name for condition in CONDITIONS]
    for name in only:
        if name not in names:
            raise Refused("no condition %s; expected one of %s" % (name, ", ".join(names)))
    return [condition for condition in CONDITIONS if not only or condition.name in only]


def run(options: argparse.Namespace) -> int:
    if options.list:
        for condition in CONDITIONS:
            print("%-16s %s" % (condition.name, condition.about))
        return 0
    chosen, begin = choose_conditions(options.only), time.monotonic()
    options.arguments = ["--set=" + options.set, *options.glob]
    options.folder = os.path.join(os.path.abspath(options.build), "soak")
    options.jitproof = options.jitproof or os.path.join(options.build, "jitproof")
    os.makedirs(options.folder, exist_ok=True)
    program = hashlib.sha256(files.read_bytes(options.jitproof)).hexdigest()
    progress = page.Progress(options.folder, program, options.arguments)
    drivers.set_process(drivers.SUBREAPER, 1)
    skipped = dict[str, str]()
    for known, number in order_runs(chosen, options.runs, options.seed):
        if known.name in skipped or (known.name, number) in progress.runs:
            continue
        if options.minutes and time.monotonic() - begin > options.minutes * 60:
            print("out of time: the other runs were not started")
            break
        try:
            line = run_once(known, number, options, progress)
        except Missing as reason:
            skipped[known.name] = str(reason)
            print("%s: SKIP: %s" % (known.name, reason), flush=True)
            continue
        finally:
            kill_orphans()
        progress.add(line)
        print_run(line)
    commit = process.run(["git", "describe", "--always", "--dirty"], cwd=TREE).stdout.strip()
    stored = os.path.join(TREE, "results/SOAK.md")
    text = page.make_page(chosen, progress, skipped, commit or "unknown", files.read(stored))
    page.write_page(os.path.join(options.folder, "SOAK.md"), text)
    if options.store:
        page.write_page(stored, text)
    runs = [run for condition in chosen for run in progress.get_runs(condition.name)]
    unexpected = sum(len(run["unexpected"]) for run in runs)
    print("%d runs, %d cases, %d unexpected outcomes, %d conditions skipped" % (
        len(runs), page.count_cases(runs), unexpected, len(skipped)))
    return 1 if unexpected else 0 if runs else 4


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--build", default="build", metavar="O",
                        help="the build folder (default: build)")
    parser.add_argument("--jitproof", help="O/jitproof")
    parser.add_argument("--list", action="store_true", help="list the conditions, run nothing")
    parser.add_argument("--only", action="append", default=[], metavar="CONDITION",
                        help="only this condition; repeatable")
    parser.add_argument("--runs", type=int, default=13, metavar="N",
                        help="runs under each condition (%(default)s)")
    parser.add_argument("--set", choices=("check", "full"), default="check")
    parser.add_argument("--glob", action="append", default=[], help="only these cases of the set; "
                        "may be repeated")
    parser.add_argument("--seed", type=int, default=1,
                        help="seed of the order, of loop lengths and of stops (%(default)s)")
    parser.add_argument("--minutes", type=float, default=0, help="start no run after this time")
    parser.add_argument("--store", action="store_true", help="also write results/SOAK.md")
    return status.guard_command("soak", run)(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
