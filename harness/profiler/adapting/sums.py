# SPDX-License-Identifier: GPL-2.0-only
"""What profilers share that add up and tell at their end alone."""

import os
from typing import Callable, Iterator, Sequence

from adapting.observations import Stream
from adapting.protocol import Failed

# What sums of names lack.
LACKS = ("no-time", "no-addresses", "no-threads", "no-losses")


def cpu_seconds(pid: int) -> float:
    """CPU time that the process took so far."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tell(stream: Stream, pid: int, path: str,
         stacks: Callable[[str], Iterator[tuple[int, Sequence[str]]]]) -> None:
    """What @stacks makes of a profile's text: (count, names, innermost first)."""
    if not os.path.exists(path):
        raise Failed("the profiler wrote no %s" % os.path.basename(path))
    with open(path, encoding="utf-8", errors="surrogateescape") as profile:
        for count, names in stacks(profile.read()):
            stream.sample(count, pid, -1, names)


class Estimate:
    """As many samples as the CPU time of a process says since it was first asked."""

    def __init__(self, pid: int, frequency: int) -> None:
        self.pid, self.frequency, self.before = pid, frequency, cpu_seconds(pid)

    def samples(self) -> int:
        return max(0, int((cpu_seconds(self.pid) - self.before) * self.frequency))
