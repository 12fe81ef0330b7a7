# SPDX-License-Identifier: GPL-2.0-only
"""Writes a stream of observations: samples and records as lines of text (docs/observations.md)."""

from typing import IO, Iterable, Sequence

# A frame: an address, a name, or both.
Frame = int | str | tuple[int, str | None]
Sample = tuple[int, int, int, list[Frame]]  # time in ns, pid, tid, user frames innermost first


def escape(name: str) -> str:
    """Escapes blanks, %, =, control characters, and the 0x of a name that looks like an address."""
    text = "".join("%%%02x" % byte if byte <= 32 or byte in b"%=\x7f" else chr(byte)
                   for byte in name.encode("utf-8", "surrogateescape") if byte)
    text = text.encode("latin-1").decode("utf-8", "surrogateescape")
    return "%30" + text[1:] if text.startswith("0x") else text or "?"


def format_frame(frame: Frame) -> str:
    if isinstance(frame, int):
        return "%#x" % frame
    if isinstance(frame, str):
        return escape(frame)
    address, name = frame
    return "%#x" % address if name is None else "%#x=%s" % (address, escape(name))


class Stream:
    """Writes one stream. Its lines need not be in order of time."""

    def __init__(self, file: IO[str], profiler: str = "", declares: Sequence[str] = (),
                 unwinder: str = "frame-pointers", period: int = 0) -> None:
        self.file = file
        self.samples = 0
        self.window = (0, 1 << 64)  # sample() drops samples outside these times
        self.outside = 0  # time of the last sample that was dropped for that reason
        self.line("jitproof-observations", 1)
        for word, value in (("profiler", profiler), ("declares", " ".join(declares)),
                            ("unwinder", unwinder), ("period", period)):
            if value:
                self.line(word, value)

    def line(self, *words: object) -> None:
        self.file.write(" ".join(map(str, words)) + "\n")

    def sample(self, time: int, pid: int, tid: int, frames: Iterable[Frame]) -> None:
        """Writes a sample. @frames: innermost first. @tid: -1 if unknown. In a stream with no-time,
        @time is the number of samples with this stack."""
        if self.window[0] <= time <= self.window[1]:
            self.line("sample", time, pid, tid if tid >= 0 else "-", *map(format_frame, frames))
            self.samples += 1
        else:
            self.outside = time

    def map(self, time: int, pid: int, line: str) -> None:
        """Writes a mapping. @line has the format of /proc/PID/maps."""
        self.line("map", time, pid, line.rstrip("\n"))

    def mapping(self, time: int, pid: int, start: int, end: int, permissions: str = "r-xp",
                offset: int = 0, device: str = "00:00", inode: int = 0, name: str = "") -> None:
        self.map(time, pid, "%x-%x %s %08x %s %d %s" % (
            start, end, permissions, offset, device, inode, name.replace("\n", "\\012")))

    def fork(self, time: int, pid: int, tid: int, parent: int, parent_tid: int) -> None:
        self.line("fork", time, pid, tid, parent, parent_tid)

    def exit(self, time: int, pid: int, tid: int) -> None:
        self.line("exit", time, pid, tid)

    def exec(self, time: int, pid: int, name: str) -> None:
        self.line("exec", time, pid, escape(name))

    def comm(self, time: int, pid: int, tid: int, name: str) -> None:
        self.line("comm", time, pid, tid, escape(name))

    def lost(self, time: int, kind: str, count: int) -> None:
        """Writes a loss. @what: "samples" or "records"."""
        self.line("lost", time, kind, count)
