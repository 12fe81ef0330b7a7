#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf as its users see it: the names that `perf script` gives the frames of a recording, those of
files and of perf maps. Names alone: of code in files it prints offsets, and no addresses. The
recording is perf.py's."""

import os
import re
import subprocess
import sys
from typing import Iterator

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf
from adapting.observations import Frame, Stream
from adapting.protocol import Published

HEAD = re.compile(r"\s*(\d+)/(\d+)\s+(\d+)\.(\d{9}):")
FRAME = re.compile(r"\s+([0-9a-f]+) (.*)$")
KERNEL = 1 << 63


def parse(text: str) -> Iterator[tuple[int, int, int, list[Frame]]]:
    """(time, pid, tid, frames) of each sample; the kernel's part of a callchain is left out."""
    sample: tuple[int, int, int, list[Frame]] | None = None
    for line in text.splitlines():
        if head := HEAD.match(line):
            if sample:
                yield sample
            pid, tid, seconds, fraction = map(int, head.groups())
            sample = (seconds * 10**9 + fraction, pid, tid, [])
        elif sample and (frame := FRAME.match(line)):
            address, name = int(frame[1], 16), frame[2]
            if address < KERNEL:
                sample[3].append("?" if name == "[unknown]" else name)
    if sample:
        yield sample


class Script(perf.Recording):
    def start(self) -> None:
        self.published = Published(self.options.dir)
        super().start()

    def finish(self) -> None:
        super().finish()
        self.published.look()
        # Inlined functions would be frames that no stack has; addr2line takes minutes for them.
        done = subprocess.run([self.perf, "script", "--no-inline", "--ns", "-F",
                               "pid,tid,time,ip,sym", "-i", self.file.path],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, env=perf.environment())
        if done.returncode < 0:
            raise perf.crashed("perf script", done.returncode, done.stderr.decode(errors="replace"))
        if done.returncode:
            raise perf.Failed("perf script ended with %d: %s" % (
                done.returncode, perf.one_line(done.stderr.decode(errors="replace"))))
        with open(os.path.join(self.options.dir, "observations"), "x", encoding="utf-8",
                  errors="surrogateescape") as file:
            stream = Stream(file, "perf script " + perf.version_of(self.perf),
                            ["no-addresses", "no-mappings", "no-tasks"],
                            "cfi-or-frame-pointers" if self.options.stack else "frame-pointers",
                            10**9 // self.options.freq)
            for sample in parse(done.stdout.decode("utf-8", "surrogateescape")):
                stream.sample(*sample)
            if self.file.lost_samples or self.file.lost:
                stream.lost(self.stopped, "samples", max(self.file.lost, self.file.lost_samples))
        os.unlink(self.file.path)

    def clean(self) -> None:
        self.published.remove()
        super().clean()


if __name__ == "__main__":
    perf.Recording = Script  # type: ignore[misc]
    perf.main()
