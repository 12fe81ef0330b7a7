# SPDX-License-Identifier: GPL-2.0-only
"""Runs `perf script` and `perf report`, and parses their output."""

import collections
import functools
import itertools
import re
from typing import Iterator, NamedTuple

from adapting.protocol import Failed
from adapting.shown import Named, Shown, output_of

FIELDS = "pid,tid,time,ip,sym,symoff"
HEAD = re.compile(r"\s*(-?\d+)/(-?\d+)\s+(\d+)\.(\d{9}):")
FRAME = re.compile(r"\s*([0-9a-f]+) (?:(.*)\+0x([0-9a-f]+)|(.*?))(?: \((.*)\))?$")
# A row of `perf report -F sample,pid,sym -t TAB`, of a function in user space ("[.]") with a name.
# Instead of an unknown name perf prints an address by "%#.16llx", which writes no "0x" before 0.
SHARE = re.compile(
    r"\s*(\d+)\s*\t\s*(-?\d+):[^\t]*\t\[\.\] (?!(?:0x[0-9a-f]{16}|0{16})\s*$)(.*?)\s*$")
KERNEL = 1 << 63  # the lowest kernel address
MOST_FRAMES = 1024  # most frames of a stack; perf itself allows a few thousand more


class Place(NamedTuple):
    """A frame as perf prints it. @name: None if perf knows none. @file: of the mapping, None if
    the field dso is not printed: such a name may have a newline."""
    address: int
    name: str | None
    offset: int | None
    file: str | None

    @property
    def frame(self) -> Named | tuple[int, str | None]:
        if self.name is None or self.offset is None:
            return self.address, self.name
        return Named(self.address, self.name, self.offset)

    def is_in_kernel(self) -> bool:
        return self.address >= KERNEL


class Printed(NamedTuple):
    """A sample as perf prints it, with all frames, innermost first. @time: in ns."""
    time: int
    pid: int
    tid: int
    frames: list[Place]


@functools.lru_cache(1 << 16)  # cache, since most stacks repeat lines of others
def parse_place(line: str) -> Place | None:
    match = FRAME.match(line)
    if not match:
        return None
    address, name, offset, bare, file = match.groups()
    if name is None:
        name = None if bare in ("[unknown]", "") else bare
    return Place(int(address, 16), name, None if offset is None else int(offset, 16), file)


def parse(text: str) -> Iterator[Printed]:
    """Yields the samples in the output of `perf script`. Without a call graph, the only frame is on
    the first line of its sample."""
    sample: Printed | None = None
    for line in text.splitlines():
        head = HEAD.match(line)
        if head:
            if sample:
                yield sample
            pid, tid, seconds, fraction = map(int, head.groups())
            sample = Printed(seconds * 10**9 + fraction, pid & 0xffffffff, tid & 0xffffffff, [])
            line = line[head.end():]
        if sample and (place := parse_place(line)):
            sample.frames.append(place)
    if sample:
        yield sample


def user_frames(places: list[Place]) -> list[Named | tuple[int, str | None]]:
    """Returns the frames after the leading kernel frames. A damaged user stack may contain
    addresses that look like those of the kernel, so later frames are all kept."""
    return [place.frame for place in itertools.dropwhile(Place.is_in_kernel, places)]


def parse_shares(text: str) -> collections.Counter[tuple[int, str]]:
    """Returns the number of samples by thread and function in the output of `perf report`, whose
    key "pid" is the thread's id. It has a table for each event."""
    counts = collections.Counter[tuple[int, str]]()
    for samples, tid, name in (match.groups() for match in map(SHARE.match, text.splitlines())
                               if match):
        counts[int(tid) & 0xffffffff, name] += int(samples)
    return counts


def show(perf: str, path: str, home: str, shown: Shown) -> None:
    """Writes what `perf script` shows of the file at @path: with -G the sampled address, which call
    graphs hide, and the call graphs; and the shares that `perf report` shows. @home: folder for
    perf's cache of files."""
    cache = ("--buildid-dir", home)
    options = (*cache, "script", "--no-inline", "--ns", "-F", FIELDS, "-i", path)
    environment = {"PERF_CONFIG": "/dev/null", "DEBUGINFOD_URLS": "", "HOME": home}
    flat = list(parse(output_of("perf script -G", perf, *options, "-G", **environment)))
    graphs = list(parse(output_of("perf script", perf, *options, "--max-stack", str(MOST_FRAMES),
                                  **environment)))
    if [sample[:3] for sample in flat] != [sample[:3] for sample in graphs]:
        raise Failed("perf script shows other samples with -G than without")
    for event, graph in zip(flat, graphs):
        top = user_frames(event.frames)
        shown.sample(event.time, event.pid, event.tid, top[0] if top else None,
                     user_frames(graph.frames))
    shown.shares(parse_shares(output_of(
        "perf report", perf, *cache, "report", "--stdio", "--no-inline", "--no-children",
        "-g", "none", "-F", "sample,pid,sym", "-t", "\t", "-i", path, **environment)))
