# SPDX-License-Identifier: GPL-2.0-only
"""Runs a crossing as a bare case and reads what jitproof found."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import tempfile
from typing import Any, Mapping

from ci.base import files, jsonl, process
from ci.hunt.line import SECONDS, format_line
from ci.hunt.space import PERF, Crossing

REJECTED = "rejected"  # no such case: the outcome of a case line that jitproof refuses
NUMBER = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+(?:\.\d+)?")
UNIT = re.compile(r"^([\w.]+): N with cause (.+), which nothing allows$")


@dataclasses.dataclass(frozen=True)
class Signature:
    """What a failure looks like, without figures. Failures with one signature are one cluster."""
    metric: str
    cause: str
    tools: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.metric, self.cause, self.tools)))


@dataclasses.dataclass
class Trial:
    """One run of a crossing."""
    crossing: Crossing
    outcome: str
    why: str
    signatures: frozenset[Signature]
    metrics: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)

    @property
    def is_judged(self) -> bool:
        return self.outcome in ("PASS", "FAIL", "CRASH")

    @property
    def is_refused(self) -> bool:
        return self.outcome in (REJECTED, "SKIP")


def remove_figures(text: str) -> str:
    """Returns @text without addresses, numbers and paths, as a part of a signature."""
    text = re.sub(r"(/[\w.+-]+)+/?", "PATH", text)
    return NUMBER.sub("N", text).strip()


def find_signatures(outcome: str, why: str, tools: str) -> frozenset[Signature]:
    """Returns the signatures of a result: one for each line of @why that states a failure."""
    if outcome in ("PASS", "SKIP", REJECTED):
        return frozenset()
    found = set()
    for line in filter(None, why.split("\n")):
        if line.startswith(" "):
            continue  # explains the line before
        match = UNIT.match(remove_figures(line))
        found.add(Signature(match.group(1), match.group(2), tools) if match else
                  Signature(outcome, remove_figures(line)[:120], tools))
    return frozenset(found or {Signature(outcome, "", tools)})


class Runner:
    """Runs cases with one jitproof, below @folder; @perfs: path by version."""

    def __init__(self, jitproof: str, folder: str, perfs: Mapping[str, str]) -> None:
        self.jitproof, self.folder, self.perfs = os.path.abspath(jitproof), folder, perfs

    def environment(self, crossing: Crossing) -> dict[str, str]:
        perf = self.perfs.get(crossing.get(PERF, ""))
        return {**os.environ, **({"JITPROOF_PERF": perf} if perf else {})}

    def run(self, crossing: Crossing, seed: int) -> Trial:
        """Runs @crossing once."""
        place = tempfile.mkdtemp(dir=self.folder)
        os.chmod(place, 0o755)
        try:
            return self._run_in(place, crossing, seed)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _run_in(self, place: str, crossing: Crossing, seed: int) -> Trial:
        expected, out = os.path.join(place, "expected"), os.path.join(place, "run")
        os.mkdir(expected)
        files.write(os.path.join(expected, "hunt"), format_line(crossing) + "\n")
        command = [self.jitproof, "run", "--expected", expected, "--seed=%d" % seed, "-o", out,
                   "hunt/hunt"]
        try:
            done = process.run(command, env=self.environment(crossing), timeout=SECONDS * 10)
        except subprocess.TimeoutExpired:
            return Trial(crossing, "TIMEOUT", "", frozenset({Signature("TIMEOUT", "of the run")}))
        results = os.path.join(out, "results.jsonl")
        if not os.path.exists(results):
            why = remove_prefix(done.stderr or done.stdout)
            if done.returncode in (2, 99):
                return Trial(crossing, REJECTED, why, frozenset())
            return Trial(crossing, "BROKEN", why, frozenset(
                {Signature("BROKEN", "status %d" % done.returncode)}))
        result = [line for _, line in jsonl.read(results)][0]
        return make_trial(crossing, result)


def remove_prefix(text: str) -> str:
    """Returns the first line of an error, without the file that only this run had."""
    return re.sub(r"^jitproof run: (\S+:\d+: )?", "", text.strip().split("\n")[0])


def make_trial(crossing: Crossing, result: dict[str, Any]) -> Trial:
    outcome, why = result["outcome"], result["why"]
    if "before it was ready" in why:  # the workload refuses its options, or needs more time
        outcome = REJECTED
    tools = "perf " + crossing[PERF] if PERF in crossing else ""
    return Trial(crossing, outcome, why, find_signatures(outcome, why, tools),
                 result["metrics"])
