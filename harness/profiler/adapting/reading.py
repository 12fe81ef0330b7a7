# SPDX-License-Identifier: GPL-2.0-only
"""Base class of adapters for programs that read a perf.data. perf.py records it; the output of the
program becomes a stream of observations. Such an adapter ends with `perf.main(Mine)`."""

import argparse
import os
import subprocess
from typing import Iterator, Sequence

import perf
from adapting import shown
from adapting.observations import Stream
from adapting.protocol import Crashed, Failed, Missing, Published, one_line


class Reader(perf.Recording):
    """A subclass defines the reader's name, its declarations and read()."""

    name = ""
    declares: Sequence[str] = ("no-addresses", "no-mappings", "no-tasks")

    def __init__(self, program: str, options: argparse.Namespace) -> None:
        super().__init__(program, options)
        self.published = Published(options.dir)

    @staticmethod
    def list_readers(own: bool) -> Iterator[shown.Reader]:
        raise Missing("its samples have no addresses to compare")

    def read(self, stream: Stream) -> None:
        """Writes the reader's samples of self.file.path to @stream."""
        raise NotImplementedError

    def output_of(self, *command: str) -> str:
        """Returns the output of the program. Raises Crashed or Failed if it does not exit with
        0."""
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, env=perf.clean_environment())
        errors = done.stderr.decode(errors="replace")
        if done.returncode < 0:
            raise Crashed(self.name, done.returncode, errors)
        if done.returncode:
            raise Failed("%s ended with %d: %s" % (self.name, done.returncode, one_line(errors)))
        return done.stdout.decode("utf-8", "surrogateescape")

    def finish(self) -> None:
        super().finish()
        self.published.link_maps()
        with open(os.path.join(self.options.dir, "observations"), "x", encoding="utf-8",
                  errors="surrogateescape") as file:
            stream = Stream(file, "%s %s" % (self.name, self.version()), self.declares,
                            "cfi-or-frame-pointers" if self.options.stack else "frame-pointers",
                            10**9 // self.options.freq)
            self.read(stream)
            if self.file.lost:
                stream.lost(self.stopped, "samples", self.file.lost)
        os.unlink(self.file.path)

    def clean(self) -> None:
        self.published.remove()
        super().clean()
