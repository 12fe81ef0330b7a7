# SPDX-License-Identifier: GPL-2.0-only
"""make tamper: alters recorded cases of the set check, judges them again, and counts how many
alterations judging notices: a case that passed must fail, except for harmless alterations.

Exits with 1 if judging misses an alteration or objects to a harmless one. With DIR it needs no
privileges, otherwise those for recording.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import importlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from typing import Iterable
import zlib

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, status
from ci.tamper import report
from ci.tamper.case import Bench, Case, Verdict
from ci.tamper.kinds import KINDS, Absent, Changes, Kind, Unobservable

# Modules that register kinds, in the order of the table.
FAMILIES = ("samples", "frames", "native", "activations", "mappings", "tasks",
            "events", "layout", "window", "evidence", "oracle", "jit", "injected",
            "balanced", "harmless")
PASSING = ("PASS", "XFAIL")
BROKEN = ("CRASH", "HANG", "NOTHING")


for family in FAMILIES:
    importlib.import_module("ci.tamper." + family)


def try_kind(bench: Bench, case: Case, kind: Kind) -> report.Trial:
    case.kind = kind.name
    try:
        changes = kind.make(case)
    except Absent as reason:
        return report.Trial(case.name, kind.name, "absent", str(reason))
    except Unobservable as reason:
        return report.Trial(case.name, kind.name, "unobservable", str(reason))
    except (ArithmeticError, LookupError, ValueError, TypeError, struct.error) as error:
        return report.Trial(case.name, kind.name, "broken", "the kind itself: %r" % error)
    verdict = bench.judge(changes)
    if verdict.outcome in BROKEN:
        state = "broken"
    else:
        state = "unnoticed" if verdict.outcome in PASSING else "noticed"
    return report.Trial(case.name, kind.name, state, "%s: %s" % verdict[:2])


def hash_kind_and_case(kind: str, case: str, seed: int) -> int:
    return zlib.crc32(("%d %s %s" % (seed, kind, case)).encode())


def try_case(name: str, options: argparse.Namespace,
             tried_kinds: frozenset[str]) -> list[report.Trial]:
    """Tries all kinds on one case except those in @done."""
    case = Case(options.top, name, options.seed, options.jitproof)
    with Bench(options.jitproof, case) as bench:
        case.scratch = bench.scratch
        plain: Verdict = bench.run()
        if plain.outcome == "SKIP":
            return []  # this machine cannot judge the case
        if plain.outcome not in PASSING:
            return [report.Trial(name, "", "unusable", "%s: %s" % plain[:2])]
        return [try_kind(bench, case, KINDS[kind]) for kind in options.kinds
                if kind not in tried_kinds]


def link_or_copy(source: str, target: str) -> str:
    """Makes a hard link, or a copy if the file system has none."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    return target


def make_run(names: list[str], options: argparse.Namespace) -> int:
    """Writes a run directory with one alteration of each case: the first kind, in an order by the
    seed, that can alter the case."""
    for name in names:
        case = Case(options.top, name, options.seed, options.jitproof)
        kinds = sorted(options.kinds, key=lambda kind: hash_kind_and_case(kind, name, options.seed))
        with tempfile.TemporaryDirectory(prefix="tamper-make-") as case.scratch:
            changes = make_first_change(case, kinds)
        folder = os.path.join(options.make, name)
        shutil.copytree(case.path(""), folder, copy_function=link_or_copy,
                        ignore=shutil.ignore_patterns(*changes))
        for file, content in changes.items():
            if content is not None:
                path = os.path.join(folder, file)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                if os.path.exists(path):
                    os.unlink(path)  # it may be a link to the recorded file
                files.write_bytes(path, content)
    return 0


def make_first_change(case: Case, kinds: Iterable[str]) -> Changes:
    for kind in kinds:
        case.kind = kind
        try:
            return KINDS[kind].make(case)
        except (Absent, Unobservable):
            continue
    return {}


def find_cases(top: str) -> list[str]:
    """Returns the recorded cases of a run directory."""
    cases = [os.path.relpath(folder, top) for folder, _, names in os.walk(top)
             if "case" in names and "perf.data" in names and "truth" in names]
    if not cases:
        raise status.Unusable("%s: contains no recorded case" % top)
    return sorted(cases)


