# SPDX-License-Identifier: GPL-2.0-only
"""What profilers of a whole machine are asked about: a process, and all that descend from it."""

import os
from typing import Iterator


def threads_of(pid: int) -> Iterator[int]:
    """Those of a process and of all that descend from it."""
    try:
        for thread in map(int, os.listdir("/proc/%d/task" % pid)):
            yield thread
            with open("/proc/%d/task/%d/children" % (pid, thread), encoding="ascii") as file:
                children = [int(child) for child in file.read().split()]
            for child in children:
                yield from threads_of(child)
    except OSError:
        return  # it ended


def strangers(pid: int) -> set[int]:
    """The processes that are there, and are none of those: what comes later may be a child."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit()} - {pid, *threads_of(pid)}
