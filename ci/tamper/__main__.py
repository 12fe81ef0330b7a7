# SPDX-License-Identifier: GPL-2.0-only
"""make tamper: alters recorded cases of the set check, judges them again, and counts what was
noticed. An alteration is noticed when a case that passed does not; what is harmless must not be.

Exits 1 when an alteration went unnoticed or a harmless one did not. Needs no privileges but what
recording needs; with DIR, none.
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
from typing import Iterable, NamedTuple
import zlib

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, process, status
from ci.tamper import report
from ci.tamper.case import Bench, Case, Verdict
from ci.tamper.kinds import KINDS, Absent, Changes, Kind, Unobservable

# Each registers its kinds, and the table has them in this order.
FAMILIES = ("samples", "stacks", "frames", "native", "activations", "mappings", "tasks", "records",
            "events", "layout", "window", "beside", "oracle", "told", "jit", "injected",
            "published", "balanced", "stayed", "fields", "harmless", "rewrites")
PASSING = ("PASS", "XFAIL")
BROKEN = ("CRASH", "HANG", "NOTHING")


class Options(NamedTuple):
    jitproof: str
    top: str
    seed: int
    share: float
    kinds: tuple[str, ...]


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


def is_chosen(kind: str, case: str, options: Options) -> bool:
    """A share of all pairs: other ones with another seed."""
    return pair(kind, case, options.seed) < options.share * 2**32


def pair(kind: str, case: str, seed: int) -> int:
    return zlib.crc32(("%d %s %s" % (seed, kind, case)).encode())


def try_case(name: str, options: Options, done: frozenset[str]) -> list[report.Trial]:
    """All kinds on one case, but those that are @done."""
    case = Case(options.top, name, options.seed, options.jitproof)
    with Bench(options.jitproof, case) as bench:
        case.scratch = bench.scratch
        plain: Verdict = bench.run()
        if plain.outcome == "SKIP":
            return []  # it cannot run here
        if plain.outcome not in PASSING:
            return [report.Trial(name, "", "unusable", "%s: %s" % plain[:2])]
        return [try_kind(bench, case, KINDS[kind]) for kind in options.kinds
                if is_chosen(kind, name, options) and kind not in done]


def linked(source: str, target: str) -> str:
    """A copy that takes no room, where the file system has such."""
    try:
        os.link(source, target)
    except OSError:
        process.must(["cp", "--sparse=always", source, target])
    return target


def make_run(names: list[str], options: Options, target: str) -> int:
    """A run directory with one alteration of each case: the first kind, in an order by the seed,
    that the case has something for."""
    for name in names:
        case = Case(options.top, name, options.seed, options.jitproof)
        kinds = sorted(options.kinds, key=lambda kind: pair(kind, name, options.seed))
        with tempfile.TemporaryDirectory(prefix="tamper-make-") as case.scratch:
            changes = first_change(case, kinds)
        folder = os.path.join(target, name)
        shutil.copytree(case.path(""), folder, copy_function=linked,
                        ignore=shutil.ignore_patterns(*changes))
        for file, content in changes.items():
            if content is not None:
                path = os.path.join(folder, file)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                if os.path.exists(path):
                    os.unlink(path)  # it may be the recorded one
                files.write_bytes(path, content)
    return 0


def first_change(case: Case, kinds: Iterable[str]) -> Changes:
    for kind in kinds:
        case.kind = kind
        try:
            return KINDS[kind].make(case)
        except (Absent, Unobservable):
            continue
    return {}


def recorded(top: str) -> list[str]:
    """The cases of a run directory that have something to judge."""
    found = [os.path.relpath(folder, top) for folder, _, names in os.walk(top)
             if "case" in names and "perf.data" in names and "truth" in names]
    if not found:
        raise status.Unusable("%s: no recorded case is in it" % top)
    return sorted(found)


def matching(names: Iterable[str], globs: list[str]) -> list[str]:
    return [name for name in names
            if not globs or any(fnmatch.fnmatchcase(name, glob) for glob in globs)]


def record(jitproof: str, folder: str) -> str:
    top = os.path.join(folder, "run")
    done = subprocess.run([jitproof, "run", "--set=check", "-o", top], stdout=subprocess.DEVNULL,
                          check=False)
    if done.returncode not in (0, 1):
        raise status.Unusable("%s run: exit %d" % (jitproof, done.returncode))
    return top


class Progress:
    """A file with a line for each trial, so that an interrupted run goes on where it stopped."""

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
                file.writelines(json.dumps(one) + "\n" for one in trials)

    def done(self, case: str) -> frozenset[str]:
        return frozenset(one.kind for one in self.trials if one.case == case)


def spread(names: list[str], options: Options, jobs: int, seconds: float,
           progress: Progress) -> int:
    """Tries all in the time, case by case; returns how many cases were left out."""
    waiting, end = collections.deque(names), time.monotonic() + (seconds or 1e9)
    live = sys.stderr.isatty()
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        running: set[concurrent.futures.Future[list[report.Trial]]] = set()
        while running or (waiting and time.monotonic() < end):
            while waiting and len(running) < jobs and time.monotonic() < end:
                name = waiting.popleft()
                running.add(pool.submit(try_case, name, options, progress.done(name)))
            ready, running = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_COMPLETED)
            for one in ready:
                progress.add(one.result())
            if live:
                print("\r%d cases to go" % (len(waiting) + len(running)), end="", file=sys.stderr)
    if live:
        print(file=sys.stderr)
    return len(waiting)


def tamper(options: argparse.Namespace) -> int:
    kinds = matching(KINDS, options.kind)
    if options.list:
        print("\n".join(kinds))
        return 0
    with tempfile.TemporaryDirectory(prefix="tamper-run-") as folder:
        top = options.dir or record(options.jitproof, folder)
        names = matching(recorded(top), options.case)
        if not kinds or not names:
            raise status.Refused("no kind, or no case, has such a name")
        chosen = Options(options.jitproof, top, options.seed, options.share, tuple(kinds))
        if options.make:
            return make_run(names, chosen, options.make)
        progress = Progress(options.progress)
        left = spread(names, chosen, options.jobs, options.seconds, progress)
    trials = [one for one in progress.trials if one.case in names and one.kind in ("", *kinds)]
    if left:
        raise status.Unusable("%d cases are left: go on with the same --progress" % left)
    if options.output:
        files.write(options.output, report.table(trials, options.seed, options.share, 3))
    if not options.output or options.show:
        print(report.table(trials, options.seed, options.share, None), end="")
    counts = collections.Counter(report.is_right(trial) for trial in trials)
    print("%d passed, %d failed, %d skipped" % (counts[True], counts[False], counts[None]))
    return 1 if counts[False] else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="tamper", description=__doc__)
    parser.add_argument("dir", nargs="?", metavar="DIR", help="a run directory of ours; without "
                        "it, the set check is recorded")
    parser.add_argument("--jitproof", default="build/jitproof")
    parser.add_argument("-k", "--kind", action="append", default=[], metavar="GLOB",
                        help="only these kinds of alterations")
    parser.add_argument("-c", "--case", action="append", default=[], metavar="GLOB",
                        help="only these cases")
    parser.add_argument("--seed", type=int, default=1, help="which records are altered")
    parser.add_argument("--share", type=float, default=1.0, metavar="X",
                        help="try this share of all pairs of kind and case, by the seed")
    parser.add_argument("-j", "--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--progress", metavar="FILE", help="what was tried is kept there, and not "
                        "tried again: for one DIR and one program")
    parser.add_argument("--seconds", type=float, default=0, help="begin no case after so long")
    parser.add_argument("-o", "--output", metavar="FILE", help="the table goes there")
    parser.add_argument("--show", action="store_true",
                        help="and to standard output, with every case")
    parser.add_argument("--make", metavar="NEW", help="judge nothing: write a run directory with "
                        "one alteration of each case")
    parser.add_argument("--list", action="store_true", help="the kinds, a line each")
    return status.of("tamper", tamper)(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
