#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""eu-stackprof of elfutils: what it says of each sample while it walks it, which its histograms
leave out: addresses without times.

$JITPROOF_EU_STACKPROF is the program to use; else what ci/peers installed, or eu-stackprof.
"""

import collections
import os
import re
import signal
import subprocess
import sys
import time
from typing import IO, Iterator

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from adapting.protocol import TIMEOUT_S, Adapter, Failed, Missing, find, main, one_line, output_of

BEGUN = b"Starting stack profile collection"
SAMPLE = b" pc="  # of the line that precedes each stack
PERIOD_NS = 1_000_000  # it knows no other
STACK = re.compile(r"^find_dwfl pid (\d+) .*? pc=", re.M)
FRAME = re.compile(r"^\* frame (\d+): rel_pc=\S+ raw_pc=([0-9a-f]+) ", re.M)
LOST = re.compile(r"^TOTAL -- received \d+ samples, lost (\d+) samples", re.M)


class StackProf(Adapter):
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def version(cls) -> str:
        found = re.search(r"elfutils\) (\d\S*)", output_of(cls.program(), "--version"))
        if not found:
            raise Missing("eu-stackprof: does not tell its version")
        return found[1]

    @staticmethod
    def program() -> str:
        return find("eu-stackprof", "JITPROOF_EU_STACKPROF", "python3 ci/peers eu_stackprof")

    def begin(self) -> None:
        with open(self.path("stackprof.txt"), "wb") as out:
            self.process = subprocess.Popen(
                [self.program(), "-vvvv", "-n", str(self.options.max_stack), "-p", str(self.pid)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                env={**os.environ, "DEBUGINFOD_URLS": ""})
        until = time.monotonic() + TIMEOUT_S
        while BEGUN not in self.output():
            if self.ended() or time.monotonic() > until:
                raise Failed("eu-stackprof did not begin: %s" % one_line(
                    self.output().decode(errors="replace")))
            try:
                self.process.wait(0.02)
            except subprocess.TimeoutExpired:
                pass

    def output(self) -> bytes:
        with open(self.path("stackprof.txt"), "rb") as file:
            return file.read()

    def samples(self) -> int:
        return self.output().count(b"* frame 0:")

    def ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def end(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise Failed("eu-stackprof does not end") from None
        if self.process.returncode:
            raise Failed("eu-stackprof ended with %d" % self.process.returncode)

    def clean(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    @staticmethod
    def stacks(text: str) -> Iterator[tuple[int, tuple[int, ...]]]:
        """(pid, addresses) of each sample. It shows of a caller the call's last byte."""
        pieces = STACK.split(text)
        for pid, lines in zip(pieces[1::2], pieces[2::2]):
            yield int(pid), tuple(int(address, 16) + (number != "0")
                                  for number, address in FRAME.findall(lines))

    def write(self, file: IO[str]) -> None:
        text = self.output().decode("utf-8", "replace")
        stream = self.stream(file, ["no-time", "no-threads", "no-names"],
                             "cfi-or-frame-pointers", PERIOD_NS)
        for (pid, stack), count in collections.Counter(self.stacks(text)).items():
            stream.sample(count, pid, -1, stack)
        self.lost += sum(map(int, LOST.findall(text)))


if __name__ == "__main__":
    main(StackProf)
