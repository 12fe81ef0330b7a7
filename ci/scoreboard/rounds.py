# SPDX-License-Identifier: GPL-2.0-only
"""What `jitproof score` said of each profiler and scene, kept in a file each: an interrupted round
goes on where it stopped. Answers of one program, one adapter and the same options lie in one
folder, those of another round, with another seed, beside the first. The runs themselves, if they
are kept, lie beside: another program can judge them again."""

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
# Those of which an attach shows nothing (docs/profiler-adapters.md), or that always launch; and
# what takes longer than others to say what it sampled.
OPTIONS = {"eu_stackprof": ("--launch",), "codspeed_samply": ("--launch",),
           "sysprof": ("--seconds=20",)}
# Whose pids are those of any other such run: profilers would find its perf map.
ALONE = ("inside", "namespaces", "nested")
TIMEOUT_S = 300  # for one scene; each ends by itself long before
UNJUDGED = 1  # the status where something went wrong, which the answer tells
MISSING = 4  # the status for a profiler that is not here
ANSWER = ".answer"  # beside a kept run: what the program that recorded it said

Score = dict[str, Any]
Row = dict[str, Any]


def adapters() -> list[str]:
    return ["jitproof"] + [name[:-3] for name in sorted(os.listdir(PROFILERS))
                           if name.endswith(".py")]


def environment() -> dict[str, str]:
    """Where `python3` is the one that we run by, and no script that looks for it: half a second
    for each call of an adapter."""
    ours = os.path.dirname(os.path.realpath(sys.executable))
    return {**os.environ, "PATH": ours + ":" + os.environ.get("PATH", os.defpath)}


def sources(adapter: str) -> Iterator[str]:
    """The files of an adapter: its own, those that it imports, what all share."""
    path = os.path.join(PROFILERS, adapter + ".py")
    if not os.path.exists(path):
        return
    yield path
    for other in re.findall(r"^import (\w+)$", files.read(path), re.M):
        yield from sources(other)
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

    def words(self, profiler: str) -> list[str]:
        return ["score", "--profiler", profiler, *self.options, *OPTIONS.get(profiler, ())]

    def digest(self, profiler: str, *programs: str) -> str:
        """Of this adapter, these options and @programs."""
        digest = hashlib.sha256("\0".join(self.words(profiler)).encode())
        for path in (*programs, *sources(profiler)):
            digest.update(files.read_bytes(path))
        return digest.hexdigest()[:12]

    @functools.cache
    def kept_in(self, profiler: str) -> str:
        """The folder of all rounds of this program, this adapter and these options."""
        return os.path.join(self.folder, profiler, self.digest(profiler, self.binary))

    def place(self, number: int, profiler: str, scene: str) -> str:
        return os.path.join(self.kept_in(profiler), str(number), scene)

    @functools.cache
    def runs_of(self, profiler: str) -> str:
        """Where runs are kept, whatever program judges them."""
        return os.path.join(self.folder, "runs", profiler, self.digest(profiler))

    def run_of(self, number: int, profiler: str, scene: str) -> str:
        return os.path.join(self.runs_of(profiler), str(number), scene)

    @functools.cache
    def scenes(self) -> list[str]:
        return process.must([self.binary, "score", "--list", *self.globs]).split()

    def open_cells(self, number: int, profilers: Sequence[str]) -> list[tuple[str, str]]:
        """What round @number has not asked yet."""
        return [(profiler, scene) for profiler in profilers for scene in self.scenes()
                if not os.path.exists(self.place(number, profiler, scene)) and
                not os.path.exists(self.place(number, profiler, "missing")) and
                (not self.again or os.path.exists(self.run_of(number, profiler, scene) + ANSWER))]

    def current(self, profilers: Sequence[str]) -> int:
        """The first round that is unfinished."""
        return next(number for number in itertools.count(1) if self.open_cells(number, profilers))

    def command(self, run: str, number: int, profiler: str, scene: str) -> list[str]:
        if self.again:
            return [self.binary, "score", "--again", run, "--json"]
        return [self.binary, *self.words(profiler), "--json", "--seed=%d" % number,
                *(["-o", run] if self.keeps else []), scene]

    def ask(self, number: int, profiler: str, scene: str) -> str:
        """Asks one profiler for one scene, and keeps the answer. Why it is missing, or ""."""
        run = self.run_of(number, profiler, scene)
        if self.keeps:
            shutil.rmtree(run, ignore_errors=True)
            os.makedirs(os.path.dirname(run), exist_ok=True)
        done = process.run(self.command(run, number, profiler, scene), timeout=TIMEOUT_S,
                           env=environment())
        if done.returncode not in (0, UNJUDGED, MISSING):
            raise Unusable("%s %s: %s" % (profiler, scene, done.stderr.strip()))
        name, said = (scene, done.stdout) if done.returncode != MISSING else \
            ("missing", done.stderr.strip().removeprefix("jitproof score: "))
        if self.again:
            said = judged_again(said, files.read(run + ANSWER))
        elif self.keeps and name == scene:
            files.write(run + ANSWER, said)
        files.replace(os.path.dirname(self.place(number, profiler, scene)), {name: said})
        return said if name == "missing" else ""

    def go_on(self, number: int, profilers: Sequence[str], seconds: float, jobs: int) -> int:
        """Asks for what is open, for about so long and @jobs at a time; how much is open then."""
        until = time.monotonic() + seconds
        gone, lone = set[str](), threading.Lock()

        def one(cell: tuple[str, str]) -> bool:
            profiler, scene = cell
            start = time.monotonic()
            if profiler in gone or start > until:
                return profiler in gone
            turn: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
            if scene in ALONE:
                turn = lone
            with turn:
                if self.ask(number, profiler, scene):
                    gone.add(profiler)
            print("round %d, %s %s: %.1f s" % (number, profiler, scene, time.monotonic() - start),
                  flush=True)
            return True

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            return sum(not done for done in pool.map(one, self.open_cells(number, profilers)))

    def numbers(self, profiler: str) -> list[int]:
        return numbered(self.kept_in(profiler))

    def recorded(self, profilers: Sequence[str]) -> list[int]:
        """The rounds of which runs are kept."""
        return sorted({number for profiler in profilers
                       for number in numbered(self.runs_of(profiler))})

    def kept(self, profiler: str) -> Iterator[Score]:
        """What was said of each scene, round after round."""
        for number in self.numbers(profiler):
            for scene in self.scenes():
                path = self.place(number, profiler, scene)
                if os.path.exists(path):
                    yield json.loads(files.read(path))

    def missing(self, profiler: str) -> str:
        """Why it was not asked."""
        for number in self.numbers(profiler):
            path = self.place(number, profiler, "missing")
            if os.path.exists(path):
                return files.read(path)
        return "not measured this time"


def judged_again(answer: str, recorded: str) -> str:
    """With what no run tells: the version of the profiler, and its CPU time of which time."""
    new, old = json.loads(answer), json.loads(recorded)
    for row, before in zip(new["workloads"], old["workloads"], strict=True):
        row.update((key, before[key]) for key in ("cpu_ns", "watched_ns") if key in before)
    return json.dumps({**new, "version": old["version"]})


def numbered(folder: str) -> list[int]:
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(int(name) for name in names if name.isdigit())
