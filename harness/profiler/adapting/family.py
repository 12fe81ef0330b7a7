# SPDX-License-Identifier: GPL-2.0-only
"""Finds the descendants of a process, for profilers that sample the whole machine."""

import os
from typing import Iterator


def list_threads(pid: int) -> Iterator[int]:
    """Yields the tids of a process and of its descendants."""
    try:
        for thread in map(int, os.listdir("/proc/%d/task" % pid)):
            yield thread
            with open("/proc/%d/task/%d/children" % (pid, thread), encoding="ascii") as file:
                children = [int(child) for child in file.read().split()]
            for child in children:
                yield from list_threads(child)
    except OSError:
        return  # the process ended


def list_other_processes(pid: int) -> set[int]:
    """Returns the pids of all present processes except @pid and its descendants."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit()} - {pid, *list_threads(pid)}
