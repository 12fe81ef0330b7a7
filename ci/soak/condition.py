# SPDX-License-Identifier: GPL-2.0-only
"""Runs jitproof once under a condition, and decides which results are expected there."""

import contextlib
import dataclasses
import os
import random
import re
import signal
import subprocess
import threading
import time
from typing import Any, Callable

from ci.base import jsonl
from ci.soak import drivers

GOOD = ("PASS", "SKIP", "XFAIL")
# Seconds after which a run counts as hung: some conditions leave a case a tenth of a CPU.
HUNG = 3 * 3600
Driver = Callable[[int, threading.Event], None]


@dataclasses.dataclass
class Run:
    """A run, which a condition changes before its start. The defaults are those of `idle`."""
    jitproof: str
    arguments: list[str]  # --set or globs that select the cases
    seed: int
    folder: str  # TMPDIR; the run directory lies below it
    stack: contextlib.ExitStack  # undoes the condition, once the run's files are read
    words: list[str] = dataclasses.field(default_factory=list)  # words in front of the command
    enter: list[Callable[[], None]] = dataclasses.field(default_factory=list)  # called in the child
    drivers: list[Driver] = dataclasses.field(default_factory=list)  # threads that disturb the run
    command: list[str] = dataclasses.field(default_factory=list)  # instead of jitproof, if any
    output: str = ""  # folder with results.jsonl, after the run
    cases: str = ""  # folder with the cases' folders
    status: int = 0
    errors: str = ""

    @property
    def generator(self) -> random.Random:
        return random.Random(self.seed)

    def execute(self) -> None:
        self.output = self.output or os.path.join(self.folder, "run")
        self.cases = self.cases or self.output
        command = self.command or [*self.words, self.jitproof, "run", "--seed", str(self.seed),
                                   "-o", self.output, *self.arguments]
        log, ended = os.path.join(drivers.make_folder(self.stack), "log"), threading.Event()
        with open(log, "wb") as file:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                     env={**os.environ, "TMPDIR": self.folder},
                                     start_new_session=True, preexec_fn=self.prepare)
        threads = [threading.Thread(target=driver, args=(child.pid, ended)) for driver
                   in self.drivers]
        try:
            for thread in threads:
                thread.start()
            child.wait(HUNG)
        except subprocess.TimeoutExpired:
            self.errors = "still running after %d s\n" % HUNG
        finally:
            ended.set()
            for thread in threads:
                if thread.is_alive():
                    thread.join()
            end_run(child)
        self.status = child.returncode
        with open(log, encoding="utf-8", errors="replace") as text:
            self.errors += text.read()[-2000:]

    def prepare(self) -> None:
        drivers.set_process(drivers.PDEATHSIG, signal.SIGKILL)
        for step in self.enter:
            step()

    def results(self) -> list[dict[str, Any]]:
        """Returns a result for each case, and an ERROR of the run if it failed as a whole."""
        path, results = os.path.join(self.output, "results.jsonl"), list[dict[str, Any]]()
        if os.path.exists(path) and os.path.getsize(path):
            results = [value for _, value in jsonl.read(path)]
        if self.status not in (0, 1, 4) or not results:
            results.append({"case": "(run)", "outcome": "ERROR", "why": "status %d: %s" % (
                self.status, " ".join(self.errors.split())[-300:])})
        return results


def end_run(child: subprocess.Popen[bytes]) -> None:
    """Ends a run and all processes that it left. Sends SIGTERM first, so that the run cleans up."""
    if child.poll() is None:
        drivers.signal_all(drivers.find_session(child.pid), signal.SIGCONT)
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(10)
    deadline = time.monotonic() + 10
    while (processes := drivers.find_session(child.pid)) and time.monotonic() < deadline:
        drivers.signal_all(processes, signal.SIGKILL)
        child.poll()
        time.sleep(0.02)
    child.wait()


@dataclasses.dataclass(frozen=True)
class Condition:
    """A row of the table of conditions."""
    name: str
    about: str
    prepare: Callable[[Run], None]  # changes the run; raises Missing with the reason for a skip
    # Reasons (regular expressions) with which a case may be an ERROR or TIMEOUT here.
    errors: tuple[str, ...] = ()
    # Reasons with which a case may be a SKIP here that is none in an idle run.
    skips: tuple[str, ...] = ()

    def is_expected(self, result: dict[str, Any], idle: str = "") -> bool:
        """Returns whether a result is expected here. @idle: the case's outcome in an idle run, or
        "" if there was none."""
        outcome, reason = result["outcome"], result["why"]
        if outcome in ("ERROR", "TIMEOUT"):
            return matches_all(self.errors, reason)
        if outcome == "SKIP" and idle in ("PASS", "XFAIL"):
            return matches_all(self.skips, reason)
        return outcome in GOOD


def matches_all(patterns: tuple[str, ...], why: str) -> bool:
    """Returns whether each line of a reason matches a pattern. A line that quotes the workload's
    output needs no pattern."""
    lines = [line for line in why.splitlines() if not line.startswith("  it printed: ")]
    return bool(lines) and all(any(re.search(pattern, line) for pattern in patterns) for line
                               in lines)


def find_metrics(result: dict[str, Any]) -> list[str]:
    """Returns the metrics named in a result's reasons, with the causes of their exceptions."""
    names = {match.group(1) for match in re.finditer(r"^([a-z][\w.-]*): ", result["why"], re.M)}
    metrics = {name for name in names if name in result.get("metrics", {})}
    for exception in result.get("exceptions", []):
        if exception["metric"] in names:
            metrics.discard(exception["metric"])
            metrics.add("%s %s" % (exception["metric"], exception["cause"]))
    return sorted(metrics)
