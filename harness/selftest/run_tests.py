#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs the selftests named on the command line, sums their TAP, prints what failed.

A C test prints TAP; a Python test is a unittest file, whose modules are found from the tree's top:
run it there. Environment: O, JITPROOF (set by make); EMULATOR, the command that runs C tests of
another machine.
"""

import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import time

SECONDS = 600  # guards against a hang: under load, test_sanitized.py took 279
# Tests that take longest begin first, so that none of them runs alone at the end.
LONGEST = ("test_sanitized.py", "test_adapters.py", "test_wrong_profilers.py",
           "test_other_users_ordinary.py", "test_other_users.py", "test_trial.py",
           "test_trace.py", "test_tampered.py", "test_toy_profiler.py", "fuzz_perfdata",
           "test_readers.py", "test_killed.py", "test_hostile.py", "test_faults.py", "fuzz_case",
           "test_repro.py", "test_page_size.py", "test_inject.py", "test_matrix.py",
           "test_packages.py", "test_witness", "test_engines.py", "test_other_users_live.py",
           "test_golden.py")


def run(path: str) -> tuple[int, int, int, str, float]:
    """Returns passed, failed, skipped, the output and the seconds of one test program."""
    start = time.monotonic()
    python = path.endswith(".py")
    command = [sys.executable, "-m", "unittest", "-v", path] if python else \
        os.environ.get("EMULATOR", "").split() + [path]
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                stdin=subprocess.DEVNULL, timeout=SECONDS, check=False,
                                text=True, errors="replace")
        output, status = result.stdout, result.returncode
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"").decode(errors="replace") + f"# no end after {SECONDS} s\n"
        status = -1
    if python:
        passed, failed, skipped = count_unittest(output)
    else:
        passed, failed, skipped = count_tap(output)
    # A program that died after its last good line did not pass.
    if status and not failed:
        failed += 1
        output += f"# exit status {status}\n"
    if not passed and not failed and not skipped:
        failed += 1
        output += "# it tested nothing\n"
    return passed, failed, skipped, output, time.monotonic() - start


def count_tap(output: str) -> tuple[int, int, int]:
    passed = failed = skipped = 0
    for line in output.splitlines():
        if re.match(r"ok \d+.*# SKIP", line):
            skipped += 1
        elif re.match(r"ok \d+", line):
            passed += 1
        elif re.match(r"not ok \d+", line):
            failed += 1
    plan = re.search(r"^1\.\.(\d+)", output, re.M)
    if plan and int(plan.group(1)) != passed + failed + skipped:
        failed += 1
    return passed, failed, skipped


def count_unittest(output: str) -> tuple[int, int, int]:
    ran = re.search(r"^Ran (\d+) tests?", output, re.M)
    total = int(ran.group(1)) if ran else 0
    tail = output.rsplit("\n", 3)[-2] if output.count("\n") > 2 else ""

    def find_count(word: str) -> int:
        match = re.search(word + r"=(\d+)", tail)
        return int(match.group(1)) if match else 0

    failed = find_count("failures") + find_count("errors")
    skipped = find_count("skipped")
    passed = max(total - failed - skipped, 0)
    return passed, failed, skipped


def count_inputs(output: str) -> str:
    """Returns the number of inputs that a fuzz target tried, as text."""
    match = re.search(r"(?m)^ok \d+ - .*: (\d+ inputs)$", output)
    return f", {match.group(1)}" if match else ""


def main() -> int:
    # A shell starts jobs in the background with SIGINT ignored, nohup with SIGHUP; tests send both.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    totals = [0, 0, 0]
    if len(sys.argv) < 2:
        print("selftest: there is no test", file=sys.stderr)
        return 99
    place = {name: i for i, name in enumerate(LONGEST)}
    paths = sorted(sys.argv[1:], key=lambda path: place.get(os.path.basename(path), len(place)))
    # Tests spend half of their time waiting for processes, timers and files.
    pool = concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1))
    running = {path: pool.submit(run, path) for path in paths}
    for path in sys.argv[1:]:
        passed, failed, skipped, output, seconds = running[path].result()
        for i, count in enumerate((passed, failed, skipped)):
            totals[i] += count
        name = os.path.relpath(path)
        print(f"{'not ok' if failed else 'ok'} {name}: {passed} passed, {failed} failed, "
              f"{skipped} skipped{count_inputs(output)} ({seconds:.1f} s)", flush=True)
        if failed or skipped:
            for line in output.splitlines():
                if not re.match(r"ok \d+(?!.*# SKIP)", line):
                    print(f"  {line}")
        else:
            for line in output.splitlines():
                if line.startswith("| "):  # a table is for reading
                    print(f"  {line}")
    print(f"selftest: {totals[0]} passed, {totals[1]} failed, {totals[2]} skipped")
    return 1 if totals[1] else 0


if __name__ == "__main__":
    sys.exit(main())
