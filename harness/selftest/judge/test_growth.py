# SPDX-License-Identifier: GPL-2.0-only
"""Time and memory of `judge FILE` for captures ten times as large (ci/bench/growth.py)."""

import os

from ci.bench import growth, usage
from harness.selftest.support.scratch import Folder, JITPROOF

KIB = 1024
MANY, PROCESSES, FORKS = 1_000_000, 100_000, 10_000
# Ten times as much input takes about ten times as long, or a hundred times if the cost is
# quadratic.
MOST_TIMES = 30


class Growth(Folder):
    def measure_judge(self, kind: str, count: int) -> tuple[float, int, int]:
        """Returns CPU seconds, peak memory in bytes, and the size of the file."""
        path = self.place("growth.data")
        growth.make(path, growth.KINDS[kind](count))
        seconds, peak = usage.measure_command([JITPROOF, "judge", "--json", path])
        return seconds, peak * KIB, os.path.getsize(path)

    def expect_bytes_each(self, kind: str, count: int, most: int) -> None:
        """Compares the memory that judging @count of a kind takes with that of 1000."""
        _, least, _ = self.measure_judge(kind, 1000)
        _, peak, _ = self.measure_judge(kind, count)
        self.assertLess((peak - least) / count, most)

    def test_samples_in_one_round(self) -> None:
        """Samples take less memory than 1.4 times the file, which is mapped."""
        _, least, _ = self.measure_judge("samples in one round", 1000)
        _, peak, size = self.measure_judge("samples in one round", MANY)
        self.assertLess(peak - least, 1.4 * size)

    def test_processes(self) -> None:
        """A process that does not end takes less than 1300 bytes, for its names and mappings."""
        self.expect_bytes_each("processes alive", PROCESSES, 1300)

    def test_mappings_below_others(self) -> None:
        """A mapping takes less than 500 bytes, for its record in the mapped file and the data that
        judge keeps."""
        self.expect_bytes_each("mappings, ascending below others", PROCESSES, 500)

    def test_forks_of_many_mappings(self) -> None:
        """A child copies only the mappings next to the changed one."""
        self.expect_bytes_each("forks of many mappings, each with another", FORKS, 5000)

    def test_nothing_is_quadratic(self) -> None:
        for kind in growth.KINDS:
            most = FORKS if kind.startswith("forks") else PROCESSES
            with self.subTest(kind):
                fewer, _, _ = self.measure_judge(kind, most // 10)
                larger, _, _ = self.measure_judge(kind, most)
                self.assertLess(larger, MOST_TIMES * fewer)
