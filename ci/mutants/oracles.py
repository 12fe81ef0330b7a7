# SPDX-License-Identifier: GPL-2.0-only
"""What notices a mutant: judging is a pure function of files, so whatever it says of recorded runs
must stay the same, byte by byte; then the tests that touch the file."""

import fcntl
import functools
import hashlib
import math
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Mapping, NamedTuple, Sequence

from ci.base import files, process
from ci.base.status import Unusable
from ci.mutants.operators import Mutant

LEAST_S, FACTOR = 10, 15
WAIT = 20  # the clock's seconds for each of the processor's, which a busy machine hands out late
MEMORY = 8 << 30
FILE = 1 << 30  # of what is written; unit tests make holes of TiBs, or find no room for them


class Done(NamedTuple):
    said: str  # a digest of all that it said, or why it did not
    seconds: float


def limited(size: int, seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds)))


def run(command: Sequence[str], timeout: float, cwd: str,
        environment: Mapping[str, str] | None = None,
        size: int = FILE) -> tuple[int | None, bytes]:
    """(status, output); status None: no end in time. @timeout: of the processor, for each of its
    processes; @size: of the files that it may write."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=cwd,
                          stdin=subprocess.DEVNULL, start_new_session=True,
                          preexec_fn=functools.partial(limited, size, timeout),
                          env={**os.environ, **(environment or {})}) as child:
        try:
            output = child.communicate(timeout=WAIT * timeout)[0]
            return child.returncode, output
        except BaseException as reason:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            if not isinstance(reason, subprocess.TimeoutExpired):
                raise
            return None, b""


class Oracle:
    """A question: what the unchanged program answers, a mutant must answer, too."""

    digests = False  # it compares all that is said, not only whether a test passes
    slow = False  # asked once all mutants were held against the others

    def __init__(self, name: str) -> None:
        self.name = name
        self.expected: Done | None = None
        self.plain = ""  # the unchanged program
        self.seconds = 0.0

    def applies(self, mutant: Mutant) -> bool:
        """Where nobody traced what it runs."""
        return True

    def ask(self, binary: str, scratch: str, timeout: float) -> str:
        raise NotImplementedError

    def learn(self, binary: str, scratch: str) -> None:
        start = time.monotonic()
        self.expected = Done(self.ask(binary, scratch, 600), time.monotonic() - start)
        if not self.digests:
            return
        # Elsewhere it says the same, or each mutant would seem to be noticed.
        with tempfile.TemporaryDirectory(prefix="mutant-") as other:
            again = shutil.copy(binary, other)
            for name in ("objects", "profiler"):
                os.symlink(os.path.join(os.path.dirname(binary), name), os.path.join(other, name))
            if self.ask(again, other, 600) != self.expected.said:
                raise Unusable("%s does not say the same twice" % self.name)

    def killer(self, binary: str, scratch: str) -> str:
        """What of it notices the mutant; "" for nothing."""
        assert self.expected
        timeout = LEAST_S + FACTOR * self.expected.seconds
        if self.ask(binary, scratch, timeout) == self.expected.said:
            return ""
        # The machine may have changed since: then each mutant would seem to be noticed.
        if self.ask(self.plain, scratch, timeout) != self.expected.said:
            raise Unusable("%s says something else of the unchanged program by now" % self.name)
        return self.name


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def fresh(path: str) -> str:
    if os.path.exists(path):
        os.unlink(path)
    return path


class Locked:
    """One process at a time."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        self.file = open(self.path + ".lock", "w", encoding="utf-8")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self.file.close()


class Judged(Oracle):
    """`judge` of a run directory or of a case in it: all of results.jsonl and of the KTAP."""

    digests = True

    def __init__(self, name: str, top: str, slow: bool = False) -> None:
        super().__init__(name)
        self.top, self.slow = top, slow

    def ask(self, binary: str, scratch: str, timeout: float) -> str:
        results = fresh(os.path.join(scratch, "results.jsonl"))
        status, output = run([binary, "judge", "--results", "results.jsonl", self.top], timeout,
                             scratch)
        said = files.read_bytes(results) if os.path.exists(results) else b""
        return digest(b"%r" % status, output, said)


class Tampered(Judged):
    """The same of a copy with an alteration of each case, made when it is asked for."""

    def __init__(self, number: int, folder: str, tree: str, cases: str) -> None:
        super().__init__("tampered.%d" % number, os.path.join(folder, "tampered.%d" % number))
        self.number, self.tree, self.cases = number, tree, cases

    def learn(self, binary: str, scratch: str) -> None:
        with Locked(self.top):
            if not os.path.exists(self.top):
                made = self.top + ".new"
                shutil.rmtree(made, ignore_errors=True)
                process.must([sys.executable, os.path.join(self.tree, "ci/tamper"), "--jitproof",
                              binary, "--make", made, "--seed", str(self.number), self.cases])
                os.rename(made, self.top)
        super().learn(binary, scratch)


def captures(top: str, name: str, most: int = sys.maxsize) -> list[str]:
    """Files of a name in a run directory, the smaller ones, of different cases."""
    found = [os.path.join(folder, name) for folder, _, names in os.walk(top) if name in names]
    return sorted(sorted(found, key=os.path.getsize)[:most])


class File(Oracle):
    """What a command says of a capture without its truth."""

    digests = True

    def __init__(self, name: str, command: Sequence[str], path: str) -> None:
        super().__init__(name)
        self.command, self.path = command, path

    def ask(self, binary: str, scratch: str, timeout: float) -> str:
        status, output = run([binary, *self.command, self.path], timeout, scratch)
        return digest(b"%r" % status, output)


class Injected(Oracle):
    """`inject` of a capture that has a jitdump where it says: what it makes of it."""

    digests = slow = True

    def __init__(self, name: str, mode: str, path: str, folder: str) -> None:
        super().__init__(name)
        self.folder = folder  # the file names it: always the same one
        self.mode, self.path = mode, path

    def applies(self, mutant: Mutant) -> bool:
        return mutant.file.startswith(("harness/inject/", "harness/format/", "harness/model/"))

    def ask(self, binary: str, scratch: str, timeout: float) -> str:
        with Locked(self.folder):
            # The injector writes its ELF files beside its output: leave the recorded ones alone.
            shutil.rmtree(self.folder, ignore_errors=True)
            os.mkdir(self.folder)
            out = os.path.join(self.folder, "out.data")
            status, output = run(
                [binary, "inject", "--anon=" + self.mode, "--jitdump-dir",
                 os.path.dirname(self.path), "-i", self.path, "-o", out], timeout, scratch)
            if status is None:
                return "no end"
            return digest(b"%r" % status, output, *self.made(binary, out, timeout, scratch))

    def made(self, binary: str, out: str, timeout: float, scratch: str) -> list[bytes]:
        """Its ELF files, and what judging says of the capture, which holds their inodes too."""
        if not os.path.exists(out):
            return []
        _, said = run([binary, "judge", "--json", out], timeout, scratch)
        parts = [b"%d" % os.path.getsize(out), said]
        for folder, _, names in sorted(os.walk(self.folder)):
            parts += [files.read_bytes(os.path.join(folder, name)) for name in sorted(names)
                      if name != "out.data"]
        return parts


class Unit(Oracle):
    """A unit test in C: it passes. Untraced, it is asked if it includes a header of the folder."""

    def __init__(self, tree: str, path: str, link: Sequence[str], main: str, built: str) -> None:
        super().__init__(path.removeprefix("harness/selftest/").removesuffix(".c"))
        self.tree, self.link, self.main, self.built = tree, link, main, built
        text = files.read(os.path.join(tree, path))
        self.folders = {os.path.dirname(name) for name in re.findall(r'#include "(.+)"', text)}

    def applies(self, mutant: Mutant) -> bool:
        return os.path.dirname(mutant.file) in self.folders

    def learn(self, binary: str, scratch: str) -> None:
        super().learn(binary, scratch)
        assert self.expected
        if not self.expected.said.startswith("0 "):
            print("%s fails, whatever is changed" % self.name)

    def ask(self, binary: str, scratch: str, timeout: float) -> str:
        """@binary is the mutant's: its objects are in the file beside it."""
        objects = shlex.split(files.read(os.path.join(os.path.dirname(binary), "objects")))
        program = fresh(os.path.join(scratch, "unit"))
        objects = [one for one in objects if not one.endswith(self.main)] + [self.built]
        status, output = run([*self.link, "-o", program, *objects, *LIBRARIES], 120, self.tree)
        if status:
            raise RuntimeError("%s: %s" % (self.name, output.decode(errors="replace")[-300:]))
        # Where make runs it: some read files of the tree.
        status, output = run([program], timeout, self.tree, size=resource.RLIM_INFINITY)
        lines = [line for line in output.splitlines() if line.startswith((b"ok", b"not ok"))]
        return "%r %d" % (status, sum(line.startswith(b"ok") for line in lines))


LIBRARIES: list[str] = []
