# SPDX-License-Identifier: GPL-2.0-only
"""Tests damaged and hostile run directories, wrong command lines, full disks, and signals during a
run: no command hangs, leaves processes or files, or makes partial results look complete."""

import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import time
from typing import Any, Callable

from ci.base import files, process
from harness.selftest.support.scratch import (BINARY, FIXTURES, Folder, ROOT, run_binary,
                                              needs_namespaces)

FIXTURE = os.path.join(ROOT, "validators", "fixtures", "anon")
FILES = ("case", "truth", "perf.data", "maps", "capture")


class RunDirectory(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.dir = self.place("anon")
        shutil.copytree(FIXTURE, self.dir)

    def assert_not_passed(self, message: str) -> subprocess.CompletedProcess[str]:
        """Judges; expects an error that names the file, in bounded time, and no PASS."""
        result = run_binary("judge", self.dir)
        self.assertIn(result.returncode, (1, 99), result.stdout + result.stderr)
        self.assertNotRegex(result.stdout, r"(?m)^ok ")
        self.assertRegex(result.stdout + result.stderr, message)
        return result

    def test_missing_files(self) -> None:
        for name in FILES:
            with self.subTest(name):
                os.rename(self.place("anon", name), self.place("away"))
                self.assert_not_passed("contains no case" if name == "case" else
                                       f"anon/{re.escape(name)}: No such file")
                os.rename(self.place("away"), self.place("anon", name))

    def test_other_kinds_of_files(self) -> None:
        """A link, a FIFO, a folder or an endless device in place of a file."""
        makes: dict[str, Callable[[str], object]] = {
            "link": lambda path: os.symlink(self.place("away"), path),
            "fifo": os.mkfifo,
            "folder": os.mkdir,
            "device": lambda path: os.symlink("/dev/zero", path),
            "empty": lambda path: open(path, "w", encoding="utf-8").close()}
        for name in FILES:
            for what, make in makes.items():
                with self.subTest(name=name, what=what):
                    path = self.place("anon", name)
                    os.rename(path, self.place("away"))
                    make(path)
                    if name == "maps" and what == "empty":
                        pass  # may pass: a launched run has no snapshot
                    elif name == "case" and what == "folder":
                        self.assert_not_passed("contains no case")
                    else:
                        self.assert_not_passed(f"anon/{re.escape(name)}")
                    if os.path.isdir(path) and not os.path.islink(path):
                        os.rmdir(path)
                    else:
                        os.unlink(path)
                    os.rename(self.place("away"), path)

    def test_outcome_of_an_unjudged_run(self) -> None:
        """`outcome` contains the outcome of a run that was not judged, never a PASS."""
        for text in ("PASS all is well", "XFAIL x", "", "ERROR", "FAIL\nok 1 fixture/anon"):
            with self.subTest(text):
                self.write(text, "anon", "outcome")
                result = run_binary("judge", self.dir)
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertNotRegex(result.stdout, r"(?m)^ok ")
        self.write("SKIP one\nok 2 fixture/forged\n\x1b[2J", "anon", "outcome")
        result = run_binary("judge", self.dir)
        self.assertEqual(result.returncode, 4)
        self.assertEqual(re.findall(r"(?m)^(?:not )?ok \d+ \S+.*", result.stdout),
                         ["ok 1 fixture/anon # SKIP one; ok 2 fixture/forged; ?[2J"])
        self.assertNotIn("\x1b", result.stdout)
        os.unlink(self.place("anon", "outcome"))
        self.write("inject SIGSEGV perf inject was killed", "anon", "crash")
        result = run_binary("judge", self.dir)
        self.assertEqual(result.returncode, 1)
        self.assertIn("# perf inject was killed\nnot ok 1 fixture/anon # CRASH SIGSEGV",
                      result.stdout)
        os.unlink(self.place("anon", "crash"))
        os.mkfifo(self.place("anon", "outcome"))
        self.assertLess(run_binary("judge", self.dir).returncode, 100)

    def test_name_that_leads_elsewhere(self) -> None:
        text = files.read(self.place("anon", "case"))
        for name in ("../../../escaped", "/tmp/escaped", "fixture/../../escaped", "a/b/../c",
                     "fixture/\x1b[31m", "fixture/.."):
            with self.subTest(name):
                self.write(text.replace("fixture/anon", name), "anon", "case")
                self.assert_not_passed("anon/case:1: ")

    def test_study_that_leads_elsewhere(self) -> None:
        for name in ("../x", "a/b/c", "..", "a/..", "/x"):
            with self.subTest(name):
                self.write(f"case {name} check : anon_exec : attach\n", "cases", "s")
                result = run_binary("run", "--expected", self.place("cases"), "-o", self.place("r"))
                self.assertEqual(result.returncode, 99, result.stdout)
                self.assertIn("s:1: ", result.stderr)
                self.assertFalse(os.path.exists(self.place("r")))

    def test_cut_short(self) -> None:
        """Cases that ktap.txt announces and that never ran are reported as missing."""
        os.makedirs(self.place("run", "fixture"))
        os.rename(self.dir, self.place("run", "fixture", "anon"))
        self.write("KTAP version 1\n1..1\n", "run", "ktap.txt")
        self.assertEqual(run_binary("judge", self.place("run")).returncode, 0)
        self.write("KTAP version 1\n1..3\n", "run", "ktap.txt")
        result = run_binary("judge", self.place("run"))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"(?ms)^1\.\.3$.*^ok 1 fixture/anon$.*^Bail out! cut short")

    def test_deep_and_circular_folders(self) -> None:
        """Circular links and deep folders are not followed for ever."""
        os.makedirs(self.place("run", *"abcdefgh"))
        os.symlink("..", self.place("run", "a", "up"))
        os.symlink(self.dir, self.place("run", "a", "link"))
        result = run_binary("judge", self.place("run"))
        self.assertEqual(result.returncode, 99)
        self.assertIn("contains no case", result.stderr)


