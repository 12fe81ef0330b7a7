# SPDX-License-Identifier: GPL-2.0-only
"""Tests a signal at a random moment of each command: it leaves no process, mount or temporary
folder, and no partial output under the output's name."""

import contextlib
import ctypes
import os
import random
import shutil
import signal
import subprocess
import time

from ci.base import files, process
from harness.selftest.support.scratch import FIXTURES, Folder, JITPROOF

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, linux/prctl.h
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
TRIES, KILLS = 3, 24
MEMFD, GROWTH = os.path.join(FIXTURES, "memfd"), os.path.join(FIXTURES, "growth")
KNOWN = ["--expected", FIXTURES + "/expected"]
# (command, latest moment of the signal in seconds): about the command's run time
COMMANDS: dict[str, tuple[list[str], float]] = {
    "run --jobs": (["run", "-j2", "attach/before-open.*"], 1.5),
    "record": (["record", "-o", "OUT", "--", "sleep", "0.2"], 0.3),
    "score": (["score", "--profiler=jitproof", "--samples=20", "--seconds=2", "fork_exec"], 1.5),
    "repro": (["repro", "process-tree/fork_exec.perf", "-o", "OUT"], 1.2),
    "repro --from": (["repro", "fixture/anon", *KNOWN, "--from", FIXTURES + "/anon", "-o",
                      "OUT"], 0.1),
    "inject": (["inject", "--jitdump-dir", GROWTH, "-i", GROWTH + "/perf.data", "-o", "OUT"],
               0.02),
    "explain": (["explain", "--elf", MEMFD + "/elf", MEMFD + "/perf.data"], 0.03),
    "explain --truth": (["explain", "--truth", MEMFD + "/truth", MEMFD + "/perf.data"], 0.06),
    "judge --truth": (["judge", "--truth", MEMFD + "/truth", MEMFD + "/perf.data"], 0.06),
    "judge --stacks": (["judge", "--elf", MEMFD + "/elf", "--stacks", "OUT",
                        MEMFD + "/perf.data"], 0.02),
    "judge --results": (["judge", *KNOWN, "--results", "OUT", FIXTURES + "/anon"], 0.1),
    "adapter": (["adapter", "check", "perf"], 1.5),
}


class Killed(Folder):
    def setUp(self) -> None:
        super().setUp()
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
        self.addCleanup(ctypes.CDLL(None).prctl, SUBREAPER, 0, 0, 0, 0)
        os.mkdir(self.place("tmp"))
        self.mounts, self.chance = files.read("/proc/self/mounts"), random.Random(1)

    def clear_output(self) -> None:
        shutil.rmtree(self.place("out"), ignore_errors=True)
        os.mkdir(self.place("out"))

    def run_whole(self, arguments: list[str]) -> int:
        """Runs the command undisturbed; returns the size of its output, -1 without output."""
        self.start_command(arguments).wait(timeout=240)
        self.assertEqual(self.find_leftovers(), [])
        return self.output_size()

    def output_size(self) -> int:
        with contextlib.suppress(FileNotFoundError):
            return os.path.getsize(self.place("out", "file"))
        return -1

    def start_command(self, arguments: list[str],
                      stdout: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [JITPROOF, *(self.place("out", "file") if word == "OUT" else word
                         for word in arguments)],
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": self.place("tmp")})

    def find_leftovers(self) -> list[str]:
        """Returns leftovers: orphaned processes, which became children of this one, and files."""
        return process.list_children() + os.listdir(self.place("tmp"))

    def expect_no_leftovers(self) -> None:
        """Asserts that all processes and files that the command left disappear."""
        end = time.monotonic() + 240
        while self.find_leftovers() and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(self.find_leftovers(), [])
        self.assertEqual(files.read("/proc/self/mounts"), self.mounts)

    def kill_command(self, name: str, number: signal.Signals, moment: float, size: int) -> None:
        with self.start_command(COMMANDS[name][0]) as command:
            time.sleep(moment)  # wait until the random moment of the signal
            command.send_signal(number)
            self.assertIn(command.wait(timeout=240), (-number, 0, 1, 4))
        self.expect_no_leftovers()
        leftovers = os.listdir(self.place("out"))
        self.assertIn([file for file in leftovers if file != "file.jit"], ([], ["file"]))
        if name in ("inject", "judge --stacks", "judge --results") and "file" in leftovers:
            self.assertEqual(self.output_size(), size)

    def test_each_command(self) -> None:
        for name, (arguments, seconds) in COMMANDS.items():
            self.clear_output()
            size = self.run_whole(arguments)
            self.assertEqual(size >= 0, "OUT" in arguments)
            for nth in range(TRIES):
                number, moment = SIGNALS[nth % len(SIGNALS)], self.chance.uniform(0, seconds)
                self.clear_output()
                with self.subTest(command=name, signal=number, moment=moment):
                    self.kill_command(name, number, moment, size)

    def test_run(self) -> None:
        """Workloads that fork, exec and leave their session are all ended, whether `run` is killed
        while it starts or later."""
        for nth in range(KILLS):
            started = nth % 2
            moment = self.chance.uniform(0, 0.6 if started else 0.1)
            cases = ("process-tree/*", "attach/*", "tree/*")[nth % 3]
            with self.subTest(cases, moment=moment), \
                    self.start_command(["run", cases], subprocess.PIPE) as run:
                if started:
                    assert run.stdout
                    run.stdout.readline()
                time.sleep(moment)  # wait until the random moment of the signal
                run.kill()
            self.expect_no_leftovers()
