# SPDX-License-Identifier: GPL-2.0-only
"""The build, the recorded runs, and all that is asked about a mutant."""

from __future__ import annotations

import glob
import json
import os
import shutil
import time
from typing import Any, Iterator

from ci.base import files, process, status
from ci.mutants import oracles
from ci.mutants.build import Build
from ci.mutants.operators import Mutant
from ci.mutants.traced import Traced

FIXTURES = "validators/fixtures"
# Each fixture altered in so many ways.
TAMPERED = 12
# The Python tests that record nothing, or whose result depends on no figure of it.
SCRIPTS = ("accounts", "judge_file", "explain_names", "explain", "observations", "perf_folder",
           "images", "files", "labelled", "conformance", "names", "neighbours", "cut_short",
           "explain_truth", "judge_truth", "identity", "other_order", "inject", "golden", "gated",
           "hostile", "validators")


class Bench:
    def __init__(self, tree: str, folder: str, run: str | None) -> None:
        self.tree, self.folder = tree, folder
        self.build = Build(tree, folder)
        self.traced = Traced(tree, folder)
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

    def all_oracles(self) -> Iterator[oracles.Oracle]:
        """The cheap ones first."""
        cases = os.path.join(self.tree, FIXTURES)
        fixtures = oracles.captures(cases, "perf.data", 99)
        yield oracles.Judged("fixtures", cases)
        yield oracles.Files("files", ["judge", "--json"], fixtures)
        elf = os.path.join(cases, "anon", "elf")
        yield oracles.Files("stacks", ["judge", "--json", "--unwind", "--elf", elf], fixtures)
        yield oracles.Files("explained", ["explain", "--json"], fixtures)
        for number in range(TAMPERED):
            yield oracles.Tampered(number, os.path.join(self.folder, "tampered.%d" % number),
                                   self.tree, cases)
        main = self.build.object_of("harness/command/main.c")
        # What watches is not asked: it would depend on the machine.
        units = [file for file in sorted(glob.glob("harness/selftest/test_*.c",
                                                   root_dir=self.tree))
                 if "harness/capture/" not in files.read(os.path.join(self.tree, file))]
        self.build.make(*map(self.build.object_of, units))
        for file in units:
            yield oracles.Unit(self.tree, file, self.build.linker, main,
                               self.build.object_of(file))
        yield oracles.Judged("run", self.run, slow=True)
        yield oracles.Injected(self.run, os.path.join(self.folder, "inject"))
        recorded = oracles.captures(self.run, "perf.data", 12)
        yield oracles.Files("run's files", ["judge", "--json"], recorded, slow=True)
        yield oracles.Files("run's causes", ["explain", "--json"], recorded, slow=True)
        for name in SCRIPTS:
            yield oracles.Script(self.tree, "test_%s.py" % name, self.traced)

    def learn(self) -> None:
        """What each says of the unchanged program: before workers ask side by side."""
        for oracle in self.oracles:
            self.expect(oracle)

    def trace(self) -> None:
        """Once: which Python test runs which line."""
        if not self.traced.of:
            self.traced.learn(["test_%s.py" % name for name in SCRIPTS])

    def expect(self, oracle: oracles.Oracle) -> None:
        """What it says of the unchanged program, from the last time if that is the same."""
        if oracle.expected:
            return
        if not self.plain:
            self.plain = os.path.join(self.folder, "plain")
            os.makedirs(self.plain, exist_ok=True)
            shutil.copy(self.build.binary, self.plain)
            self.link_adapters(self.plain)
            files.write(os.path.join(self.plain, "objects"), " ".join(self.build.objects))
        binary = oracle.plain = os.path.join(self.plain, "jitproof")
        if isinstance(oracle, oracles.Script):
            oracle.learn(binary, self.plain)
            return
        test = oracle.built if isinstance(oracle, oracles.Unit) else oracles.__file__
        version = oracles.digest(files.read_bytes(binary), self.run.encode(),
                                 files.read_bytes(test))
        path = os.path.join(self.folder, "expected." + oracle.name)
        if os.path.exists(path):
            known = json.loads(files.read(path))
            if known[0] == version:
                oracle.expected = oracles.Done(known[1], known[2])
                return
        oracle.learn(binary, self.plain)
        assert oracle.expected
        files.write(path, json.dumps([version, *oracle.expected]))

    def link_adapters(self, folder: str) -> None:
        path = os.path.join(folder, "profiler")
        if not os.path.lexists(path):
            os.symlink(os.path.join(self.tree, "harness/profiler"), path)

    def try_one(self, mutant: Mutant, scratch: str, first: str, seconds: float,
                speeds: tuple[bool, ...]) -> dict[str, Any]:
        """@first: who noticed it the last time; @seconds: no more is asked after so long (0: all
        are), and it stays undecided; @speeds: of the oracles that are asked, slow or not."""
        begin = time.monotonic()
        path = os.path.join(self.tree, mutant.file)
        lines = files.read(path).split("\n")
        if lines[mutant.line] != mutant.old:
            raise status.Unusable("%s changed while it was tried" % mutant.file)
        lines[mutant.line] = mutant.new
        made, same = self.build.compile(mutant.file, "\n".join(lines), scratch)
        if not made or same:
            return {"state": "same" if made else "no C", "by": ""}
        binary = self.build.link(mutant.file, made, scratch)
        for oracle in sorted(self.oracles, key=lambda one: one.name != first):
            if oracle.slow not in speeds or not oracle.applies(mutant):
                continue
            if seconds and time.monotonic() - begin > seconds:
                return {"state": "undecided", "by": ""}
            if oracle.kills(binary, scratch):
                return {"state": "killed", "by": oracle.name}
        return {"state": "survived" if True in speeds else "half", "by": ""}
