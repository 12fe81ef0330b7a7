# SPDX-License-Identifier: GPL-2.0-only
"""Runs a crossing as a bare case and reads what jitproof found."""

import contextlib
import dataclasses
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from typing import Any, Iterator, Mapping, Sequence

from ci.base import files, jsonl, process
from ci.hunt.line import SECONDS, format_line, name_reader
from ci.hunt.space import INJECT, PERF, Crossing

REJECTED = "rejected"  # no such case: the outcome of a case line that jitproof refuses
ACCEPTED = "accepted"  # the outcome of a case line that jitproof does not refuse, and has not run
TIMEOUT = "TIMEOUT"  # the outcome of a run that takes too long
LATE = "late"  # the outcome if the workload had no time to get ready
# Causes of names whose share depends on how often the workload replaced code while it was watched.
BY_CHANCE = frozenset({"stale", "later", "overlapped"})
NUMBER = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+(?:\.\d+)?")
# A command of perf crashed, or exited with 0 and wrote a file that nobody reads: cases allow both
# as tool-crash. A failed assertion has its source file in place of the signal.
CRASH = re.compile(
    r"\b(?P<command>inject|record) (?:was killed by (?P<signal>signal) \d+"
    r"(?:.*?assertion failed at (?P<file>\S+\.c):\d+)?|"
    r"ended with \d+ and wrote a file whose records do not follow each (?P<unreadable>other))")
OTHER_CROSSING = "a file of another crossing"  # which perf record -a saw
# An ERROR or TIMEOUT with one of these reasons is no sign of a defect of a tool.
LACKS_EVIDENCE = ("too little evidence", "nothing was checked",
                  " records (mappings, processes, names) were lost",
                  # Crossings in pid namespaces use the same pids, and share /tmp.
                  " is there already, from another process",
                  OTHER_CROSSING, " did not end within ", " did not answer in time")
FINDING = re.compile(r"\(results/FINDINGS\.md, ([\w.-]+)\)")  # in a reason for an ERROR
EXCUSED = re.compile(r"\(((?:perf|kernel)\.[\w-]+)\)$")  # at the end of a reason for an exception
UNIT = re.compile(r"^([\w.]+): N(?: of N)? with cause ([^,;]+)"
                  r"(?:, which nothing allows|; allowed .*)$")


@dataclasses.dataclass(frozen=True)
class Signature:
    """A failure without its figures. Failures with equal signatures form one cluster."""
    metric: str
    cause: str
    tools: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.metric, self.cause, self.tools)))


Metrics = Mapping[str, Mapping[str, float]]


@dataclasses.dataclass
class Trial:
    """One run of a crossing. @merged: if another injector merged the recording, the metrics of
    the same recording merged by our own injector. @by_chance: first words of metrics with a cause
    of BY_CHANCE. @incomparable: metrics that vary from run to run. @excused: exceptions whose
    excuse names a finding, which is the cause. @kept: the folder with the files of the run, "" if
    they were removed."""
    crossing: Crossing
    outcome: str
    why: str
    signatures: frozenset[Signature]
    metrics: Metrics = dataclasses.field(default_factory=dict)
    merged: Metrics | None = None
    by_chance: frozenset[str] = frozenset()
    incomparable: frozenset[str] = frozenset()
    excused: frozenset[Signature] = frozenset()
    kept: str = ""

    @property
    def is_judged(self) -> bool:
        """Returns whether the run had a verdict, or a tool wrote what nobody reads."""
        return self.outcome in ("PASS", "FAIL", "CRASH") or any(
            one.cause.startswith("tool-crash") for one in self.signatures)

    @property
    def lacks_evidence(self) -> bool:
        return self.outcome in ("ERROR", "TIMEOUT") and any(
            text in self.why for text in LACKS_EVIDENCE)

    @property
    def is_refused(self) -> bool:
        return self.outcome in (REJECTED, "SKIP")


def remove_figures(text: str) -> str:
    """Returns @text without addresses, numbers and paths, as a part of a signature."""
    text = re.sub(r"(/[\w.+-]+)+/?", "PATH", text)
    return NUMBER.sub("N", text).strip()


def remove_options(text: str) -> str:
    """Returns @text without the options of a command, with which it would differ each time."""
    return re.sub(r" --?[\w=,:.-]+", "", text)


