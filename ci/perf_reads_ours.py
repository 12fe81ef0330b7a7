#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""perf_reads_ours.py JITPROOF DIR...: opens every capture below DIR with the installed perf.

perf must print nothing on standard error and count the samples that `jitproof judge --json` counts.
Ends with "N passed, N failed, N skipped"; exits 1 when anything failed.
"""

import json
import os
import re
import shutil
import subprocess
import sys


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300, check=False,
                          env={**os.environ, "LC_ALL": "C", "PAGER": "cat"})
    return done.returncode, done.stdout.decode(errors="replace"), \
        done.stderr.decode(errors="replace")


def captures(folders):
    found = []
    for folder in folders:
        for path, _, names in os.walk(folder):
            if "perf.data" in names:
                found.append(os.path.join(path, "perf.data"))
    return sorted(found)


def complaints(jitproof, path):
    """What is wrong with @path, as a list of sentences."""
    wrong = []
    status, output, errors = run(jitproof, "judge", "--json", path)
    if status:
        return [f"jitproof judge --json: exit {status}: {errors.strip()}"]
    ours = json.loads(output)["samples"]
    if not ours:
        wrong.append("jitproof counts no sample")
    for what, command, count in (
            ("report --stats", ("perf", "report", "-i", path, "--stats"),
             lambda text: int(re.search(r"\bSAMPLE events: +(\d+)", text).group(1))),
            ("report --stdio", ("perf", "report", "-i", path, "--stdio", "-g", "none",
                                "--no-children", "--sort", "comm", "--show-nr-samples"),
             lambda text: sum(int(line.split()[1]) for line in text.splitlines()
                              if line.strip() and not line.startswith("#"))),
            ("script", ("perf", "script", "-i", path, "-F", "tid,time"),
             lambda text: len([line for line in text.splitlines() if line.strip()]))):
        status, output, errors = run(*command)
        if status:
            wrong.append(f"perf {what}: exit {status}")
        if errors.strip():
            wrong.append(f"perf {what} says: {errors.strip().splitlines()[0]}")
        try:
            theirs = count(output)
        except (AttributeError, ValueError, IndexError):
            wrong.append(f"perf {what}: no count in its output")
            continue
        if theirs != ours:
            wrong.append(f"perf {what} counts {theirs} samples, jitproof {ours}")
    return wrong


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    if not shutil.which("perf"):
        print("# SKIP perf is not installed\n0 passed, 0 failed, 1 skipped")
        return 0
    passed = failed = 0
    for path in captures(sys.argv[2:]):
        wrong = complaints(sys.argv[1], path)
        print(f"{'not ok' if wrong else 'ok'} {path}")
        for line in wrong:
            print(f"  {line}")
        failed += bool(wrong)
        passed += not wrong
    if not passed and not failed:
        print("no capture was found")
        failed = 1
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
