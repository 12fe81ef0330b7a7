# SPDX-License-Identifier: GPL-2.0-only
"""Base class of adapters for programs that read a perf.data. perf.py records it; the output of the
program becomes a stream of observations. Such an adapter ends with `perf.main(Mine)`."""

import argparse
import os
from typing import Iterable, Iterator, Sequence

import perf
from adapting import shown
from adapting.observations import Sample, Stream
from adapting.protocol import Published


class Reader(perf.Recording):
    """A subclass defines these members."""

    name = ""
    reader = ""  # name of the adapter
    declares: Sequence[str] = ("no-addresses", "no-mappings", "no-tasks")

    def __init__(self, program: str, options: argparse.Namespace) -> None:
        super().__init__(program, options)
        self.published = Published(options.dir)

    @classmethod
    def reader_version(cls) -> str:
        raise NotImplementedError

    @classmethod
    def parse(cls, path: str, folder: str) -> Iterable[Sample]:
        """Lets the program read the file at @path, with files of its own in @folder, and returns
        the samples that it shows."""
        raise NotImplementedError

    @classmethod
    def version(cls) -> str:
        return "%s by perf %s" % (cls.reader_version(), super().version())

    @classmethod
    def list_readers(cls, only_own: bool) -> Iterator[shown.Reader]:
        yield shown.Reader(cls.reader, cls.reader_version(), cls.show)

    @classmethod
    def show(cls, path: str, folder: str, output: shown.Shown) -> None:
        for time, pid, tid, names in cls.parse(path, folder):
            # The name of a file stands for an unknown function (native.name_in()).
            frames = ["?" if str(name).startswith("[") else name for name in names]
            output.sample(time, pid, tid, frames[0] if frames else None, frames)

    @classmethod
    def output_of(cls, *command: str) -> str:
        return shown.output_of(cls.name, *command, PERF_CONFIG="/dev/null", DEBUGINFOD_URLS="")

    def finish(self) -> None:
        super().finish()
        self.published.link_maps()
        with open(os.path.join(self.options.dir, "observations"), "x", encoding="utf-8",
                  errors="surrogateescape") as file:
            stream = Stream(file, "%s %s" % (self.name, self.version()), self.declares,
                            "cfi-or-frame-pointers" if self.options.stack else "frame-pointers",
                            10**9 // self.options.freq)
            for sample in self.parse(self.file.path, self.options.dir):
                stream.sample(*sample)
            if self.file.lost:
                stream.lost(self.stopped, "samples", self.file.lost)
        os.unlink(self.file.path)

    def clean(self) -> None:
        self.published.remove()
        super().clean()
