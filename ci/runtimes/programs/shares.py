# SPDX-License-Identifier: GPL-2.0-only
"""A Python program that knows what a profiler must say of it: how much time went into which
functions. Standard output: `ready`, then a line a round; a line on standard input ends it, and the
last line is the truth, {"main;outer;hot": [ns by the wall's clock, ns of CPU time], ...}."""

import json
import select
import time

TRUTH: dict[str, list[int]] = {}
BATCH = 40  # calls; a system call is where the kernel likes to give the CPU to others


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


def note(path: str, wall: int, cpu: int) -> None:
    sums = TRUTH.setdefault(path, [0, 0])
    sums[0] += wall
    sums[1] += cpu


def spent(path: str, before: tuple[int, int]) -> tuple[int, int]:
    """Notes what passed since @before; returns the clocks from which the next one counts."""
    wall = time.monotonic_ns()
    cpu = time.thread_time_ns()
    after = time.monotonic_ns()
    note(path, wall - before[0], cpu - before[1])
    note("main", after - wall, 0)
    return after, cpu


def main() -> None:
    print("ready", flush=True)
    now = time.monotonic_ns(), time.thread_time_ns()
    while not select.select([0], [], [], 0)[0]:
        now = spent("main", now)
        for _ in range(BATCH):
            outer(60000)
        now = spent("main;outer;hot", now)
        for _ in range(BATCH):
            warm(30000)
        now = spent("main;warm", now)
        for _ in range(BATCH):
            deep(8, 20000)
        now = spent("main;" + 9 * "deep;" + "warm", now)
        print("round", flush=True)
    print(json.dumps(TRUTH), flush=True)


main()
