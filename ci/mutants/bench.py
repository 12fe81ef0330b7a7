# SPDX-License-Identifier: GPL-2.0-only
"""The build, the recorded runs, and all oracles that can notice a mutant."""

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
# Number of altered copies of each fixture.
TAMPERED = 12
# Python tests that record nothing, or whose result does not depend on recorded figures.
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
           "validators/test_stated.py", "validators/test_tampered.py",
           "validators/test_fixtures.py",
           "validators/test_fixtures_controls.py", "validators/test_fixtures_evidence.py",
           "validators/test_fixtures_maps.py", "validators/test_fixtures_stacks.py")


def split_method(key: str) -> tuple[str, str]:
    """Returns the name of an oracle, and the method of a Python test (test_NAME.py METHOD)."""
    script, separator, method = key.partition(".py ")
    return (script + ".py", method) if separator else (key, "")


class Bench:
    def __init__(self, tree: str, build: str, run: str | None) -> None:
        self.tree, self.folder = tree, os.path.join(build, "mutants")
        self.build = Build(tree, build)
        self.run = os.path.abspath(run) if run else self.record_run()
        self.traced: Traced | None = None
        self.plain = os.path.join(self.folder, "plain")
        os.makedirs(self.plain, exist_ok=True)
        self.build.link("", "", self.plain)
        self.link_adapters(self.plain)
        self.version = oracles.digest(
            files.read_bytes(os.path.join(self.plain, "jitproof")), self.run.encode())
        self.oracles = {oracle.name: oracle for oracle in self.list_oracles()}

    def record_run(self) -> str:
        """Returns a recorded run of the set check; records it at the first call."""
        top = os.path.join(self.folder, "run")
        if not os.path.exists(os.path.join(top, "results.jsonl")):
            shutil.rmtree(top, ignore_errors=True)
            result = process.run([self.build.binary, "run", "--set=check", "-o", top])
            if result.returncode not in (0, 1):
                raise status.Missing("`jitproof run` exits with %d: name a recorded run" %
                                     result.returncode)
        return top

    def list_oracles(self) -> Iterator[oracles.Oracle]:
        """Yields all oracles, cheap ones first."""
        top = os.path.join(self.tree, FIXTURES)
        yield oracles.Judged("fixtures", top)
        fixtures = list(list_cases(top))
        for name in fixtures:
            yield from self.find_file_oracles(name, os.path.join(top, name, "perf.data"))
            elf = os.path.join(top, "anon", "elf")
            yield oracles.File("stacks " + name, ["judge", "--json", "--unwind", "--elf", elf],
                               os.path.join(top, name, "perf.data"))
        for number in range(TAMPERED):
            yield oracles.Tampered(number, self.folder, self.tree, top)
        yield from self.find_unit_oracles()
        for name in list_cases(self.run):
            yield oracles.Judged("run " + name, os.path.join(self.run, name), slow=True)
        for path in oracles.list_captures(self.run, "perf.data", 12):
            case = os.path.relpath(os.path.dirname(path), self.run)
            yield from self.find_file_oracles("run " + case, path)
        for path in oracles.list_captures(self.run, "injected.data", 12):
            folder = os.path.dirname(path)
            for mode in ("cut", "keep", "strip"):
                yield oracles.Injected(
                    "inject %s %s" % (mode, os.path.relpath(folder, self.run)), mode,
                    os.path.join(folder, "perf.data"), os.path.join(self.folder, "inject"))
        for name in SCRIPTS:
            yield Script(self.tree, name)

    def find_file_oracles(self, name: str, path: str) -> Iterator[oracles.Oracle]:
        for command in ("judge", "explain"):
            yield oracles.File("%s %s" % (command, name), [command, "--json"], path)

    def find_unit_oracles(self) -> Iterator[oracles.Oracle]:
        # Tests of code that captures depend on the machine.
        units = [file for file in sorted(glob.glob("harness/selftest/**/test_*.c", recursive=True,
                                                   root_dir=self.tree))
                 if "harness/capture/" not in files.read(os.path.join(self.tree, file))]
        self.build.make(*map(self.build.find_object, units))
        for file in units:
            yield oracles.Unit(self.tree, file, self.build.linker, "/harness/command/main.o",
                               self.build.find_object(file))

    def trace_oracles(self, run: Callable[[Callable[[str], None], list[str]], object]) -> None:
        """Finds out which oracle runs which line. @run: calls a function for each of a list of
        names."""
        self.traced = Traced(self.tree, self.folder)
        self.traced.make()
        run(self.trace_oracle, [name for name, oracle in self.oracles.items()
                                if not os.path.exists(self.trace_end(oracle))])
        for name, oracle in self.oracles.items():
            if isinstance(oracle, Script):
                self.traced.load_script(name)
            else:
                self.traced.load(name)

    def trace_end(self, oracle: oracles.Oracle) -> str:
        """Returns the last file that tracing the oracle writes."""
        assert self.traced
        path = self.traced.path(oracle.name)
        return os.path.join(path, "done") if isinstance(oracle, Script) else path + ".seconds"

    def trace_oracle(self, name: str) -> None:
        assert self.traced
        oracle, path = self.oracles[name], self.traced.path(name)
        if isinstance(oracle, Script):
            os.makedirs(path, exist_ok=True)
            oracle.trace(self.traced.binary, path)
            files.write(self.trace_end(oracle), "")
            return
        self.learn_expected(oracle)
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
        files.write(self.trace_end(oracle), "%.3f" % seconds)

    def learn_expected(self, oracle: oracles.Oracle) -> None:
        """Determines the oracle's answer for the unchanged program, or reads it from the last call
        if program and run are the same."""
        if oracle.expected:
            return
        binary = oracle.plain = os.path.join(self.plain, "jitproof")
        if isinstance(oracle, Script):
            oracle.learn_expected(binary, self.plain)
            return
        version = oracles.digest(self.version.encode(), files.read_bytes(
            oracle.built if isinstance(oracle, oracles.Unit) else oracles.__file__))
        path = os.path.join(self.folder, "expected", oracle.name.replace("/", "%"))
        if os.path.exists(path):
            stored_answers = json.loads(files.read(path))
            if stored_answers[0] == version:
                oracle.expected = oracles.Done(stored_answers[1], stored_answers[2])
                return
        with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
            for name in ("objects", "jitproof", "profiler"):
                os.symlink(os.path.join(self.plain, name), os.path.join(scratch, name))
            oracle.learn_expected(binary, scratch)
            assert oracle.expected
            os.makedirs(os.path.dirname(path), exist_ok=True)
            files.write(path + str(os.getpid()), json.dumps([version, *oracle.expected]))
            os.rename(path + str(os.getpid()), path)

    def link_adapters(self, folder: str) -> None:
        path = os.path.join(folder, "profiler")
        if not os.path.lexists(path):
            os.symlink(os.path.join(self.tree, "harness/profiler"), path)

    def find_oracles(self, mutant: Mutant, first: str, slow: bool | None,
                     limit: float) -> Iterator[oracles.Oracle]:
        """Yields oracles that run the mutant's line, fastest first; without traces, all oracles
        that might notice it. @first: the oracle that noticed it the last time. @slow: whether to
        yield only slow or only fast oracles; None: both. @most: limits the slow oracles to the
        fastest, which take so many seconds together; 0: no limit."""
        name, method = split_method(first)
        previous = self.oracles.get(name)
        if previous and slow in (None, previous.slow):
            if isinstance(previous, Script):
                previous.methods = [method] if method else []
            yield previous
        if not self.traced:
            yield from (oracle for oracle in self.oracles.values() if oracle.name != name and
                        oracle.can_notice(mutant) and not isinstance(oracle, Script))
            return
        total, methods = 0.0, dict[str, list[str]]()
        for seconds, key in self.traced.find_running(mutant.file, mutant.line + 1):
            question, method = split_method(key)
            if slow not in (None, self.oracles[question].slow):
                continue
            total += seconds if slow else 0
            if limit and total > limit:
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

    def try_mutant(self, mutant: Mutant, scratch: str, first: str, seconds: float,
                   slow: bool | None = None, limit: float = 0) -> dict[str, Any]:
        """Tries a mutant. @first, @slow, @most: see find_oracles(). @seconds: time after which it
        stays undecided (0: no limit). It also stays undecided if only fast oracles were used."""
        begin = time.monotonic()
        path = os.path.join(self.tree, mutant.file)
        lines = files.read(path).split("\n")
        if lines[mutant.line] != mutant.old:
            raise status.Unusable("%s changed while it was tried" % mutant.file)
        lines[mutant.line] = mutant.new
        compiled, is_equal = self.build.compile(mutant.file, "\n".join(lines), scratch)
        if not compiled or is_equal:
            return {"state": "same" if compiled else "no C", "by": ""}
        binary = self.build.link(mutant.file, compiled, scratch)
        nr_asked = 0
        for oracle in self.find_oracles(mutant, first, slow, limit):
            if nr_asked and seconds and time.monotonic() - begin > seconds:
                return {"state": "undecided", "by": ""}
            self.learn_expected(oracle)
            nr_asked += 1
            killer = oracle.find_killer(binary, scratch)
            if killer:
                return {"state": "killed", "by": killer, "asked": nr_asked}
        return {"state": "survived" if self.traced and slow is not False else "undecided",
                "by": "", "asked": nr_asked}


def list_cases(top: str) -> Iterator[str]:
    """Yields the recorded cases of a run directory."""
    for folder, _, names in sorted(os.walk(top)):
        if "case" in names and "perf.data" in names:
            yield os.path.relpath(folder, top)
