# SPDX-License-Identifier: GPL-2.0-only
"""Helpers for adapters of profilers that only count how often each stack occurred."""

import os
from typing import Callable, Iterator, Sequence

from adapting.observations import Stream
from adapting.protocol import Failed

# What a stream of observations declares to lack if the profiler only counts stacks of names.
LACKS = ("no-time", "no-addresses", "no-threads", "no-losses")


def cpu_seconds(pid: int) -> float:
    """Returns the CPU time of a process in seconds, or 0 if it is gone."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write_stacks(stream: Stream, pid: int, path: str,
                 stacks: Callable[[str], Iterator[tuple[int, Sequence[str]]]]) -> None:
    """Writes the profile @path to @stream as samples of @pid. @stacks parses its text and yields
    (count, names innermost first). Raises Failed if the profile does not exist."""
    if not os.path.exists(path):
        raise Failed("the profiler wrote no %s" % os.path.basename(path))
    with open(path, encoding="utf-8", errors="surrogateescape") as profile:
        for count, names in stacks(profile.read()):
            stream.sample(count, pid, -1, names)


class Estimate:
    """Estimates the number of samples from the CPU time that a process used since this object was
    made."""

    def __init__(self, pid: int, frequency: int) -> None:
        self.pid, self.frequency, self.before = pid, frequency, cpu_seconds(pid)

    def samples(self) -> int:
        return max(0, int((cpu_seconds(self.pid) - self.before) * self.frequency))
