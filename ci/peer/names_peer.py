#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds the names that `jitproof judge --json FILE` counts against those that perf script prints.

Each sample in user space is named or not, by process; perf and we must agree on how many are. A
perf that cannot read the file is passed over.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
from typing import Iterable

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import process
from ci.base.status import Missing
from ci.peer import perf_tools

KERNEL = 1 << 63
# The perfs whose rules judge counts by; another is held against the last one before it.
KNOWN = ((5, 10), (6, 1), (6, 12), (7, 2), (7, 3))


def by_perf(perf: perf_tools.Perf, path: str) -> dict[int, list[int]]:
    """Samples in user space, those with a name, and those in a vDSO without one, by pid. Missing:
    it cannot read the file."""
    done = perf.run("script", "-i", path, "-G", "-F", "pid,ip,sym,dso")
    if done.returncode or not done.stdout:
        raise Missing("perf %s: %s" % (perf.version, done.stderr.strip().splitlines()[-1:]))
    found: dict[int, list[int]] = collections.defaultdict(lambda: [0, 0, 0])
    for line in done.stdout.splitlines():
        words = line.split(None, 2)
        if len(words) < 3 or int(words[1], 16) >= KERNEL:
            continue
        counts = found[int(words[0])]
        counts[0] += 1
        counts[1] += not words[2].startswith("[unknown]")
        counts[2] += words[2] == "[unknown] ([vdso])"
    return found


def by_judge(jitproof: str, path: str, version: tuple[int, ...]) -> dict[int, list[int]]:
    done = process.run([jitproof, "judge", "--json", path], timeout=600)
    if done.returncode:
        raise Missing("judge: %s" % done.stderr)
    name = "%d.%d" % max(known for known in KNOWN if known <= max(version[:2], KNOWN[0]))
    return {one["pid"]: [one["names"]["samples"], one["names"]["named_by_perf"][name]]
            for one in json.loads(done.stdout)["processes"] if "names" in one}


def differences(perf: perf_tools.Perf, jitproof: str, path: str) -> list[str]:
    """What perf and judge count differently; nothing where they agree. Where its cache has no
    vDSO, perf names nothing in it; judge reads its own."""
    theirs, ours = by_perf(perf, path), by_judge(jitproof, path, perf.number)
    found = []
    for pid in sorted(set(theirs) | set(ours)):
        samples, named, vdso = theirs.get(pid, [0, 0, 0])
        judged = ours.get(pid, [0, 0])
        if judged[0] != samples or not named <= judged[1] <= named + vdso:
            found.append("%s: perf %s: pid %d: samples, and named: %s (and at most %d in the "
                         "vDSO); judge: %s" % (path, perf.version, pid, [samples, named], vdso,
                                               judged))
    return found


def perfs_of(wanted: Iterable[str]) -> list[perf_tools.Perf]:
    return [perf_tools.installed() if one == perf_tools.INSTALLED
            else perf_tools.Perf(one, perf_tools.version_of(one), one) for one in wanted]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jitproof", default="build/jitproof")
    parser.add_argument("--perf", action="append", help="path, or 'installed' (the default)")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    for perf in perfs_of(options.perf or [perf_tools.INSTALLED]):
        for path in options.files:
            try:
                found = differences(perf, options.jitproof, path)
            except (Missing, subprocess.TimeoutExpired) as why:
                print("SKIP %s: %s" % (path, why))
                counts["skipped"] += 1
                continue
            print("\n".join(found) or "ok %s: perf %s" % (path, perf.version))
            counts["failed" if found else "passed"] += 1
    print("%d passed, %d failed, %d skipped" % tuple(
        counts[name] for name in ("passed", "failed", "skipped")))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
