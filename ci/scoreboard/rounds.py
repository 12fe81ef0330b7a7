# SPDX-License-Identifier: GPL-2.0-only
"""Stores the answers of `jitproof score` for each profiler and scene in a file each, so that an
interrupted round can continue. A folder has the answers of one program, one adapter and one list of
options, with a subfolder for each round (its number is the seed). Runs that are kept are stored
separately, so that another program can judge them again."""

import concurrent.futures
import contextlib
import functools
import hashlib
import itertools
import json
import os
import re
import shutil
import sys
import threading
import time
from typing import Any, Iterator, Sequence

from ci.base import files, process
from ci.base.status import Unusable

ROOT = os.path.abspath(__file__ + "/../../..")
PROFILERS = os.path.join(ROOT, "harness", "profiler")
# Options for profilers that an attach cannot test (docs/profiler-adapters.md) or that always
# launch, and for those that need longer to report their samples.
OPTIONS = {"eu_stackprof": ("--launch",), "codspeed_samply": ("--launch",),
           "sysprof": ("--seconds=20",)}
# Scenes whose pids are the same in each run. They run alone: at the same time, profilers would find
# the perf map of the other run.
ALONE = ("inside", "namespaces", "nested")
TIMEOUT_S = 300  # limit for one scene, which normally ends long before
UNJUDGED = 1  # exit status of `jitproof score`: the answer shows a fault
MISSING = 4  # exit status of `jitproof score`: the profiler is not installed
ANSWER = ".answer"  # suffix of a kept run's path: answer of the program that recorded it

Score = dict[str, Any]
Row = dict[str, Any]


def list_adapters() -> list[str]:
    return ["jitproof"] + [name[:-3] for name in sorted(os.listdir(PROFILERS))
                           if name.endswith(".py")]


def make_environment() -> dict[str, str]:
    """Returns an environment in which `python3` is this interpreter, not a wrapper script that
    costs half a second for each call of an adapter."""
    python_folder = os.path.dirname(os.path.realpath(sys.executable))
    return {**os.environ, "PATH": python_folder + ":" + os.environ.get("PATH", os.defpath)}


def list_sources(adapter: str) -> Iterator[str]:
    """Yields the files of an adapter: its own, those that it imports, and the shared ones."""
    path = os.path.join(PROFILERS, adapter + ".py")
    if not os.path.exists(path):
        return
    yield path
    for module in re.findall(r"^import (\w+)$", files.read(path), re.M):
        yield from list_sources(module)
    for name in sorted(os.listdir(os.path.join(PROFILERS, "adapting"))):
        if name.endswith(".py"):
            yield os.path.join(PROFILERS, "adapting", name)


