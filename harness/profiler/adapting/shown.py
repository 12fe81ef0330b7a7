# SPDX-License-Identifier: GPL-2.0-only
"""Writes what a reader (a program that shows perf.data files) shows of the samples of a file
(docs/readers.md)."""

import argparse
import contextlib
import functools
import os
import re
import subprocess
import tempfile
from typing import IO, Callable, Iterable, Iterator, Mapping, NamedTuple

from adapting.observations import Frame, escape, format_frame
from adapting.protocol import Crashed, Failed, Missing, Published, one_line, report

TIMEOUT_S = 120  # time limit of one program that reads one file


class Named(NamedTuple):
    """A frame with an address, the function's name, and the offset of the address in it."""
    address: int
    name: str
    offset: int

    def __str__(self) -> str:
        return "%#x=%s=%#x" % (self.address, escape(self.name), self.offset)


@functools.lru_cache(1 << 16)
def format_shown(frame: Frame | Named | None) -> str:
    """Returns a frame as a word of an output line. @frame: None if the reader shows none."""
    return "-" if frame is None else str(frame) if isinstance(frame, Named) else format_frame(frame)


class Shown:
    """Writes one output file, with samples in any order. @reader: name and version of the reader,
    @of: name of the file that it reads."""

    def __init__(self, file: IO[str], reader: str, path: str) -> None:
        self.file = file
        file.write("jitproof-shown 1\nreader %s\nfile %s\n" % (reader, path))

    def sample(self, time: int, pid: int, tid: int, top: Frame | Named | None,
               frames: Iterable[Frame | Named]) -> None:
        """Writes a sample. @top: the frame of a flat profile, None if it is in the kernel. @frames:
        the call graph in user space, innermost first."""
        self.file.write("sample %d %d %d %s\n" % (
            time, pid, tid, " ".join(map(format_shown, [top, *frames]))))

    def shares(self, counts: Mapping[tuple[int, str], int]) -> None:
        """Writes by how many samples a profile by function shows each name: @counts, by TID and
        name, of functions in user space."""
        self.file.write("shares %d\n" % len(counts))
        for (tid, name), count in counts.items():
            self.file.write("share %d %d %s\n" % (tid, count, escape(name)))

    def note(self, word: str, why: str) -> None:
        """Writes that the reader "failed", or that it is "older" than the file's format, with the
        reason @why."""
        self.file.write("%s %s\n" % (word, " ".join(why.split())))


# Parts of messages in which perf states that the file's format is newer than itself. Type 83 is
# PERF_RECORD_COMPRESSED2, which 6.16 has introduced.
REFUSALS = ("incompatible file format", "Please update perf tool", "wrong feature ID",
            "failed to process type: 83")
# perf report prints this, and exits with 0 (perf.report-status in results/FINDINGS.md).
UNREAD = "failed to process sample"


class Refused(Failed):
    """The reader reports that it does not know the file's format."""


class Slow(Failed):
    """The reader needs too much time, which is no evidence against the file."""


class Reader(NamedTuple):
    """One version of a program that shows a perf.data."""
    name: str
    version: str
    show: Callable[[str, str, Shown], None]  # (path of the file, a folder to use freely, ...)

    def word(self) -> str:
        return "%s-%s" % (self.name, self.version)

    def number(self) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", self.version)]


def output_of(program: str, *command: str, **environment: str) -> str:
    """Returns the whole output of a reader. Raises Crashed, Slow or another Failed if it could not
    read the file. @program: its name in messages."""
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, check=False, timeout=TIMEOUT_S,
                                env={**os.environ, "LC_ALL": "C", **environment})
    except subprocess.TimeoutExpired:
        raise Slow("%s did not end within %d s" % (program, TIMEOUT_S)) from None
    errors = result.stderr.decode(errors="replace")
    if result.returncode < 0:
        raise Crashed(program, result.returncode, errors)
    if result.returncode or UNREAD in errors:
        failure = Refused if any(words in errors for words in REFUSALS) else Failed
        raise failure("%s ended with %d: %s" % (program, result.returncode, one_line(errors)))
    return result.stdout.decode("utf-8", "surrogateescape")


def can_read(folder: str, name: str, reader: Reader, home: str) -> bool:
    """Returns whether the reader can show the file @name of the case @folder."""
    with open(os.devnull, "w", encoding="utf-8", errors="surrogateescape") as file:
        try:
            reader.show(os.path.join(folder, name), home, Shown(file, reader.name, name))
            return True
        except (Crashed, Failed):
            return False


def write_shown(folder: str, name: str, reader: Reader, home: str,
                is_read_by_later: Callable[[Reader], bool]) -> bool:
    """Lets the reader show the file @name of the case @folder, in @folder/shown/READER.@name.
    @is_read_by_later: whether a later version can read a file of the case, so that a reader that
    refuses the format is older than it. Returns whether it succeeded; raises Slow."""
    path = os.path.join(folder, "shown", "%s.%s" % (reader.word(), name))
    if os.path.exists(path):
        return False  # --readers named this version twice
    with open(path, "x", encoding="utf-8", errors="surrogateescape") as file:
        shown = Shown(file, "%s %s" % (reader.name, reader.version), name)
        try:
            reader.show(os.path.join(folder, name), home, shown)
            return True
        except Slow:
            raise
        except (Crashed, Failed) as why:
            is_older = isinstance(why, Refused) and is_read_by_later(reader)
            shown.note("older" if is_older else "failed", str(why))
            return False


@contextlib.contextmanager
def show_perf_maps(folder: str) -> Iterator[None]:
    """Links the case's perf maps to /tmp, where readers find them, while its block runs."""
    maps = Published(folder)
    try:
        maps.link_maps()
        yield
    finally:
        maps.remove()


def is_chosen(reader: Reader, only: str) -> bool:
    """Returns whether @only names the reader: "perf", "perf-7.3" or "perf-7.3.4"; "": any."""
    word = reader.word()
    return not only or word == only or word.startswith((only + ".", only + "-"))


def read(options: argparse.Namespace, readers: Iterable[Reader]) -> None:
    """Lets all chosen readers show the files of a case, which jitproof lists in @options."""
    versions = sorted(readers, key=Reader.number, reverse=True)
    chosen = [reader for reader in versions if is_chosen(reader, options.only)]
    if not chosen:
        raise Missing("no reader is called %s" % options.only)
    with show_perf_maps(options.dir), tempfile.TemporaryDirectory() as home:
        able = []  # readers that have read a file

        def is_read_by_later(reader: Reader) -> bool:
            later = [other for other in versions if other.number() > reader.number()]
            return any(other in able for other in later) or any(
                can_read(options.dir, name, other, home)
                for other in later if other not in chosen for name in options.file)

        for name in options.file:
            for reader in chosen:
                if write_shown(options.dir, name, reader, home, is_read_by_later):
                    able.append(reader)
    report("done")
