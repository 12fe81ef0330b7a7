# SPDX-License-Identifier: GPL-2.0-only
"""Base class of adapters for programs that attach to a process and write samples on SIGINT."""

import os
import signal
import subprocess
import time
from typing import IO, Sequence

from adapting.protocol import (TIMEOUT_S, Adapter, Crashed, Failed, Missing, find, one_line,
                               version_of)
from adapting.sums import Estimate


class Program(Adapter):
    """A subclass defines command() and write(), and overrides some of the attributes."""

    name = ""
    peer = ""  # its name in ci/peers, and PEER in the variable $JITPROOF_PEER; "": as name
    version_from: tuple[str, str] = ("", "")  # of its version: pattern and option
    needs_root = False
    sampling = ""  # the text that the profiler prints when it samples
    log = "profiler.txt"  # name of the file for the profiler's output
    output_file = ""  # name of the file for its standard output, if another
    stdin = subprocess.DEVNULL
    estimates = True
    # Exit statuses that mean success. Programs such as perf end by the SIGINT that they received.
    statuses: Sequence[int] = (0, -signal.SIGINT)
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def program(cls) -> str:
        return find(cls.name, "JITPROOF_" + (cls.peer or cls.name).upper().replace("-", "_"),
                    cls.peer and "python3 ci/peers " + cls.peer)

    @classmethod
    def version(cls) -> str:
        if cls.needs_root and os.geteuid():
            raise Missing(cls.name + " needs root")
        return version_of(cls.name, cls.version_from[0], cls.program(), cls.version_from[1])

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str] | None:
        return None

    def spawn(self, stdout: IO[bytes] | int | None = None) -> None:
        with open(self.path(self.log), "ab") as words, \
                open(self.path(self.output_file or self.log), "ab") as output:
            self.process = subprocess.Popen(self.command(), stdin=self.stdin,
                                            stdout=output if stdout is None else stdout,
                                            stderr=words, env=self.environment())

    def begin(self) -> None:
        self.spawn()
        deadline = time.monotonic() + TIMEOUT_S
        while self.sampling not in self.words():
            self.wait(deadline, "print '%s'" % self.sampling)
        self.estimate = Estimate(self.pid, self.options.freq)

    def words(self) -> str:
        """Returns the profiler's log so far."""
        with open(self.path(self.log), encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait(self, deadline: float, action: str) -> None:
        """Sleeps for a moment. Raises Failed if the profiler has ended, or if it is later than
        @deadline. @what: the missing event, for the message."""
        assert self.process
        try:
            status = self.process.wait(0.02)
        except subprocess.TimeoutExpired:
            if time.monotonic() < deadline:
                return
            raise self.failed("did not %s in %d s" % (action, TIMEOUT_S)) from None
        raise self.failed("ended with %d, and did not %s" % (status, action))

    def failed(self, problem: str) -> Failed:
        return Failed("%s %s: %s" % (self.command()[0], problem,
                                     one_line(self.words()) or "without a word"))

    def samples(self) -> int:
        """Returns an estimate, because such a program prints no count before its end."""
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
        if status in self.statuses:
            return
        if status < 0:
            raise Crashed(self.command()[0], status, self.words())
        raise self.failed("ended with %d" % status)

    def clean(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
