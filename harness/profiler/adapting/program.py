# SPDX-License-Identifier: GPL-2.0-only
"""What adapters of programs share that attach to a process, and write what they saw when SIGINT
ends them."""

import os
import signal
import subprocess
import time
from typing import IO, Sequence

from adapting.protocol import (TIMEOUT_S, Adapter, Crashed, Failed, Missing, find, one_line,
                               version_of)
from adapting.sums import Estimate


class Program(Adapter):
    """Subclasses say how it is called, and what it prints once it samples."""

    name = ""
    peer = ""  # what ci/peers calls it, if it installs it, and the variable of another one
    tells: tuple[str, str] = ("", "")  # of its version: the pattern, and the option for it
    needs_root = False
    sampling = ""
    said = "profiler.txt"  # the file that it prints into
    told = ""  # the file for its standard output, where that is another one
    stdin = subprocess.DEVNULL
    statuses: Sequence[int] = (0,)  # with which it ends
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def program(cls) -> str:
        return find(cls.name, "JITPROOF_" + (cls.peer or cls.name).upper().replace("-", "_"),
                    cls.peer and "python3 ci/peers " + cls.peer)

    @classmethod
    def version(cls) -> str:
        if cls.needs_root and os.geteuid():
            raise Missing(cls.name + " needs root")
        return version_of(cls.name, cls.tells[0], cls.program(), cls.tells[1])

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str] | None:
        return None

    def spawn(self, stdout: IO[bytes] | int | None = None) -> None:
        with open(self.path(self.said), "ab") as words, \
                open(self.path(self.told or self.said), "ab") as told:
            self.process = subprocess.Popen(self.command(), stdin=self.stdin,
                                            stdout=told if stdout is None else stdout,
                                            stderr=words, env=self.environment())

    def begin(self) -> None:
        self.spawn()
        until = time.monotonic() + TIMEOUT_S
        while self.sampling not in self.words():
            self.wait(until, "print '%s'" % self.sampling)
        self.estimate = Estimate(self.pid, self.options.freq)

    def words(self) -> str:
        """What it printed so far."""
        with open(self.path(self.said), encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait(self, until: float, what: str) -> None:
        """A moment, in which it must not end."""
        assert self.process
        try:
            status = self.process.wait(0.02)
        except subprocess.TimeoutExpired:
            if time.monotonic() < until:
                return
            raise self.failed("did not %s in %d s" % (what, TIMEOUT_S)) from None
        raise self.failed("ended with %d, and did not %s" % (status, what))

    def failed(self, what: str) -> Failed:
        return Failed("%s %s: %s" % (self.command()[0], what,
                                     one_line(self.words()) or "without a word"))

    def samples(self) -> int:
        """As many as the CPU time says: it tells none before its end."""
        return self.estimate.samples()

    def ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def end(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGINT)
        self.await_end()

    def await_end(self) -> None:
        assert self.process
        try:
            status = self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise self.failed("does not end") from None
        if status < 0:
            raise Crashed(self.command()[0], status, self.words())
        if status not in self.statuses:
            raise self.failed("ended with %d" % status)

    def clean(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
