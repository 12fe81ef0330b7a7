# SPDX-License-Identifier: GPL-2.0-only
"""What profilers share that add up and tell at their end alone."""

import os


def cpu_seconds(pid: int) -> float:
    """CPU time that the process took so far."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Estimate:
    """As many samples as the CPU time of a process says since it was first asked."""

    def __init__(self, pid: int, frequency: int) -> None:
        self.pid, self.frequency, self.before = pid, frequency, cpu_seconds(pid)

    def samples(self) -> int:
        return max(0, int((cpu_seconds(self.pid) - self.before) * self.frequency))
