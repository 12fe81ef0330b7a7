# SPDX-License-Identifier: GPL-2.0-only
"""make mutants: changes one line of our own validators, judge, outcome, model, unwinder, injector
or readers, builds, and asks whether any test notices.

What nobody notices is a missing test, or cannot be noticed: results/mutants/survivors says which,
and why. Progress is kept in O/mutants, so an interrupted run goes on where it stopped. Exits 1 when
a mutant survives that the file does not explain, or when it explains one that is gone.
"""

from __future__ import annotations

import argparse
import collections
import glob
import json
import os
import random
import shutil
import sys
import tempfile
import time
from typing import Any, Iterator

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, process, status
from ci.mutants import operators, oracles, survivors
from ci.mutants.build import Build
from ci.mutants.operators import Mutant

TREE = os.path.abspath(__file__ + "/../../..")
FOLDERS = ("validators", "harness/judge", "harness/outcome", "harness/model/space",
           "harness/model/oracle", "harness/model/unwind", "harness/model/evidence",
           "harness/model/symbols", "harness/inject", "harness/format/perfdata",
           "harness/format/truth", "harness/format/jit", "harness/format/elf",
           "harness/format/rundir", "harness/format/procmaps")
# Writers and what only captures use: judging reads nothing of theirs.
EXCEPT = ("harness/format/truth/write.c", "harness/format/truth/acts.c")
MODEL = r"validators/|harness/(judge|outcome|model|format)/"
SCRIPTS = (("test_judge_file.py", MODEL + "|harness/(inject)/"),
           ("test_methods.py", r"harness/model/unwind/"),
           ("test_accounts.py", MODEL),
           ("test_validators.py", MODEL),
           ("test_unwind_truth.py", r"harness/model/(unwind|oracle)/"),
           ("test_processes.py", r"validators/|harness/model/space/"),
           ("test_inject.py", r"harness/(inject|format/jit|format/perfdata|format/elf)/"))
# Kinds that a tampered run has one of each case of, by seed.
TAMPERED = 4


def mutants(tree: str) -> list[Mutant]:
    found: list[Mutant] = []
    for folder in FOLDERS:
        for path in sorted(glob.glob(os.path.join(tree, folder, "*.c"))):
            file = os.path.relpath(path, tree)
            if file not in EXCEPT:
                found += operators.of_file(file, files.read(path))
    return found


