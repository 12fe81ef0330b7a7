# SPDX-License-Identifier: GPL-2.0-only
"""What adapters of programs share that attach to a process, and write what they saw when SIGINT
ends them."""

import signal
import subprocess
import time
from typing import Sequence

from adapting.protocol import TIMEOUT_S, Adapter, Crashed, Failed, one_line
from adapting.sums import Estimate


class Program(Adapter):
    """Subclasses say how it is called, and what it prints once it samples."""

    sampling = ""
    said = "profiler.txt"  # the file that it prints into
    statuses: Sequence[int] = (0,)  # with which it ends
    process: subprocess.Popen[bytes] | None = None

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str] | None:
        return None

    def begin(self) -> None:
        with open(self.path(self.said), "ab") as words:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=words,
                                            stderr=words, env=self.environment())
        until = time.monotonic() + TIMEOUT_S
        while self.sampling not in self.words():
            self.wait(until, "attach")
        self.estimate = Estimate(self.pid, self.options.freq)

    def words(self) -> str:
        """What it printed so far."""
        with open(self.path(self.said), encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait(self, until: float, what: str) -> None:
        """A moment, in which it must not end."""
        assert self.process
        try:
            self.process.wait(0.02)
        except subprocess.TimeoutExpired:
            if time.monotonic() < until:
                return
        raise self.failed("did not " + what)

    def failed(self, what: str) -> Failed:
        return Failed("%s %s: %s" % (self.command()[0], what, one_line(self.words())))

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
