# SPDX-License-Identifier: GPL-2.0-only
"""What `jitproof score` said of each profiler and scene, kept in a file each: an interrupted round
goes on where it stopped. Answers of one program, one adapter and the same options lie in one
folder, those of another round, with another seed, beside the first."""

import concurrent.futures
import contextlib
import functools
import hashlib
import itertools
import json
import os
import re
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
    def __init__(self, build: str, options: Sequence[str], globs: Sequence[str] = ()) -> None:
        self.binary = os.path.join(build, "jitproof")
        self.folder = os.path.join(build, "scoreboard")
        self.options, self.globs = options, globs

    def words(self, profiler: str) -> list[str]:
        return ["score", "--profiler", profiler, *self.options, *OPTIONS.get(profiler, ())]

    @functools.cache
    def kept_in(self, profiler: str) -> str:
        """The folder of all rounds of this program, this adapter and these options."""
        digest = hashlib.sha256("\0".join(self.words(profiler)).encode())
        for path in (self.binary, *sources(profiler)):
            digest.update(files.read_bytes(path))
        return os.path.join(self.folder, profiler, digest.hexdigest()[:12])

    def place(self, number: int, profiler: str, scene: str) -> str:
        return os.path.join(self.kept_in(profiler), str(number), scene)

    @functools.cache
    def scenes(self) -> list[str]:
        return process.must([self.binary, "score", "--list", *self.globs]).split()

    def open_cells(self, number: int, profilers: Sequence[str]) -> list[tuple[str, str]]:
        """What round @number has not asked yet."""
        return [(profiler, scene) for profiler in profilers for scene in self.scenes()
                if not os.path.exists(self.place(number, profiler, scene)) and
                not os.path.exists(self.place(number, profiler, "missing"))]

    def current(self, profilers: Sequence[str]) -> int:
        """The first round that is unfinished."""
        return next(number for number in itertools.count(1) if self.open_cells(number, profilers))

    def ask(self, number: int, profiler: str, scene: str) -> str:
        """Asks one profiler for one scene, and keeps the answer. Why it is missing, or ""."""
        done = process.run([self.binary, *self.words(profiler), "--json", "--seed=%d" % number,
                            scene], timeout=TIMEOUT_S, env=environment())
        if done.returncode not in (0, UNJUDGED, MISSING):
            raise Unusable("%s %s: %s" % (profiler, scene, done.stderr.strip()))
        name, said = (scene, done.stdout) if done.returncode != MISSING else \
            ("missing", done.stderr.strip().removeprefix("jitproof score: "))
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
        return sorted(int(name) for name in listed(self.kept_in(profiler)) if name.isdigit())

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


def listed(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []
