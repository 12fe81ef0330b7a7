# SPDX-License-Identifier: GPL-2.0-only
"""Oracles that notice a mutant. Judging is a pure function of files, so the judgement of a recorded
run must stay the same byte for byte; the tests of the file must pass."""

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

LEAST_S, FACTOR = 10, 5
WAIT = 20  # seconds of wall clock allowed for each second of the CPU limit: machines are busy
MEMORY = 8 << 30
FILE = 1 << 30  # largest file to write, bytes; unit tests, which make holes of TiBs, have no limit


class Done(NamedTuple):
    answer: str  # digest of the whole output, or why there is none
    seconds: float


def set_limits(size: int, seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds)))


def run(command: Sequence[str], timeout: float, cwd: str,
        environment: Mapping[str, str] | None = None,
        size: int = FILE) -> tuple[int | None, bytes]:
    """Runs a command. Returns (status, output); status None: it did not end in time. @timeout: CPU
    seconds of each process; @size: largest file to write, bytes."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=cwd,
                          stdin=subprocess.DEVNULL, start_new_session=True,
                          preexec_fn=functools.partial(set_limits, size, timeout),
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
    """An oracle: a mutant must give the same answer as the unchanged program."""

    digests = False  # compares the whole output, not only whether a test passes
    slow = False  # such oracles are used after all mutants were tried on the fast ones

    def __init__(self, name: str) -> None:
        self.name = name
        self.expected: Done | None = None
        self.plain = ""  # path of the unchanged program
        self.seconds = 0.0

    def can_notice(self, mutant: Mutant) -> bool:
        """Returns whether the oracle might notice @mutant; used if no trace shows which lines it
        runs."""
        return True

    def ask(self, binary: str, scratch: str, timeout: float) -> str:
        raise NotImplementedError

    def learn_expected(self, binary: str, scratch: str) -> None:
        start = time.monotonic()
        self.expected = Done(self.ask(binary, scratch, 600), time.monotonic() - start)
        if not self.digests:
            return
        # The answer must not depend on the folder: else each mutant would seem to be noticed.
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            copied = shutil.copy(binary, folder)
            for name in ("objects", "profiler"):
                os.symlink(os.path.join(os.path.dirname(binary), name), os.path.join(folder, name))
            if self.ask(copied, folder, 600) != self.expected.answer:
                raise Unusable("%s: two runs of the unchanged program differ" % self.name)

    def find_killer(self, binary: str, scratch: str) -> str:
        """Returns the part of the oracle that notices the mutant, or ""."""
        assert self.expected
        timeout = LEAST_S + FACTOR * self.expected.seconds
        if self.ask(binary, scratch, timeout) == self.expected.answer:
            return ""
        # If the machine changed meanwhile, each mutant would seem to be noticed.
        if self.ask(self.plain, scratch, timeout) != self.expected.answer:
            raise Unusable("%s: the answer for the unchanged program has changed" % self.name)
        return self.name


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def remove_file(path: str) -> str:
    if os.path.exists(path):
        os.unlink(path)
    return path


class Locked:
    """A lock that one process at a time holds."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        self.file = open(self.path + ".lock", "w", encoding="utf-8")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self.file.close()


class Judged(Oracle):
    """`judge` of a run directory or of a case in it: compares results.jsonl and the KTAP."""

    digests = True

    def __init__(self, name: str, top: str, slow: bool = False) -> None:
        super().__init__(name)
        self.top, self.slow = top, slow

    def ask(self, binary: str, scratch: str, timeout: float) -> str:
        results = remove_file(os.path.join(scratch, "results.jsonl"))
        status, output = run([binary, "judge", "--results", "results.jsonl", self.top], timeout,
                             scratch)
        answer = files.read_bytes(results) if os.path.exists(results) else b""
        return digest(b"%r" % status, output, answer)


class Tampered(Judged):
    """Judges a copy of the run with one alteration in each case. Makes the copy on first use."""

    def __init__(self, number: int, folder: str, tree: str, cases: str) -> None:
        super().__init__("tampered.%d" % number, os.path.join(folder, "tampered.%d" % number))
        self.number, self.tree, self.cases = number, tree, cases

    def learn_expected(self, binary: str, scratch: str) -> None:
        with Locked(self.top):
            if not os.path.exists(self.top):
                new_folder = self.top + ".new"
                shutil.rmtree(new_folder, ignore_errors=True)
                process.run_or_raise([sys.executable, os.path.join(self.tree, "ci/tamper"),
                                      "--jitproof",
                              binary, "--make", new_folder, "--seed", str(self.number), self.cases])
                os.rename(new_folder, self.top)
        super().learn_expected(binary, scratch)


def list_captures(top: str, name: str, limit: int = sys.maxsize) -> list[str]:
    """Returns the @most smallest files called @name below @top."""
    captures = [os.path.join(folder, name) for folder, _, names in os.walk(top) if name in names]
    return sorted(sorted(captures, key=os.path.getsize)[:limit])


class File(Oracle):
    """The output of a command for a capture without its truth."""

    digests = True

    def __init__(self, name: str, command: Sequence[str], path: str) -> None:
        super().__init__(name)
        self.command, self.path = command, path

    def ask(self, binary: str, scratch: str, timeout: float) -> str:
        status, output = run([binary, *self.command, self.path], timeout, scratch)
        return digest(b"%r" % status, output)


class Injected(Oracle):
    """`inject` of a capture with a jitdump: compares the files that it writes."""

    digests = slow = True

    def __init__(self, name: str, mode: str, path: str, folder: str) -> None:
        super().__init__(name)
        self.folder = folder  # always the same path, because the output contains it
        self.mode, self.path = mode, path

    def can_notice(self, mutant: Mutant) -> bool:
        return mutant.file.startswith(("harness/inject/", "harness/format/", "harness/model/"))

    def ask(self, binary: str, scratch: str, timeout: float) -> str:
        with Locked(self.folder):
            # The injector writes ELF files next to its output: leave the recorded files alone.
            shutil.rmtree(self.folder, ignore_errors=True)
            os.mkdir(self.folder)
            out = os.path.join(self.folder, "out.data")
            status, output = run(
                [binary, "inject", "--anon=" + self.mode, "--jitdump-dir",
                 os.path.dirname(self.path), "-i", self.path, "-o", out], timeout, scratch)
            if status is None:
                return "no end"
            return digest(b"%r" % status, output, *self.read_output(binary, out, timeout, scratch))

    def read_output(self, binary: str, out: str, timeout: float, scratch: str) -> list[bytes]:
        """Returns the ELF files that inject wrote, and the judgement of its capture, whose bytes
        vary, because they contain inodes."""
        if not os.path.exists(out):
            return []
        _, answer = run([binary, "judge", "--json", out], timeout, scratch)
        parts = [b"%d" % os.path.getsize(out), answer]
        for folder, _, names in sorted(os.walk(self.folder)):
            parts += [files.read_bytes(os.path.join(folder, name)) for name in sorted(names)
                      if name != "out.data"]
        return parts


class Unit(Oracle):
    """A unit test in C, which must pass. Without traces, applies if it includes a header of the
    mutant's folder."""

    def __init__(self, tree: str, path: str, link: Sequence[str], main: str, built: str) -> None:
        super().__init__(path.removeprefix("harness/selftest/").removesuffix(".c"))
        self.tree, self.link, self.main, self.built = tree, link, main, built
        text = files.read(os.path.join(tree, path))
        self.folders = {os.path.dirname(name) for name in re.findall(r'#include "(.+)"', text)}

    def can_notice(self, mutant: Mutant) -> bool:
        return os.path.dirname(mutant.file) in self.folders

    def learn_expected(self, binary: str, scratch: str) -> None:
        super().learn_expected(binary, scratch)
        assert self.expected
        if not self.expected.answer.startswith("0 "):
            print("%s fails for the unchanged program" % self.name)

    def ask(self, binary: str, scratch: str, timeout: float) -> str:
        """Links the unit test with the objects listed next to @binary, and runs it."""
        objects = shlex.split(files.read(os.path.join(os.path.dirname(binary), "objects")))
        program = remove_file(os.path.join(scratch, "unit"))
        objects = [path for path in objects if not path.endswith(self.main)] + [self.built]
        status, output = run([*self.link, "-o", program, *objects, *LIBRARIES], 120, self.tree)
        if status:
            raise RuntimeError("%s: %s" % (self.name, output.decode(errors="replace")[-300:]))
        # Runs where make runs it, because some tests read files of the tree.
        status, output = run([program], timeout, self.tree, size=resource.RLIM_INFINITY)
        lines = [line for line in output.splitlines() if line.startswith((b"ok", b"not ok"))]
        return "%r %d" % (status, sum(line.startswith(b"ok") for line in lines))


LIBRARIES: list[str] = []
