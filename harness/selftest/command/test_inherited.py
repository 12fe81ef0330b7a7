# SPDX-License-Identifier: GPL-2.0-only
"""Tests commands with inherited state: they do not end children from before the exec, work with
ignored and blocked signals, and record nothing if /proc shows another pid namespace."""

import os
import signal
import subprocess

from ci.base import process
from harness.selftest.support.scratch import FIXTURES, Folder, JITPROOF

ANON, MEMFD, GROWTH = (os.path.join(FIXTURES, name) for name in ("anon", "memfd", "growth"))
# Two children; the second is orphaned, and its parent becomes the command.
CHILDREN = """quiet() { exec "$@" >/dev/null 2>&1; }
>pids; quiet sleep 60 & echo $! >>pids
(quiet sleep 60 & echo $! >>pids; quiet sleep 0.02) &
while [ $(wc -l <pids) -lt 2 ]; do :; done
"""
SHORT = ["--samples=20", "--seconds=2"]


class Inherited(Folder):
    def list_commands(self) -> list[list[str]]:
        """Returns each command that ends leftover children."""
        return [["repro", "fixture/anon", "--expected", FIXTURES + "/expected", "--from", ANON,
                 "-o", self.place("x.tar")],
                ["judge", "--truth", MEMFD + "/truth", MEMFD + "/perf.data"],
                ["explain", "--truth", MEMFD + "/truth", MEMFD + "/perf.data"],
                ["score", "--profiler=jitproof", *SHORT, "anon_exec"],
                ["adapter", "check", "none"],
                ["run", "attach/before-enable.map"]]

    def run_from_shell(self, script: str, command: list[str]) -> "subprocess.CompletedProcess[str]":
        """Runs the command by exec from a shell that ran @script."""
        return process.run(["bash", "-c", script + 'exec "$@"', "-", JITPROOF, *command],
                           cwd=self.home, timeout=240)

    def test_children(self) -> None:
        for command in self.list_commands():
            with self.subTest(command=command[0]):
                undisturbed = process.run([JITPROOF, *command], timeout=240)
                result = self.run_from_shell(CHILDREN, command)
                pids = [int(pid) for pid in self.read("pids").split()]
                self.assertEqual(len(pids), 2)
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)  # raises an exception if the process has ended
                self.assertEqual(result.returncode, undisturbed.returncode, result.stderr)

    def test_signal_with_children(self) -> None:
        """A signal ends the command even if there are children from before."""
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number), subprocess.Popen(
                    ["bash", "-c", 'sleep 60 & echo $! >pid; exec "$@"', "-", JITPROOF, "score",
                     "--profiler=jitproof", "-o", "out", "anon_exec"], cwd=self.home,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as command:
                try:
                    while not os.path.exists(self.place("out", "a")):
                        self.assertIsNone(command.poll())
                finally:
                    command.send_signal(number)
                self.assertEqual(command.wait(timeout=240), -number)
                os.kill(int(self.read("pid")), signal.SIGKILL)
            process.run(["rm", "-r", self.place("out")])

    def test_ignored_sigchld(self) -> None:
        for command in [["judge", ANON], ["inject", "-i", GROWTH + "/perf.data", "--jitdump-dir",
                                          GROWTH, "-o", self.place("out")], *self.list_commands()]:
            with self.subTest(command=command[0]):
                status = process.run([JITPROOF, *command], timeout=240).returncode
                result = self.run_from_shell("trap '' CHLD\n", command)
                self.assertEqual(result.returncode, status, result.stdout + result.stderr)

    def test_blocked_signals(self) -> None:
        """All signals are blocked in the parent, from which the command inherits the mask."""
        old = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self.addCleanup(signal.pthread_sigmask, signal.SIG_SETMASK, old)
        for words in (["score", "--profiler=jitproof", "-o", self.place("out"), "anon_exec"],
                      ["record", "-o", self.place("out"), "--", "sleep", "60"]):
            with self.subTest(command=words[0]), subprocess.Popen(
                    [JITPROOF, *words], stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL) as command:
                while not os.path.exists(self.place("out")):
                    self.assertIsNone(command.poll())
                with open("/proc/%d/status" % command.pid, encoding="utf-8") as status:
                    self.assertIn("SigBlk:\t0000000000000000", status.read())
                command.send_signal(signal.SIGTERM)
                self.assertEqual(command.wait(timeout=240), -signal.SIGTERM)
            process.run(["rm", "-r", self.place("out")])

    def test_foreign_proc(self) -> None:
        unshare_command = ["unshare", *(["-Ur"] if os.geteuid() else []), "--pid", "--fork"]
        if process.run([*unshare_command, "true"]).returncode:
            self.skipTest("no pid namespace")
        *judging, score, adapter, run = self.list_commands()
        for command in judging:
            with self.subTest(command=command[0]):
                status = process.run([JITPROOF, *command], timeout=240).returncode
                result = process.run([*unshare_command, JITPROOF, *command], timeout=240)
                self.assertEqual(result.returncode, status, result.stderr)
        for command in (score, adapter, run, ["record", "-o", self.place("out"), "--", "true"],
                        ["repro", "attach/before-enable.map", "-o", self.place("y.tar")]):
            with self.subTest(command=command[0]):
                result = process.run([*unshare_command, JITPROOF, *command], timeout=240)
                self.assertEqual((result.returncode, result.stdout), (99, ""))
                self.assertIn("/proc belongs to another pid namespace", result.stderr)
                # With a /proc of the command's own pid namespace, the command runs.
                result = process.run([*unshare_command, "--mount-proc", JITPROOF, *command],
                                     timeout=240)
                self.assertNotIn("pid namespace", result.stderr)
