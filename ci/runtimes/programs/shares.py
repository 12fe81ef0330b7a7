# SPDX-License-Identifier: GPL-2.0-only
"""A Python program that measures how much time its functions take, to test profilers. Standard
output: `ready`, then `round` after each round. A line on standard input ends it. The last line is
the truth: {"main;outer;hot": [ns of wall clock, ns of CPU time], ...}."""

import json
import select
import time

TRUTH: dict[str, list[int]] = {}
BATCH = 40  # calls between two system calls, at which the kernel often switches to another process


def hot(count: int) -> int:
    number = 0
    for i in range(count):
        number += i
    return number


def warm(count: int) -> int:
    number = 1
    for i in range(count):
        number ^= i
    return number


def deep(depth: int, count: int) -> int:
    return deep(depth - 1, count) if depth else warm(count)


def outer(count: int) -> int:
    return hot(count)


def add_time(path: str, wall: int, cpu: int) -> None:
    sums = TRUTH.setdefault(path, [0, 0])
    sums[0] += wall
    sums[1] += cpu


def end_interval(path: str, before: tuple[int, int]) -> tuple[int, int]:
    """Adds the time since @before to @path. Returns the clocks at which the next interval
    begins."""
    wall = time.monotonic_ns()
    cpu = time.thread_time_ns()
    after = time.monotonic_ns()
    add_time(path, wall - before[0], cpu - before[1])
    add_time("main", after - wall, 0)
    return after, cpu


def main() -> None:
    print("ready", flush=True)
    now = time.monotonic_ns(), time.thread_time_ns()
    while not select.select([0], [], [], 0)[0]:
        now = end_interval("main", now)
        for _ in range(BATCH):
            outer(60000)
        now = end_interval("main;outer;hot", now)
        for _ in range(BATCH):
            warm(30000)
        now = end_interval("main;warm", now)
        for _ in range(BATCH):
            deep(8, 20000)
        now = end_interval("main;" + 9 * "deep;" + "warm", now)
        print("round", flush=True)
    print(json.dumps(TRUTH), flush=True)


main()
