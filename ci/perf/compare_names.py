# SPDX-License-Identifier: GPL-2.0-only
"""Compares the names that `jitproof judge --json FILE` counts with those that perf script prints:
for each process, both must name the same number of samples in user space."""

import collections

from ci.base.status import Missing
from ci.perf import compare_figures, perf_tools

KERNEL = 1 << 63
KNOWN = ((5, 10), (6, 1), (6, 12), (7, 2), (7, 3))


def count_by_perf(perf: perf_tools.Perf, path: str) -> dict[int, list[int]]:
    """Returns by pid the number of samples in user space, of those with a name, and of those in a
    vDSO without a name. Raises Missing if perf cannot read the file."""
    result = perf.run("script", "-i", path, "-G", "-F", "pid,ip,sym,dso")
    if result.returncode or not result.stdout:
        raise Missing("perf %s: %s" % (perf.version, result.stderr.strip().splitlines()[-1:]))
    counts_of: dict[int, list[int]] = collections.defaultdict(lambda: [0, 0, 0])
    for line in result.stdout.splitlines():
        words = line.split(None, 2)
        if len(words) < 3 or int(words[1], 16) >= KERNEL:
            continue
        counts = counts_of[int(words[0])]
        counts[0] += 1
        counts[1] += not words[2].startswith("[unknown]")
        counts[2] += words[2] == "[unknown] ([vdso])"
    return counts_of


def count_by_judge(jitproof: str, path: str, version: tuple[int, ...]) -> dict[int, list[int]]:
    name = "%d.%d" % max(number for number in KNOWN if number <= max(version[:2], KNOWN[0]))
    processes = compare_figures.read_judge(jitproof, path)["processes"]
    return {pid: [judged["names"]["samples"], judged["names"]["named_by_perf"][name]]
            for pid, judged in processes.items() if "names" in judged}


def find_differences(perf: perf_tools.Perf, jitproof: str, path: str) -> list[str]:
    """Returns a line for each process that perf and judge count differently. perf names code of a
    vDSO only if its cache has the vDSO, judge always."""
    theirs, ours = count_by_perf(perf, path), count_by_judge(jitproof, path, perf.number)
    differences = []
    for pid in sorted(set(theirs) | set(ours)):
        samples, nr_named, vdso = theirs.get(pid, [0, 0, 0])
        judged = ours.get(pid, [0, 0])
        if judged[0] != samples or not nr_named <= judged[1] <= nr_named + vdso:
            differences.append("%s: perf %s: pid %d: samples, and named: %s (and at most %d in the "
                         "vDSO); judge: %s" % (path, perf.version, pid, [samples, nr_named], vdso,
                                               judged))
    return differences