def filter_names(names: Iterable[str], globs: list[str]) -> list[str]:
    return [name for name in names
            if not globs or any(fnmatch.fnmatchcase(name, glob) for glob in globs)]


def record_cases(jitproof: str, folder: str) -> str:
    top = os.path.join(folder, "run")
    result = subprocess.run([jitproof, "run", "--set=check", "-o", top], stdout=subprocess.DEVNULL,
                            check=False)
    if result.returncode not in (0, 1):
        raise status.Unusable("%s run: exit %d" % (jitproof, result.returncode))
    return top


class Progress:
    """The trials so far, and a file of them, so that an interrupted run can continue."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.trials: list[report.Trial] = []
        if path and os.path.exists(path):
            self.trials = [report.Trial(*json.loads(line))
                           for line in files.read(path).splitlines()]

    def add(self, trials: list[report.Trial]) -> None:
        self.trials += trials
        if self.path:
            with open(self.path, "a", encoding="utf-8") as file:
                file.writelines(json.dumps(trial) + "\n" for trial in trials)

    def done(self, case: str) -> frozenset[str]:
        return frozenset(trial.kind for trial in self.trials if trial.case == case)


def try_cases(names: list[str], options: argparse.Namespace, progress: Progress) -> int:
    """Tries all cases, for options.seconds (0: no limit). Returns how many cases were left out."""
    waiting, end = collections.deque(names), time.monotonic() + (options.seconds or 1e9)
    live = sys.stderr.isatty()
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        running: set[concurrent.futures.Future[list[report.Trial]]] = set()
        while running or (waiting and time.monotonic() < end):
            while waiting and len(running) < options.jobs and time.monotonic() < end:
                name = waiting.popleft()
                running.add(pool.submit(try_case, name, options, progress.done(name)))
            ready, running = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in ready:
                progress.add(future.result())
            if live:
                print("\r%d cases to go" % (len(waiting) + len(running)), end="", file=sys.stderr)
    if live:
        print(file=sys.stderr)
    return len(waiting)


def run(options: argparse.Namespace) -> int:
    options.kinds = filter_names(KINDS, options.kind)
    if options.list:
        print("\n".join(options.kinds))
        return 0
    with tempfile.TemporaryDirectory(prefix="tamper-run-") as folder:
        options.top = options.dir or record_cases(options.jitproof, folder)
        names = filter_names(find_cases(options.top), options.case)
        if not options.kinds or not names:
            raise status.Refused("no kind or no case matches; see --list")
        if options.make:
            return make_run(names, options)
        progress = Progress(options.progress)
        failures = try_cases(names, options, progress)
    trials = [trial for trial in progress.trials if trial.case in names and trial.kind
              in ("", *options.kinds)]
    if failures:
        raise status.Unusable("%d cases are left; continue with the same --progress" % failures)
    if options.output:
        files.write(options.output, report.make_page(trials, options.seed, 3))
    if not options.output or options.show:
        print(report.make_page(trials, options.seed, None), end="")
    counts = collections.Counter(report.is_right(trial) for trial in trials)
    print("%d passed, %d failed, %d skipped" % (counts[True], counts[False], counts[None]))
    return 1 if counts[False] else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="tamper", description=__doc__)
    parser.add_argument("dir", nargs="?", metavar="DIR",
                        help="a run directory (default: record the set check)")
    parser.add_argument("--jitproof", default="build/jitproof",
                        help="the program that judges (default: build/jitproof)")
    parser.add_argument("-k", "--kind", action="append", default=[], metavar="GLOB",
                        help="only these kinds of alterations")
    parser.add_argument("-c", "--case", action="append", default=[], metavar="GLOB",
                        help="only these cases")
    parser.add_argument("--seed", type=int, default=1, help="which records are altered")
    parser.add_argument("-j", "--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--progress", metavar="FILE", help="store trials in FILE and do not repeat "
                        "them; use it for one DIR and one jitproof")
    parser.add_argument("--seconds", type=float, default=0, help="begin no case after this time")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the table to FILE")
    parser.add_argument("--show", action="store_true",
                        help="also print the table, with every case")
    parser.add_argument("--make", metavar="NEW", help="judge nothing; write a run directory with "
                        "one alteration of each case")
    parser.add_argument("--list", action="store_true", help="list the kinds")
    return status.guard_command("tamper", run)(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