def list_readers(result: dict[str, Any], cause: str) -> list[str]:
    """Returns the readers that showed a sample otherwise, for @cause if they state it."""
    differ = [one["reader"] for one in result.get("readers", ()) if one["answer"] == "differs"]
    stating = [name for name in differ if any(
        cause in account for title, account in result.get("books", {}).items()
        if title.startswith("shown %s " % name))]
    return sorted({*(stating or differ)})


def find_signatures(outcome: str, why: str, tools: str,
                    result: dict[str, Any] | None = None) -> frozenset[Signature]:
    """Returns the signatures of a result: one for each line of @why that states a failure. The
    signature of a failure in reading has the readers that failed in place of the recording tool."""
    if outcome in ("PASS", "SKIP", "XFAIL", REJECTED, LATE):
        return frozenset()
    found = set()
    for line in filter(None, why.split("\n")):
        if line.startswith(" "):
            continue  # an indented line explains the line before
        match = UNIT.match(remove_figures(line))
        crash = CRASH.search(line)
        if not match and crash:
            reason = "unreadable" if crash["unreadable"] else crash["file"] or crash["signal"]
            found.add(Signature(crash["command"], "tool-crash (%s)" % reason, tools))
            continue
        if not match:
            finding = FINDING.search(line)
            found.add(Signature(outcome, finding[1] if finding else remove_figures(line)[:120],
                                tools))
            continue
        metric, cause = match.groups()
        readers = list_readers(result or {}, cause) if metric.startswith("shown.") else []
        found.update(Signature(metric, cause, tool) for tool in readers or [tools])
    return frozenset(found or {Signature(outcome, "", tools)})