class CommandLine(Folder):
    def test_wrong_command_lines(self) -> None:
        """Status 2, no standard output, and a message with the expectation."""
        for arguments, message in (
                ((), "usage: jitproof COMMAND"),
                (("fly",), "no command 'fly'"),
                (("list", "--fly"), "unknown option '--fly'"),
                (("list", "no/such*"), "no case matches"),
                (("run", "--fly"), "unknown option '--fly'"),
                (("run", "-o"), "expected a value after -o"),
                (("run", "--set=some"), "--set=some: expected check|full"),
                (("run", "--seed=x"), "--seed=x: expected a number"),
                (("run", "--seed=-1"), "--seed=-1: expected a number"),
                (("run", "no/such*"), "no case matches 'no/such*'"),
                (("judge",), "expected FILE"),
                (("judge", "--fly", "x"), "unknown option '--fly'"),
                (("judge", "a", "b"), "one operand too many: 'b'"),
                (("judge", "--fail-if"), "expected a value after --fail-if"),
                (("judge", "--fail-if=x", "y"), "expected METRIC>X"),
                (("judge", "--fail-if=none>1", "y"), "no metric called none"),
                (("record",), "expected -o FILE"),
                (("record", "-o"), "expected a value after -o"),
                (("record", "-o", "x"), "expected --pid PID, -a or a command"),
                (("record", "-o", "x", "-p", "one"), "--pid=one: expected a number"),
                (("record", "--fly"), "unknown option '--fly'"),
                (("record", "-o", "x", "-F", "0", "true"), "--freq=0: expected a number from 1"),
                (("workload",), "usage: jitproof workload"),
                (("workload", "fly"), "no workload 'fly'"),
                (("workload", "bad", "--ready-fd", "77"),
                 "--ready-fd=77: expected an open file descriptor")):
            with self.subTest(arguments):
                result = run_binary(*arguments, cwd=self.home)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn(message, result.stderr)
                self.assertEqual(os.listdir(self.home), [])

    def test_control_characters(self) -> None:
        """Control characters of arguments are not printed."""
        evil = "x\033[2Jy"
        for arguments in (("repro", evil, "-o", "x"), ("run", evil), (evil,),
                          ("workload", "anon_exec", "--publish=" + evil)):
            with self.subTest(arguments):
                result = run_binary(*arguments, cwd=self.home)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("x?[2Jy", result.stderr)
                self.assertNotIn("\033", result.stdout + result.stderr)

    def test_help(self) -> None:
        for command in ("", "list", "run", "judge", "show", "record", "workload"):
            with self.subTest(command):
                result = run_binary(*filter(None, (command, "--help")))
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertIn(f"usage: jitproof {command}", result.stdout)

    def test_unreadable_files(self) -> None:
        """Status 99 and the file's name."""
        for arguments in (("judge", self.place("none")), ("judge", self.home),
                          ("judge", "--json", self.home),
                          ("judge", "--expected", self.place("none"), self.home),
                          ("run", "--expected", self.place("none"))):
            with self.subTest(arguments):
                result = run_binary(*arguments)
                self.assertEqual((result.returncode, result.stdout), (99, ""), result.stderr)
                self.assertIn(self.home, result.stderr)

    def test_full_standard_output(self) -> None:
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for arguments in (("list",), ("--help",), ("judge", FIXTURE),
                          ("judge", os.path.join(FIXTURE, "perf.data")),
                          ("judge", "--json", os.path.join(FIXTURE, "perf.data"))):
            with self.subTest(arguments), open("/dev/full", "w", encoding="utf-8") as full:
                result = run_binary(*arguments, stdout=full)
                self.assertEqual(result.returncode, 99)
                self.assertIn("cannot write to standard output", result.stderr)

    def test_few_descriptors(self) -> None:
        """With too few descriptors, no process of a run waits forever for another."""
        for most in range(4, 10):
            with self.subTest(most):
                result = run_binary(
                    "run", "--expected", os.path.join(FIXTURES, "expected"), "-o",
                    self.place(str(most)), "fixture/memfd", timeout=240,
                    preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                    (most, most)))
                self.assertEqual(result.returncode, 99, result.stderr)
                self.assertIn("Too many open files", result.stderr)

    def test_no_room_for_a_truth(self) -> None:
        """The truth is sparse: the first record without a free page reports the full disk."""
        needs_namespaces(self)
        truth = self.place("truth")
        for fits in (0, 2):  # pages: none for the header, or none for records
            with self.subTest(fits):
                result = run_binary(
                    "workload", "anon_exec", "--truth", truth, stdin=subprocess.DEVNULL,
                    before=["unshare", "-Urm", "sh", "-c",
                            'mount -t tmpfs -o size=128k none "$0" && head -c $((131072 - $1 * '
                            '4096)) /dev/zero > "$0/zeros"; shift; exec "$@"', self.home,
                            str(fits)])
                self.assertEqual(result.returncode, 99, result.stderr)
                self.assertIn(truth + ": the disk has no space for a record", result.stderr)


