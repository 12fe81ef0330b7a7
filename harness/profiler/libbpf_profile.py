#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""profile of libbpf-tools: sums of stacks, names alone.

$JITPROOF_LIBBPF_PROFILE is the program to use; else what ci/peers installed, or profile-libbpf.
"""

import os
import pty
import re
import signal
import subprocess
import sys
import time
import tty
from typing import IO

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from adapting.observations import Frame
from adapting.program import Program
from adapting.protocol import (TIMEOUT_S, Crashed, Failed, Missing, find, main, one_line,
                               version_of)
from adapting.sums import Estimate

BEGUN = b"Hit Ctrl-C to end"
# Frames, then who it was, then how often.
SUM = re.compile(r"((?:    .*\n)*)    -                .* \((\d+)\)\n        (\d+)\n")


class Profile(Program):
    terminal = -1

    @classmethod
    def version(cls) -> str:
        if os.geteuid():
            raise Missing("profile-libbpf needs root")
        return version_of("profile-libbpf", r"^profile (\d\S*)", cls.program(), "--version")

    @staticmethod
    def program() -> str:
        return find("profile-libbpf", "JITPROOF_LIBBPF_PROFILE",
                    "python3 ci/peers libbpf_profile")

    def begin(self) -> None:
        self.output = b""
        # Into anything but a terminal it tells that it samples only when it ends.
        self.terminal, other = pty.openpty()
        tty.setraw(other)
        with open(self.path("profiler.txt"), "ab") as words:
            self.process = subprocess.Popen(
                [self.program(), "-U", "-p", str(self.pid), "-F", str(self.options.freq),
                 "--stack-storage-size=65536",
                 "--perf-max-stack-depth=%d" % min(self.options.max_stack, 127)],
                stdin=subprocess.DEVNULL, stdout=other, stderr=words)
        os.close(other)
        until = time.monotonic() + TIMEOUT_S
        while BEGUN not in self.output:
            if not self.read() or time.monotonic() > until:
                raise Failed("profile-libbpf did not begin: %s" % one_line(self.words()))
        self.estimate = Estimate(self.pid, self.options.freq)

    def read(self) -> bool:
        """What it prints; False: it ended."""
        try:
            more = os.read(self.terminal, 65536)
        except OSError:  # EIO: nobody has the other side open
            return False
        self.output += more
        return bool(more)

    def end(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGINT)
        while self.read():
            pass
        status = self.process.wait(TIMEOUT_S)
        if status < 0:
            raise Crashed("profile-libbpf", status, self.words())
        if status:
            raise Failed("profile-libbpf ended with %d" % status)

    def write(self, file: IO[str]) -> None:
        stream = self.stream(file, ["no-time", "no-threads", "no-addresses"],
                             period=10**9 // self.options.freq)
        for stack, pid, count in SUM.findall(self.output.decode("utf-8", "surrogateescape")):
            frames: list[Frame] = ["?" if name == "[unknown]" else name
                                   for name in stack.replace("    ", "").splitlines()]
            stream.sample(int(count), int(pid), -1, frames)


if __name__ == "__main__":
    main(Profile)
