#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for `profile` of libbpf-tools: how often each stack occurred, as names without addresses.

$JITPROOF_LIBBPF_PROFILE is the program; the default is ci/peers' or profile-libbpf in PATH.
"""

import os
import pty
import re
import signal
import sys
import time
import tty
from typing import IO, Sequence

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from adapting.observations import Frame
from adapting.program import Program
from adapting.protocol import TIMEOUT_S, main
from adapting.sums import LACKS, Estimate

BEGUN = b"Hit Ctrl-C to end"
# A counted stack: lines with frames, a line with the pid, a line with the count.
SUM = re.compile(r"((?:    .*\n)*)    -                .* \((\d+)\)\n        (\d+)\n")


class Profile(Program):
    name, peer = "profile-libbpf", "libbpf_profile"
    version_from = (r"^profile (\d\S*)", "--version")
    needs_root = True
    terminal = -1

    def command(self) -> Sequence[str]:
        return (self.program(), "-U", "-p", str(self.pid), "-F", str(self.options.freq),
                "--stack-storage-size=65536",
                "--perf-max-stack-depth=%d" % min(self.options.max_stack, 127))

    def begin(self) -> None:
        self.output = b""
        # Use a terminal: only then the profiler flushes its first message at once.
        self.terminal, terminal_end = pty.openpty()
        tty.setraw(terminal_end)
        self.spawn(terminal_end)
        os.close(terminal_end)
        deadline = time.monotonic() + TIMEOUT_S
        while BEGUN not in self.output:
            if not self.read() or time.monotonic() > deadline:
                raise self.failed("did not begin")
        self.estimate = Estimate(self.pid, self.options.freq)

    def read(self) -> bool:
        """Appends more output to self.output. Returns False if the profiler has ended."""
        try:
            chunk = os.read(self.terminal, 65536)
        except OSError:  # EIO: the profiler closed its side
            return False
        self.output += chunk
        return bool(chunk)

    def end(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGINT)
        while self.read():
            pass
        self.await_end()

    def write(self, file: IO[str]) -> None:
        stream = self.stream(file, LACKS, period=10**9 // self.options.freq)
        for stack, pid, count in SUM.findall(self.output.decode("utf-8", "surrogateescape")):
            frames: list[Frame] = ["?" if name == "[unknown]" else name
                                   for name in stack.replace("    ", "").splitlines()]
            stream.sample(int(count), int(pid), -1, frames)


if __name__ == "__main__":
    main(Profile)