class Output(Folder):
    """Runs a case that ends at once and needs no perf, with this output folder."""

    def setUp(self) -> None:
        super().setUp()
        self.write("case a check : bad crash : attach : seconds=5\n", "cases", "s")

    def run_to(self, path: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return run_binary("run", "--expected", self.place("cases"), "-o", path, **more)

    def test_not_a_new_folder(self) -> None:
        self.write("mine", "file")
        os.symlink(self.place("nowhere"), self.place("dangling"))
        os.mkfifo(self.place("fifo"))
        self.write("mine", "full", "file")
        before = sorted(os.listdir(self.home))
        for name in ("file", "dangling", "fifo", "full", "none/below", "file/below", "x" * 300,
                     "x" * 5000):
            with self.subTest(name[:20]):
                result = self.run_to(self.place(name))
                self.assertEqual((result.returncode, result.stdout), (99, ""))
                self.assertIn(self.place(name.split("/", 1)[0])[:30], result.stderr)
        self.assertEqual(self.run_to("").returncode, 2)
        self.assertEqual(sorted(os.listdir(self.home)), before)
        self.assertEqual(os.listdir(self.place("full")), ["file"])

    def test_where_others_may_write(self) -> None:
        """Users who may rename a folder could replace it by a link during the run."""
        os.mkdir(self.place("anyone's"))
        os.chmod(self.place("anyone's"), 0o777)
        os.mkdir(self.place("theirs"))
        os.symlink("theirs", self.place("link"))
        places = ["anyone's", "anyone's/new"]
        if os.geteuid() == 0:
            os.chown(self.place("theirs"), 65534, 65534)
            places += ["theirs", "theirs/new", "link/new"]
        for place in places:
            with self.subTest(place):
                result = self.run_to(self.place(place))
                self.assertEqual((result.returncode, result.stdout), (99, ""))
                self.assertIn("is not trusted", result.stderr)
        self.assertEqual(os.listdir(self.place("theirs")) + os.listdir(self.place("anyone's")), [])

    def test_not_writable(self) -> None:
        os.mkdir(self.place("locked"), 0o500)
        if os.access(self.place("locked"), os.W_OK):
            self.skipTest("root may write anywhere")
        self.assertEqual(self.run_to(self.place("locked", "run")).returncode, 99)
        self.assertEqual(self.run_to(self.place("locked")).returncode, 99)

    def test_odd_names(self) -> None:
        """Blanks and quotes are permitted; a newline forges no line of KTAP."""
        for name in ("two words", "new\nok 1 forged\n", "'quoted\"", "-o", "%s%n", "\u00fc"):
            with self.subTest(name):
                result = self.run_to(name, cwd=self.home)
                self.assertIn(result.returncode, (1, 4), result.stderr)
                self.assertNotRegex(result.stdout, r"(?m)^ok 1 forged")
                self.assertTrue(os.path.exists(self.place(name, "s", "a", "case")))
                judged = run_binary("judge", "./" + name, cwd=self.home)
                self.assertEqual(judged.returncode, result.returncode)
                self.assertNotRegex(judged.stdout, r"(?m)^ok 1 forged")

    def test_closed_standard_output(self) -> None:
        """Output does not go to a file that gets the number of the closed descriptor."""
        result = process.run(["sh", "-c", 'exec "$0" "$@" >&- <&-', BINARY, "run", "--expected",
                              self.place("cases"), "-o", self.place("run")], timeout=240)
        self.assertIn(result.returncode, (1, 4), result.stderr)
        self.assertNotIn("KTAP", files.read(self.place("run", "results.jsonl")))

    def test_full_disk(self) -> None:
        needs_namespaces(self)
        self.write("case a check : anon_exec : attach --stack=8192 : seconds=9 samples=100\n",
                   "cases", "s")
        os.mkdir(self.place("mount"))
        messages = set()
        # The disk is full at once, at the first page of the truth, or while the capture writes.
        for size in ("4k", "20k", "64k", "1m"):
            result = process.run(
                ["unshare", "-rm", "sh", "-ec",
                 'mount -t tmpfs -o size="$1" none "$2"; exec "$0" run --expected "$3" -o "$2"',
                 BINARY, size, self.place("mount"), self.place("cases")],
                timeout=240)
            with self.subTest(size):
                if "# SKIP" in result.stdout:
                    self.skipTest("perf is denied here")
                self.assertIn(result.returncode, (1, 99), result.stdout + result.stderr)
                self.assertNotRegex(result.stdout, r"(?m)^ok ")
                messages.update(re.findall(
                    "No space left|cannot be written|Bus error|results.jsonl",
                    result.stdout + result.stderr))
        self.assertTrue(messages)


class Killed(Folder):
    """Tests signals during a run. (SIGINT in a silent workload: test_golden.py.)"""

    def find_workloads(self) -> list[int]:
        """Returns the pids of processes that write this test's truth."""
        workloads = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if self.home in files.read(f"/proc/{pid}/cmdline", "replace").split("--truth")[-1]:
                    workloads.append(int(pid))
            except OSError:
                pass
        return workloads

    def interrupt_run(self, number: signal.Signals, case: str, file: str) -> str:
        """Sends @number once the workload runs and @file has data; all processes must end soon."""
        self.write(case, "cases", "s")
        with subprocess.Popen([BINARY, "run", "--expected", self.place("cases"), "-o",
                               self.place("run")], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE) as run:
            end = time.monotonic() + 240
            ours = list[int]()
            # `run` consists of three processes and one for each running case. A process has no
            # command line in the middle of an exec.
            while run.poll() is None and time.monotonic() < end and (
                    len(ours := self.find_workloads()) < 5 or not self.has_data(file)):
                time.sleep(0.01)
            run.send_signal(number)
            output = run.stdout.read()
            status = run.wait(timeout=240)
        if "# SKIP" in output:
            self.skipTest("perf is denied here")
        self.assertEqual(len(ours), 5, output)
        self.assertEqual(status, -number, output)
        # The parent-death signal takes a moment.
        end = time.monotonic() + 240
        while self.find_workloads() and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(self.find_workloads(), [])
        judged = run_binary("judge", self.place("run"))
        self.assertEqual(judged.returncode, 1, judged.stdout)
        self.assertNotRegex(judged.stdout, r"(?m)^ok ")
        return output

    def has_data(self, name: str) -> bool:
        return any(map(os.path.getsize, glob.glob(self.place("run", "s", "a", name))))

    def tearDown(self) -> None:
        for pid in self.find_workloads():
            os.kill(pid, signal.SIGKILL)

    def test_each_signal(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            for capture in ("attach", "launch"):
                with self.subTest(signal=number, capture=capture):
                    self.interrupt_run(number, "case a check : anon_exec : "
                                       f"{capture} --stack=8192 : seconds=30 samples=9999999\n",
                                       "perf.data")
                    shutil.rmtree(self.place("run"))

    def test_workload_that_ignores_its_pipe(self) -> None:
        """A workload that ignores the end of its control pipe ends, too."""
        for capture in ("attach", "launch"):
            with self.subTest(capture):
                self.interrupt_run(signal.SIGKILL, "case a check : bad deaf : "
                                   f"{capture} --stack=8192 : seconds=30\n", "truth")
                shutil.rmtree(self.place("run"))
