# SPDX-License-Identifier: GPL-2.0-only
"""The build, the recorded runs, and all that is asked about a mutant."""

import glob
import json
import os
import shutil
import tempfile
import time
from typing import Any, Callable, Iterator

from ci.base import files, process, status
from ci.mutants import oracles
from ci.mutants.build import Build
from ci.mutants.operators import Mutant
from ci.mutants.scripts import Script
from ci.mutants.traced import Traced

FIXTURES = "validators/fixtures"
# Each fixture altered in so many ways.
TAMPERED = 12
# The Python tests that record nothing, or whose result depends on no figure of it.
SCRIPTS = ("validators/test_accounts.py", "command/test_judge_file.py",
           "explain/test_explain_names.py", "explain/test_explain.py",
           "format/observations/test_observations.py",
           "format/perfdata/test_perf_folder.py", "validators/test_processes.py",
           "model/files/test_files.py", "explain/test_labelled.py",
           "format/test_conformance.py", "command/test_judge_names.py",
           "hostile/test_other_users.py", "format/perfdata/test_cut_short.py",
           "explain/test_explain_truth.py", "command/test_judge_truth.py",
           "validators/test_tasks.py", "validators/test_jit_order.py",
           "format/perfdata/test_byte_order.py", "inject/test_inject.py",
           "run/test_golden.py", "validators/test_gated_capture.py",
           "hostile/test_hostile.py", "validators/test_jitdump_records.py",
           "validators/test_record_rules.py", "validators/test_sample_rules.py",
           "validators/test_stated.py", "validators/test_fixtures.py",
           "validators/test_fixtures_controls.py", "validators/test_fixtures_evidence.py",
           "validators/test_fixtures_maps.py", "validators/test_fixtures_stacks.py")


