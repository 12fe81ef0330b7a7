# SPDX-License-Identifier: GPL-2.0-only
"""Writes a stream of observations (docs/observations.md)."""

from typing import IO, Iterable, Sequence

# A frame: an address, a name, or both.
Frame = int | str | tuple[int, str | None]


def escape(name: str) -> str:
    """What a blank, a % or a control character in a name becomes; and a name like an address."""
    text = "".join("%%%02x" % byte if byte <= 32 or byte in b"%=\x7f" else chr(byte)
                   for byte in name.encode("utf-8", "surrogateescape") if byte)
    text = text.encode("latin-1").decode("utf-8", "surrogateescape")
    return "%30" + text[1:] if text.startswith("0x") else text or "?"


def frame(what: Frame) -> str:
    if isinstance(what, int):
        return "%#x" % what
    if isinstance(what, str):
        return escape(what)
    address, name = what
    return "%#x" % address if name is None else "%#x=%s" % (address, escape(name))


class Stream:
    """One file; lines may come in any order of time."""

    def __init__(self, file: IO[str], profiler: str = "", declares: Sequence[str] = (),
                 unwinder: str = "frame-pointers", period: int = 0) -> None:
        self.file = file
        self.samples = 0
        self.window = (0, 1 << 64)  # samples of before or after it are not told
        self.outside = 0  # the time of one of those
        self.line("jitproof-observations", 1)
        for word, value in (("profiler", profiler), ("declares", " ".join(declares)),
                            ("unwinder", unwinder), ("period", period)):
            if value:
                self.line(word, value)

    def line(self, *words: object) -> None:
        self.file.write(" ".join(map(str, words)) + "\n")

    def sample(self, time: int, pid: int, tid: int, frames: Iterable[Frame]) -> None:
        """@frames: innermost first. Where there is no time, @time is how many such samples."""
        if self.window[0] <= time <= self.window[1]:
            self.line("sample", time, pid, tid if tid >= 0 else "-", *map(frame, frames))
            self.samples += 1
        else:
            self.outside = time

    def map(self, time: int, pid: int, line: str) -> None:
        """@line: as of /proc/PID/maps."""
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

    def lost(self, time: int, what: str, count: int) -> None:
        """@what: samples or records."""
        self.line("lost", time, what, count)