def choose(every: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """At most one of each line, the same ones for the same seed."""
    dice = random.Random(seed)
    shuffled = sorted(every)
    dice.shuffle(shuffled)
    chosen: dict[tuple[str, int], Mutant] = {}
    for one in shuffled:
        if len(chosen) >= count:
            break
        chosen.setdefault((one.file, one.line), one)
    return list(chosen.values())


class Bench:
    """The build, the recorded runs and the oracles."""

    def __init__(self, folder: str, run: str | None) -> None:
        self.folder = os.path.join(os.path.abspath(folder), "mutants")
        os.makedirs(self.folder, exist_ok=True)
        self.build = Build(TREE, self.folder)
        self.run = os.path.abspath(run) if run else self.recorded()
        self.plain = ""
        self.oracles = list(self.all_oracles())

    def recorded(self) -> str:
        """A run of the set check, recorded once."""
        top = os.path.join(self.folder, "run")
        if not os.path.exists(os.path.join(top, "results.jsonl")):
            shutil.rmtree(top, ignore_errors=True)
            done = process.run([self.build.binary, "run", "--set=check", "-o", top])
            if done.returncode not in (0, 1):
                raise status.Missing("`jitproof run` exits with %d: name a recorded run" %
                                     done.returncode)
        return top

    def tampered(self, number: int) -> str:
        """A copy of the run with an alteration of each case."""
        top = os.path.join(self.folder, "tampered.%d" % number)
        if not os.path.exists(top):
            scratch = top + ".new"
            shutil.rmtree(scratch, ignore_errors=True)
            process.must([sys.executable, os.path.join(TREE, "ci/tamper"), "--jitproof",
                          self.build.binary, "--make", scratch, "--seed", str(number), self.run])
            os.rename(scratch, top)
        return top

    def all_oracles(self) -> Iterator[oracles.Oracle]:
        yield oracles.Judged("run", self.run)
        for number in range(TAMPERED):
            yield oracles.Judged("tampered.%d" % number, self.tampered(number))
        yield oracles.Files(self.run)
        yield oracles.Injected(self.run, os.path.join(self.folder, "inject"))
        main = self.build.object_of("harness/command/main.c")
        # What watches is not asked: it would depend on the machine.
        units = [file for file in sorted(glob.glob("harness/selftest/test_*.c", root_dir=TREE))
                 if "harness/capture/" not in files.read(os.path.join(TREE, file))]
        self.build.make(*map(self.build.object_of, units))
        for file in units:
            yield oracles.Unit(TREE, file, self.build.linker, main, self.build.object_of(file))
        for name, folders in SCRIPTS:
            if os.path.exists(os.path.join(TREE, "harness/selftest", name)):
                yield oracles.Script(TREE, name, folders)

    def expect(self, oracle: oracles.Oracle) -> None:
        """What it says of the unchanged program, from the last time if that is the same."""
        if oracle.expected:
            return
        if not self.plain:
            self.plain = os.path.join(self.folder, "plain")
            os.makedirs(self.plain, exist_ok=True)
            shutil.copy(self.build.binary, self.plain)
            link_adapters(self.plain)
            files.write(os.path.join(self.plain, "objects"), " ".join(self.build.objects))
        binary = os.path.join(self.plain, "jitproof")
        version = oracles.digest(files.read_bytes(binary), self.run.encode(),
                                 files.read_bytes(oracles.__file__))
        path = os.path.join(self.folder, "expected." + oracle.name)
        if os.path.exists(path):
            known = json.loads(files.read(path))
            if known[0] == version:
                oracle.expected = oracles.Done(known[1], known[2])
                return
        oracle.learn(binary, self.plain)
        assert oracle.expected
        files.write(path, json.dumps([version, *oracle.expected]))

    def try_one(self, mutant: Mutant, scratch: str, quick: bool, go_on: bool) -> dict[str, Any]:
        """@quick: without the Python tests; @go_on: these alone, which come last."""
        path = os.path.join(TREE, mutant.file)
        lines = files.read(path).split("\n")
        if lines[mutant.line] != mutant.old:
            raise status.Unusable("%s changed while it was tried" % mutant.file)
        lines[mutant.line] = mutant.new
        made, same = self.build.compile(mutant.file, "\n".join(lines), scratch)
        if not made or same:
            return {"state": "same" if made else "no C", "by": ""}
        binary = self.build.link(mutant.file, made, scratch)
        for oracle in self.oracles:
            slow = isinstance(oracle, oracles.Script)
            if not oracle.applies(mutant.file) or (slow and quick) or (go_on and not slow):
                continue
            self.expect(oracle)
            if oracle.kills(binary, scratch):
                return {"state": "killed", "by": oracle.name}
        return {"state": "quick" if quick else "survived", "by": ""}


def link_adapters(folder: str) -> None:
    path = os.path.join(folder, "profiler")
    if not os.path.lexists(path):
        os.symlink(os.path.join(TREE, "harness/profiler"), path)


class Progress:
    """O/mutants/progress: a line for each mutant that was tried."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, "progress")
        self.of: dict[tuple[str, ...], dict[str, Any]] = {}
        if os.path.exists(self.path):
            for line in files.read(self.path).splitlines():
                one = json.loads(line)
                self.of[tuple(one["key"])] = one

    def add(self, mutant: Mutant, result: dict[str, Any]) -> None:
        one = {"key": mutant.key(), "operator": mutant.operator, **result}
        self.of[mutant.key()] = one
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(one) + "\n")


def stale(every: list[Mutant], known: dict[survivors.Key, str]) -> list[survivors.Key]:
    there = {one.key() for one in every}
    return [key for key in known if key not in there]


def summary(chosen: list[Mutant], progress: Progress, known: dict[survivors.Key, str]) -> int:
    tried = [progress.of[one.key()] for one in chosen
             if one.key() in progress.of and one.key() not in known]
    states = collections.Counter(one["state"] for one in tried)
    by = collections.Counter(one["by"] for one in tried if one["state"] == "killed")
    left = [one for one in chosen if progress.of.get(one.key(), {}).get("state") == "survived" and
            one.key() not in known]
    for one in left:
        print("survived: %s:%d %s()\n\t%s\n\t%s" % (one.file, one.line + 1, one.function,
                                                    one.old.strip(), one.new.strip()))
    made = states["killed"] + states["survived"]
    explained = sum(one.key() in known for one in chosen)
    print("%d mutants: %d killed, %d explained, %d survived; %d more have the same code, %d are "
          "no C, %d not tried to the end" % (
              made + explained, states["killed"], explained, len(left), states["same"],
              states["no C"], len(chosen) - explained - made - states["same"] - states["no C"]))
    print("killed by: " + ", ".join("%s %d" % one for one in by.most_common()))
    return len(left)


HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-only -->
# What our own tests notice

`make mutants` changes one line of the validators, the judge, the model, the unwinder, the injector
or the readers, and asks whether recorded runs are still judged byte for byte as before, and whether
the tests pass. *Explained*: [survivors](mutants/survivors) says why nobody can notice it. *Not to
the end*: no recorded run and no test in C notices it; the Python tests were not asked yet.

| folder | made | killed | explained | survived | not to the end |
|---|---|---|---|---|---|
"""


def table(chosen: list[Mutant], progress: Progress, known: dict[survivors.Key, str]) -> str:
    rows: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    left = []
    for one in chosen:
        state = "explained" if one.key() in known else \
            progress.of.get(one.key(), {}).get("state", "")
        if state in ("killed", "explained", "survived", "quick"):
            for row in (os.path.dirname(one.file), "all"):
                rows[row].update((state, "made"))
        if state in ("survived", "quick"):
            left.append("* `%s` %s(): `%s` became `%s`%s" % (
                *one.key(), "" if state == "survived" else ", not to the end"))
    names = sorted(rows, key=lambda row: (row == "all", row))
    states = ("made", "killed", "explained", "survived", "quick")
    lines = ["| %s | %s |" % (name, " | ".join(str(rows[name][state]) for state in states))
             for name in names]
    return "%s%s\n\n## Not explained\n\n%s\n" % (
        HEAD, "\n".join(lines), "\n".join(sorted(left)))


def main_of(options: argparse.Namespace) -> int:
    every, known = mutants(TREE), survivors.read(TREE)
    gone = stale(every, known)
    for file, function, old, _ in gone:
        print("%s: %s %s(): no such mutant any more: %s" % (survivors.PATH, file, function, old))
    pool = [one for one in every if all(word in "%s:%d" % (one.file, one.line + 1)
                                        for word in options.only)]
    chosen = choose(pool, options.count, 1)
    if options.random:
        seed = options.seed if options.seed is not None else random.randrange(2**32)
        print("seed %d" % seed)
        chosen = random.Random(seed).sample(chosen, options.random)
    folder = os.path.join(os.path.abspath(options.build), "mutants")
    os.makedirs(folder, exist_ok=True)
    progress = Progress(folder)
    if options.again:
        progress.of = {key: one for key, one in progress.of.items() if one["state"] != "survived"}
    half = {key for key, one in progress.of.items() if one["state"] == "quick"}
    waiting = [one for one in chosen if one.key() not in known and (
        one.key() not in progress.of or options.random or
        (one.key() in half and not options.quick))]
    if waiting and not options.report:
        bench = Bench(options.build, options.run)
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
            link_adapters(scratch)
            for number, one in enumerate(waiting):
                if options.seconds and time.monotonic() - begin > options.seconds:
                    break
                go_on = one.key() in half and not options.random
                progress.add(one, bench.try_one(one, scratch, options.quick, go_on))
                if sys.stderr.isatty():
                    print("\r%d of %d" % (number + 1, len(waiting)), end="", file=sys.stderr)
    left = summary(chosen, progress, known)
    if options.output:
        files.write(options.output, table(chosen, progress, known))
    return 1 if left or gone else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--build", default="build", metavar="O")
    parser.add_argument("--run", metavar="DIR", help="a recorded run; else it records one")
    parser.add_argument("-n", "--count", type=int, default=400, help="so many, the same ones "
                        "each time (400)")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="only N of these")
    parser.add_argument("--seed", type=int, help="which N; without it, a new one is printed")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="only where FILE:LINE holds the text")
    parser.add_argument("--seconds", type=float, default=0, help="stop after so long")
    parser.add_argument("--quick", action="store_true", help="without the Python tests, which the "
                        "next run without it goes on with")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("-o", "--output", metavar="FILE", help="the table goes there")
    parser.add_argument("--report", action="store_true", help="try none, show what is known")
    return status.of("mutants", main_of)(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