class Rounds:
    def __init__(self, build: str, options: Sequence[str], globs: Sequence[str] = (),
                 keeps: bool = False, again: bool = False) -> None:
        self.binary = os.path.join(build, "jitproof")
        self.folder = os.path.join(build, "scoreboard")
        self.options, self.globs = options, globs
        self.keeps, self.again = keeps, again

    def score_command(self, profiler: str) -> list[str]:
        return ["score", "--profiler", profiler, *self.options, *OPTIONS.get(profiler, ())]

    def digest(self, profiler: str, *programs: str) -> str:
        """Returns a digest of this adapter, these options and @programs."""
        digest = hashlib.sha256("\0".join(self.score_command(profiler)).encode())
        for path in (*programs, *list_sources(profiler)):
            digest.update(files.read_bytes(path))
        return digest.hexdigest()[:12]

    @functools.cache
    def get_answers_folder(self, profiler: str) -> str:
        """Returns the folder of all rounds of this program, adapter and options."""
        return os.path.join(self.folder, profiler, self.digest(profiler, self.binary))

    def answer_path(self, number: int, profiler: str, scene: str) -> str:
        return os.path.join(self.get_answers_folder(profiler), str(number), scene)

    @functools.cache
    def runs_folder(self, profiler: str) -> str:
        """Returns the folder of kept runs, which any program can judge."""
        return os.path.join(self.folder, "runs", profiler, self.digest(profiler))

    def run_path(self, number: int, profiler: str, scene: str) -> str:
        return os.path.join(self.runs_folder(profiler), str(number), scene)

    @functools.cache
    def list_scenes(self) -> list[str]:
        return process.run_or_raise([self.binary, "score", "--list", *self.globs]).split()

    def list_unmeasured_cells(self, number: int, profilers: Sequence[str]) -> list[tuple[str, str]]:
        """Returns the (profiler, scene) pairs that round @number has not measured."""
        return [(profiler, scene) for profiler in profilers for scene in self.list_scenes()
                if not os.path.exists(self.answer_path(number, profiler, scene)) and
                not os.path.exists(self.answer_path(number, profiler, "missing")) and
                (not self.again or os.path.exists(self.run_path(number, profiler, scene) + ANSWER))]

    def find_unfinished_round(self, profilers: Sequence[str]) -> int:
        return next(number for number in itertools.count(1)
                    if self.list_unmeasured_cells(number, profilers))

    def command(self, run: str, number: int, profiler: str, scene: str) -> list[str]:
        if self.again:
            return [self.binary, "score", "--again", run, "--json"]
        return [self.binary, *self.score_command(profiler), "--json", "--seed=%d" % number,
                *(["-o", run] if self.keeps else []), scene]

    def measure(self, number: int, profiler: str, scene: str) -> str:
        """Measures a profiler on a scene and stores the answer. Returns why the profiler is
        missing, or ""."""
        run = self.run_path(number, profiler, scene)
        if self.keeps:
            shutil.rmtree(run, ignore_errors=True)
            os.makedirs(os.path.dirname(run), exist_ok=True)
        result = process.run(self.command(run, number, profiler, scene), timeout=TIMEOUT_S,
                             env=make_environment())
        if result.returncode not in (0, UNJUDGED, MISSING):
            raise Unusable("%s %s: %s" % (profiler, scene, result.stderr.strip()))
        name, text = (scene, result.stdout) if result.returncode != MISSING else \
            ("missing", result.stderr.strip().removeprefix("jitproof score: "))
        if self.again:
            text = complete_answer(text, files.read(run + ANSWER))
        elif self.keeps and name == scene:
            files.write(run + ANSWER, text)
        files.replace(os.path.dirname(self.answer_path(number, profiler, scene)), {name: text})
        return text if name == "missing" else ""

    def measure_round(self, number: int, profilers: Sequence[str], seconds: float,
                      jobs: int) -> int:
        """Measures unmeasured cells for about @seconds, @jobs at a time. Returns the number of
        cells that remain."""
        deadline = time.monotonic() + seconds
        gone, lone = set[str](), threading.Lock()

        def measure_one(cell: tuple[str, str]) -> bool:
            profiler, scene = cell
            start = time.monotonic()
            if profiler in gone or start > deadline:
                return profiler in gone
            turn_lock: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
            if scene in ALONE:
                turn_lock = lone
            with turn_lock:
                if self.measure(number, profiler, scene):
                    gone.add(profiler)
            print("round %d, %s %s: %.1f s" % (number, profiler, scene, time.monotonic() - start),
                  flush=True)
            return True

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            return sum(not is_measured for is_measured in pool.map(
                measure_one, self.list_unmeasured_cells(number, profilers)))

    def list_kept_rounds(self, profilers: Sequence[str]) -> list[int]:
        return sorted({number for profiler in profilers
                       for number in list_numbers(self.runs_folder(profiler))})

    def read_scores(self, profiler: str) -> Iterator[Score]:
        """Yields the stored answers, round after round."""
        for number in list_numbers(self.get_answers_folder(profiler)):
            for scene in self.list_scenes():
                path = self.answer_path(number, profiler, scene)
                if os.path.exists(path):
                    yield json.loads(files.read(path))

    def explain_absence(self, profiler: str) -> str:
        """Returns why the profiler was not measured."""
        for number in list_numbers(self.get_answers_folder(profiler)):
            path = self.answer_path(number, profiler, "missing")
            if os.path.exists(path):
                return files.read(path)
        return "not measured this time"


def complete_answer(answer: str, old_answer: str) -> str:
    """Completes a new @answer by figures that a run does not contain: the profiler's version, its
    CPU time and the watched time."""
    answer_now, old = json.loads(answer), json.loads(old_answer)
    for row, before in zip(answer_now["workloads"], old["workloads"], strict=True):
        row.update((key, before[key]) for key in ("cpu_ns", "watched_ns") if key in before)
    return json.dumps({**answer_now, "version": old["version"]})


def list_numbers(folder: str) -> list[int]:
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(int(name) for name in names if name.isdigit())