class Runner:
    """Runs cases with one jitproof, below @folder; @perfs: path by version. @kept: the folder that
    keeps the files of runs that neither passed nor were refused; "": none are kept."""

    def __init__(self, jitproof: str, folder: str, perfs: Mapping[str, str],
                 kept: str = "") -> None:
        self.jitproof, self.folder, self.perfs = os.path.abspath(jitproof), folder, perfs
        self.kept = kept
        self.running: set[subprocess.Popen[str]] = set()
        for version, path in perfs.items():
            self._add_reader(version, path)

    def _readers(self) -> str:
        return os.path.join(self.folder, "perfs")

    def _add_reader(self, version: str, path: str) -> None:
        """Makes a perf one of those that read each recording."""
        program = os.path.join(self._readers(), version, "perf")
        os.makedirs(os.path.dirname(program))
        files.write(program, '#!/bin/sh\nexec %s "$@"\n' % shlex.quote(path))
        os.chmod(program, 0o755)

    def environment(self, crossing: Crossing) -> dict[str, str]:
        """Returns the variables that name the perf of @crossing, and those that read."""
        if not self.perfs:
            return {**os.environ}
        perf = self.perfs.get(crossing.get(PERF, ""), next(iter(self.perfs.values())))
        return {**os.environ, "JITPROOF_PERF": perf, "JITPROOF_PERFS": self._readers()}

    @contextlib.contextmanager
    def _define(self, line: str) -> Iterator[str]:
        """Makes a folder for a run whose folder `expected` has the case @line."""
        place = tempfile.mkdtemp(dir=self.folder)
        os.chmod(place, 0o755)
        try:
            os.mkdir(os.path.join(place, "expected"))
            files.write(os.path.join(place, "expected", "hunt"), line + "\n")
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def check(self, crossing: Crossing) -> Trial:
        """Asks jitproof whether it accepts the case line of @crossing, without running it."""
        with self._define(format_line(crossing)) as place:
            result = process.run([self.jitproof, "list", "--expected",
                                  os.path.join(place, "expected")])
        outcome = REJECTED if result.returncode else ACCEPTED
        return Trial(crossing, outcome, remove_prefix(result.stderr), frozenset())

    def run(self, crossing: Crossing, seed: int) -> Trial:
        """Runs @crossing once."""
        with self._define(format_line(crossing)) as place:
            trial = self._run_in(place, crossing, seed)
            if self.kept and trial.outcome not in ("PASS", "SKIP", REJECTED):
                trial.kept = os.path.join(self.kept, os.path.basename(place))
                shutil.copytree(place, trial.kept, symlinks=True)
            return trial

    def _run_session(self, command: Sequence[str], environment: Mapping[str, str]) \
            -> "subprocess.CompletedProcess[str]":
        """Runs @command in a session of its own: the scheduler then shares the CPUs among the
        crossings, not among their threads (sched_autogroup_enabled). Raises TimeoutExpired."""
        with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                              errors="replace", start_new_session=True) as child:
            self.running.add(child)
            try:
                output, errors = child.communicate(timeout=SECONDS * 10)
            finally:
                child.kill()
                self.running.discard(child)
        return subprocess.CompletedProcess(command, child.returncode, output, errors)

    def stop(self) -> None:
        """Ends all running crossings."""
        for child in [*self.running]:
            child.terminate()

    def _run_in(self, place: str, crossing: Crossing, seed: int) -> Trial:
        expected, out = os.path.join(place, "expected"), os.path.join(place, "run")
        command = [self.jitproof, "run", "--readers", name_reader(crossing), "--expected", expected,
                   "--seed=%d" % seed, "-o", out, "hunt/hunt"]
        try:
            result = self._run_session(command, self.environment(crossing))
        except subprocess.TimeoutExpired:
            return Trial(crossing, TIMEOUT, "", frozenset({Signature(TIMEOUT, "of the run")}))
        results = os.path.join(out, "results.jsonl")
        if not os.path.exists(results):
            why = remove_prefix(result.stderr or result.stdout)
            if result.returncode in (2, 99):
                return Trial(crossing, REJECTED, why, frozenset())
            return Trial(crossing, "BROKEN", why, frozenset(
                {Signature("BROKEN", "status %d" % result.returncode)}))
        trial = make_trial(crossing, read_result(results))
        if {*re.findall(re.escape(self.folder) + r"/tmp\w+", trial.why)} - {place}:
            trial.why += " (%s)" % OTHER_CROSSING
        recording = os.path.join(out, "hunt/hunt/perf.data")
        # `jitproof inject` takes one file, and no folder.
        if trial.outcome == "PASS" and crossing.get(INJECT) == "perf" and os.path.isfile(recording):
            trial.merged = self._merge_again(os.path.join(out, "hunt/hunt"),
                                             os.path.join(place, "merged"))
        return trial

    def _merge_again(self, case: str, copy: str) -> Metrics:
        """Merges the recording of @case by our own inject, and judges that. Returns the metrics;
        none if that failed."""
        shutil.copytree(case, copy, symlinks=True, ignore=shutil.ignore_patterns(*MERGED))
        definition = os.path.join(copy, "case")
        files.write(definition, re.sub(r"\binject=\S+", "inject=cut", files.read(definition)))
        injected = os.path.join(copy, "injected.data")
        process.run([self.jitproof, "inject", "-i", os.path.join(copy, "perf.data"), "-o",
                     injected])
        if os.path.exists(injected + ".jit"):
            os.rename(injected + ".jit", os.path.join(copy, "jit"))
        results = os.path.join(copy, "results")
        process.run([self.jitproof, "judge", "--results", results, copy])
        return read_result(results)["metrics"] if os.path.exists(results) else {}


# Files in a case's folder that an inject and the readers of its output write.
MERGED = ("injected.data", "jitted-*", "inject.txt", "shown", "ktap.txt")


def read_result(path: str) -> dict[str, Any]:
    return next(line for _, line in jsonl.read(path))


def remove_prefix(text: str) -> str:
    """Returns the first line of an error, without the file that only this run had."""
    return re.sub(r"^jitproof \w+: (\S+:\d+: )?", "", text.strip().split("\n")[0])


def make_trial(crossing: Crossing, result: dict[str, Any]) -> Trial:
    outcome, why = result["outcome"], result["why"]
    if "before it was ready" in why:  # a workload that refuses its options ends at once
        outcome = LATE if outcome == TIMEOUT else REJECTED
    tools = "perf " + crossing[PERF] if PERF in crossing else ""
    return Trial(crossing, outcome, why, find_signatures(outcome, why, tools, result),
                 result["metrics"], excused=frozenset(
                     Signature(one["metric"], finding, tools)
                     for one in result.get("exceptions", ())
                     for finding in EXCUSED.findall(one.get("reason", ""))), by_chance=frozenset(
                     one["metric"].split(".")[0] for one in result.get("exceptions", ())
                     if one["cause"] in BY_CHANCE))