class Bench:
    def __init__(self, tree: str, build: str, run: str | None) -> None:
        self.tree, self.folder = tree, os.path.join(build, "mutants")
        self.build = Build(tree, build)
        self.run = os.path.abspath(run) if run else self.recorded()
        self.traced: Traced | None = None
        self.plain = os.path.join(self.folder, "plain")
        os.makedirs(self.plain, exist_ok=True)
        self.build.link("", "", self.plain)
        self.link_adapters(self.plain)
        self.version = oracles.digest(
            files.read_bytes(os.path.join(self.plain, "jitproof")), self.run.encode())
        self.oracles = {one.name: one for one in self.all_oracles()}

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
        top = os.path.join(self.tree, FIXTURES)
        yield oracles.Judged("fixtures", top)
        fixtures = list(cases(top))
        for name in fixtures:
            yield from self.of_file(name, os.path.join(top, name, "perf.data"))
            elf = os.path.join(top, "anon", "elf")
            yield oracles.File("stacks " + name, ["judge", "--json", "--unwind", "--elf", elf],
                               os.path.join(top, name, "perf.data"))
        for number in range(TAMPERED):
            yield oracles.Tampered(number, self.folder, self.tree, top)
        yield from self.units()
        for name in cases(self.run):
            yield oracles.Judged("run " + name, os.path.join(self.run, name), slow=True)
        for path in oracles.captures(self.run, "perf.data", 12):
            yield from self.of_file("run " + os.path.relpath(os.path.dirname(path), self.run), path)
        for path in oracles.captures(self.run, "injected.data", 12):
            folder = os.path.dirname(path)
            for mode in ("cut", "keep", "strip"):
                yield oracles.Injected(
                    "inject %s %s" % (mode, os.path.relpath(folder, self.run)), mode,
                    os.path.join(folder, "perf.data"), os.path.join(self.folder, "inject"))
        for name in SCRIPTS:
            yield Script(self.tree, name)

    def of_file(self, name: str, path: str) -> Iterator[oracles.Oracle]:
        for command in ("judge", "explain"):
            yield oracles.File("%s %s" % (command, name), [command, "--json"], path)

    def units(self) -> Iterator[oracles.Oracle]:
        # What watches is not asked: it would depend on the machine.
        units = [file for file in sorted(glob.glob("harness/selftest/**/test_*.c",
                                                   root_dir=self.tree, recursive=True))
                 if "harness/capture/" not in files.read(os.path.join(self.tree, file))]
        self.build.make(*map(self.build.object_of, units))
        for file in units:
            yield oracles.Unit(self.tree, file, self.build.linker, "/harness/command/main.o",
                               self.build.object_of(file))

    def trace(self, run: Callable[[Callable[[str], None], list[str]], object]) -> None:
        """Which question runs which line: run() calls a function with each of some names."""
        self.traced = Traced(self.tree, self.folder)
        self.traced.make()
        run(self.note, [name for name, one in self.oracles.items()
                        if not os.path.exists(self.noted(one))])
        for name, one in self.oracles.items():
            if isinstance(one, Script):
                self.traced.load_script(name)
            else:
                self.traced.load(name)

    def noted(self, oracle: oracles.Oracle) -> str:
        """The last file that tracing it writes."""
        assert self.traced
        path = self.traced.path(oracle.name)
        return os.path.join(path, "done") if isinstance(oracle, Script) else path + ".seconds"

    def note(self, name: str) -> None:
        assert self.traced
        oracle, path = self.oracles[name], self.traced.path(name)
        if isinstance(oracle, Script):
            os.makedirs(path, exist_ok=True)
            oracle.trace(self.traced.binary, path)
            files.write(self.noted(oracle), "")
            return
        self.expect(oracle)
        with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
            shutil.copy(os.path.join(os.path.dirname(self.traced.binary), "objects"), scratch)
            self.link_adapters(scratch)
            binary = shutil.copy(self.traced.binary, scratch)
            if os.path.exists(path):
                os.unlink(path)
            os.environ["MUTANTS_TRACE"] = path
            start = time.monotonic()
            oracle.ask(binary, scratch, 600)
            seconds = time.monotonic() - start
            del os.environ["MUTANTS_TRACE"]
        files.write(self.noted(oracle), "%.3f" % seconds)

    def expect(self, oracle: oracles.Oracle) -> None:
        """What it says of the unchanged program, from the last time if that is the same."""
        if oracle.expected:
            return
        binary = oracle.plain = os.path.join(self.plain, "jitproof")
        if isinstance(oracle, Script):
            oracle.learn(binary, self.plain)
            return
        version = oracles.digest(self.version.encode(), files.read_bytes(
            oracle.built if isinstance(oracle, oracles.Unit) else oracles.__file__))
        path = os.path.join(self.folder, "expected", oracle.name.replace("/", "%"))
        if os.path.exists(path):
            known = json.loads(files.read(path))
            if known[0] == version:
                oracle.expected = oracles.Done(known[1], known[2])
                return
        with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
            for name in ("objects", "jitproof", "profiler"):
                os.symlink(os.path.join(self.plain, name), os.path.join(scratch, name))
            oracle.learn(binary, scratch)
            assert oracle.expected
            os.makedirs(os.path.dirname(path), exist_ok=True)
            files.write(path + str(os.getpid()), json.dumps([version, *oracle.expected]))
            os.rename(path + str(os.getpid()), path)

    def link_adapters(self, folder: str) -> None:
        path = os.path.join(folder, "profiler")
        if not os.path.lexists(path):
            os.symlink(os.path.join(self.tree, "harness/profiler"), path)

    def questions(self, mutant: Mutant, first: str, slow: bool | None,
                  most: float) -> Iterator[oracles.Oracle]:
        """Those that run the line, fastest first; untraced, all that could. @first: who noticed
        it the last time; @slow: only such ones; @most: of the slow ones the fastest, which take
        so many seconds together (0: all)."""
        name, _, method = first.partition(" ") if "test_" in first else (first, "", "")
        before = self.oracles.get(name)
        if before and slow in (None, before.slow):
            if isinstance(before, Script):
                before.methods = [method] if method else []
            yield before
        if not self.traced:
            yield from (one for one in self.oracles.values() if one.name != name and
                        one.applies(mutant) and not isinstance(one, Script))
            return
        taken, methods = 0.0, dict[str, list[str]]()
        for seconds, key in self.traced.running(mutant.file, mutant.line + 1):
            question, _, method = key.partition(" ") if "test_" in key else (key, "", "")
            if slow not in (None, self.oracles[question].slow):
                continue
            taken += seconds if slow else 0
            if most and taken > most:
                break
            if method:
                methods.setdefault(question, []).append(method)
            elif question != name:
                yield self.oracles[question]
        for question, some in methods.items():
            script = self.oracles[question]
            assert isinstance(script, Script)
            script.methods = some
            yield script

    def try_one(self, mutant: Mutant, scratch: str, first: str, seconds: float,
                slow: bool | None = None, most: float = 0) -> dict[str, Any]:
        """@first, @slow, @most: see questions(); @seconds: no more is asked after so long (0: all
        are), and it stays undecided, as it does while only the fast ones were asked."""
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
        asked = 0
        for oracle in self.questions(mutant, first, slow, most):
            if asked and seconds and time.monotonic() - begin > seconds:
                return {"state": "undecided", "by": ""}
            self.expect(oracle)
            asked += 1
            by = oracle.killer(binary, scratch)
            if by:
                return {"state": "killed", "by": by, "asked": asked}
        return {"state": "survived" if self.traced and slow is not False else "undecided",
                "by": "", "asked": asked}


def cases(top: str) -> Iterator[str]:
    """Those of a run directory that were recorded."""
    for folder, _, names in sorted(os.walk(top)):
        if "case" in names and "perf.data" in names:
            yield os.path.relpath(folder, top)
