# SPDX-License-Identifier: GPL-2.0-only
"""Tests workloads that make processes, without a capture: each start has its end in the truth,
nothing is torn, and no process and no file is left behind."""

import os
import subprocess

from ci.base import files
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import Folder, JITPROOF

LAUNCH, FORK, VFORK, EXEC, SHARE = range(5)


def find_children() -> list[int]:
    """Returns the processes whose parent this process is or became."""
    children = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = files.read_bytes(f"/proc/{pid}/stat")
        except OSError:
            continue
        if int(text[text.rindex(b")") + 1:].split()[1]) == os.getpid():
            children.append(int(pid))
    return children


class Processes(Folder):
    @classmethod
    def setUpClass(cls) -> None:
        # Orphans would come to us (PR_SET_CHILD_SUBREAPER).
        import ctypes  # pylint: disable=import-outside-toplevel
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)

    def run_workload(self, *workload: str, steps: tuple[str, ...] = ()) -> rd.Truth:
        """Runs a workload to its end and returns its truth. Skips the test if it skips."""
        truth = self.place("truth")
        with subprocess.Popen([JITPROOF, "workload", *workload, "--truth", truth],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as process:
            line = process.stdout.readline()
            if line.startswith("skip "):
                process.communicate(timeout=240)
                self.assertEqual(find_children(), [])
                self.assertEqual(os.listdir(self.home), ["truth"])
                self.skipTest(line[5:].strip())
            self.assertRegex(line, r"^ready \d+\n")
            for step in steps:
                process.stdin.write(f"step {step}\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), f"done {step}\n")
            process.communicate("stop\n", timeout=240)
            self.assertEqual(process.returncode, 0)
            self.pid = process.pid
        self.assertEqual(find_children(), [])
        self.assertEqual(os.listdir(self.home), ["truth"])
        self.truth = rd.Truth(truth)
        self.assertEqual(self.truth.torn(), [])
        return self.truth

    def list_starts(self, how: int | None = None) -> list[tuple[int, int]]:
        """Returns (pid, parent) of each start, in order."""
        records = [self.truth.get(index) for index in self.truth.find(rd.Truth.PROCESS_START)]
        return [(record[2], record[6] & 0xffffffff) for record in records
                if how is None or record[7] == how]

    def list_ends(self) -> list[int]:
        return [self.truth.get(index)[2] for index in self.truth.find(rd.Truth.PROCESS_EXIT)]

    def expect_one_end_each(self) -> None:
        lives = [pid for way in (FORK, VFORK, SHARE, LAUNCH) for pid, _ in self.list_starts(way)]
        born = set(lives)
        # posix_spawn() forks inside of the C library: the exec is its first record.
        lives += [pid for pid, _ in self.list_starts(EXEC) if pid not in born]
        self.assertEqual(sorted(lives), sorted(self.list_ends()))

    def test_ways_of_starting(self) -> None:
        self.run_workload("short_lived", "--count=16", "--life=5")
        self.expect_one_end_each()
        self.assertGreaterEqual(len(self.list_starts(FORK)), 8)
        self.assertGreaterEqual(len(self.list_starts(VFORK)), 2)
        self.assertGreaterEqual(len(self.list_starts(EXEC)), 8)
        self.assertTrue(all(parent == self.pid for _, parent in self.list_starts(FORK) +
                            self.list_starts(VFORK)))

    def test_processes_that_run_until_they_are_killed(self) -> None:
        """No process states its own exit while one of its threads runs a path."""
        truth = self.run_workload("short_lived", "--count=8", "--life=5", "--then-none")
        inside = {truth.get(index)[3] for index in truth.find(rd.Truth.ENTER)}
        inside -= {truth.get(index)[3] for index in truth.find(rd.Truth.LEAVE)}
        running = {truth.get(index)[2] for index in truth.find(rd.Truth.ENTER)
                   if truth.get(index)[3] in inside}
        self.assertEqual(len(running), 1)
        ends = [truth.get(index) for index in truth.find(rd.Truth.PROCESS_EXIT)]
        self.assertEqual([end[4] < end[5] for end in ends if end[2] in running], [True])

    def test_prefork(self) -> None:
        self.run_workload("prefork", "--children=2", steps=("fork", "toggle", "kill"))
        self.expect_one_end_each()
        self.assertEqual(len(self.list_starts(FORK)), 3)
        # Another process recorded the exit of a killed process, with a bracket.
        ends = [self.truth.get(index) for index in self.truth.find(rd.Truth.PROCESS_EXIT)]
        self.assertEqual(sum(end[4] != end[5] for end in ends), 1)

    def test_namespaces(self) -> None:
        self.run_workload("namespaces", "--depth=2")
        self.expect_one_end_each()
        # Pids are those of the outer namespace: no process is its own grandparent, and none is 1.
        (one, _), (other, parent) = self.list_starts(FORK)[-2:]
        self.assertEqual(parent, one)
        self.assertNotIn(1, {one, other})
        stays = {self.truth.get(index)[2] for index in self.truth.find(rd.Truth.ENTER)}
        self.assertLessEqual({one, other}, stays)

    def test_pid_reuse(self) -> None:
        self.run_workload("pid_reuse")
        self.expect_one_end_each()
        pids = [pid for pid, _ in self.list_starts(FORK)]
        self.assertGreater(len(pids), len(set(pids)))

    def test_shared_space(self) -> None:
        self.run_workload("shared_space")
        self.expect_one_end_each()
        self.assertTrue(self.list_starts(SHARE) or len(self.list_starts()) == 1)

    def test_files_are_removed(self) -> None:
        for workload in (("dlopen_twice",), ("replaced_binary",), ("odd_paths",),
                         ("replaced_binary", "--what=program"), ("odd_paths", "--overlay")):
            with self.subTest(workload=workload):
                self.run_workload(*workload)
                self.expect_one_end_each()
                os.unlink(self.place("truth"))

    def test_thread_churn(self) -> None:
        self.run_workload("thread_churn")
        self.assertEqual(self.list_ends(), [self.pid])

    def test_heap_that_ends_early(self) -> None:
        """A failed restore is reported: mprotect() beyond the end would fail halfway."""
        truth = self.run_workload("coalesced_growth", "--backing=heap", "--period=0",
                                  steps=("grow",))

        def list_acts(kind: int) -> list[tuple[int, ...]]:
            return [truth.get(index)[6:9] for index in truth.find(kind)]

        pages = [(addr, size) for addr, size, flags in list_acts(rd.Truth.MAP) if flags & 0xff == 3]
        self.assertGreater(len(pages), 1)
        begin, end = pages[0][0], sum(pages[-1])
        self.assertEqual(list_acts(rd.Truth.PROTECT)[-1], (begin, end - begin, 3))

    def test_killed_at_once(self) -> None:
        """The children learn of the parent's exit only by the end of their pipes."""
        truth = self.place("truth")
        with subprocess.Popen([JITPROOF, "workload", "prefork", "--truth", truth],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as process:
            self.assertRegex(process.stdout.readline(), r"^ready \d+\n")
            process.kill()
            process.wait()
            # The children are now ours to reap; each waits until it ends, without a limit but the
            # test's.
            while find_children():
                os.waitpid(-1, 0)
