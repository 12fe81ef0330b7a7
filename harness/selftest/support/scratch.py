# SPDX-License-Identifier: GPL-2.0-only
"""Paths of the tree and of the build, and a temporary folder for each test.

Environment: O, the build's folder; JITPROOF, the program; SELFTEST, the program with faulty
workloads and facts; BUILDS, the folders in O of the test programs.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Sequence

from ci.base import files, process

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # harness/selftest
ROOT = os.path.dirname(os.path.dirname(HERE))
CI = os.path.join(ROOT, "ci")
FIXTURES = os.path.join(ROOT, "validators", "fixtures")
BUILD = os.path.abspath(os.environ.get("O", os.path.join(ROOT, "build")))
JITPROOF = os.path.abspath(os.environ.get("JITPROOF") or os.path.join(BUILD, "jitproof"))
# Test programs: a plain build and a build with sanitizers.
PROGRAMS = [os.path.join(BUILD, folder)
            for folder in (os.environ.get("BUILDS") or "selftest asan").split()]
# The jitproof with faulty workloads and facts.
BINARY = os.path.abspath(os.environ.get("SELFTEST") or
                         os.path.join(PROGRAMS[0], "jitproof-selftest"))
# Runs a command for which perf_event_open fails; the first argument is the error.
DENY = [sys.executable, os.path.join(CI, "tests", "deny_perf.py")]
MATRIX = [sys.executable, os.path.join(CI, "matrix")]


def run_binary(*arguments: str, before: Sequence[str] = (),
               **more: Any) -> subprocess.CompletedProcess[str]:
    """Runs the jitproof with faulty workloads and facts; @before: a wrapper command."""
    return process.run([*before, BINARY, *arguments], **{"timeout": 90, **more})


def needs_namespaces(test: unittest.TestCase) -> None:
    probe = process.run(["unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/mnt"])
    if probe.returncode:
        test.skipTest("no user and mount namespace: " + probe.stderr.strip())


def stay_on_one_cpu(test: unittest.TestCase) -> None:
    """Where tracer and traced thread share a CPU, each step wakes no other CPU: that takes up to
    five times as long in a guest."""
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(usable)[os.getpid() % len(usable)]})
    test.addCleanup(os.sched_setaffinity, 0, usable)


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        home = tempfile.TemporaryDirectory(prefix="jitproof-")
        self.addCleanup(home.cleanup)
        self.home = os.path.realpath(home.name)

    def place(self, *names: str) -> str:
        return os.path.join(self.home, *names)

    def write(self, text: str, *names: str, runs: bool = False) -> str:
        os.makedirs(os.path.dirname(self.place(*names)), exist_ok=True)
        with open(self.place(*names), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        if runs:
            os.chmod(self.place(*names), 0o755)
        return self.place(*names)

    def read(self, *names: str) -> str:
        return files.read(self.place(*names))
