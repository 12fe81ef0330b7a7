# SPDX-License-Identifier: GPL-2.0-only
"""The output of runs with cases that fail, crash, hang or check nothing, against golden ones.

Environment: O. UPDATE=1 writes the golden files anew, to be looked at in the difference.
"""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from ci.base import files
from harness.selftest.support.scratch import BINARY, DENY, HERE, run_binary

CASES = os.path.join(HERE, "cases")


def remove_figures(text: str) -> str:
    """Replaces the figures that differ from run to run."""
    text = re.sub(r"\d+\.\d+ % \(\d+ of \d+, 95 % interval \d+\.\d+ to \d+\.\d+ %\)", "RATE", text)
    text = re.sub(r"^#   .*(?:, ip | of mapping |: there is ).*$", "#   FIRST", text, flags=re.M)
    text = re.sub(r"\d+\.\d % broken \(\d+ of \d+\)", "BROKEN", text)
    text = re.sub(r"differed by at most \d+ ns", "differed by at most N ns", text)
    text = re.sub(r"^# (?:run directory:|seed|class|the host|A host|.* by class:) .*\n", "", text,
                  flags=re.M)
    text = re.sub(r"\bits pid is \d+", "its pid is N", text)
    text = re.sub(r": \d+(?: of \d+)? with cause", ": N with cause", text)
    text = re.sub(r"caught: \d+ ", "caught: N ", text)
    text = re.sub(r"is \d+, the case needs", "is N, the case needs", text)
    text = re.sub(r": \d+; expected", ": N; expected", text)
    text = re.sub(r"added back, \d+ exceptions", "added back, N exceptions", text)
    # Columns are as wide as their figures.
    return re.sub(r"^#  .*$", lambda row: re.sub("--+", "--", re.sub("   +", "  ", row.group(0))),
                  text, flags=re.M)


def list_processes() -> dict[int, str]:
    """Returns the command lines of all processes, by pid."""
    processes = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            processes[int(pid)] = files.read(f"/proc/{pid}/cmdline", "replace").replace("\0", " ")
        except OSError:
            pass
    return processes


class Golden(unittest.TestCase):
    dir: str
    run_dir: str
    done: subprocess.CompletedProcess[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.mkdtemp()
        cls.run_dir = os.path.join(cls.dir, "run")
        cls.done = run_binary("run", "-o", cls.run_dir, "--seed", "1", "--expected", CASES)

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.dir)

    def setUp(self) -> None:
        if self.done.returncode == 4:
            self.skipTest("perf is denied here: " + self.done.stdout.splitlines()[3])

    def test_output_of_bad_cases(self) -> None:
        """Outcome and words of every bad case."""
        self.assertEqual(self.done.returncode, 1, self.done.stdout + self.done.stderr)
        self.assertEqual(self.done.stderr, "")
        golden = os.path.join(HERE, "golden", "bad.ktap")
        output = remove_figures(self.done.stdout).replace(self.run_dir, "DIR")
        if os.environ.get("UPDATE"):
            files.write(golden, output)
        self.assertEqual(output.splitlines(), files.read(golden).splitlines())

    def test_none_passes(self) -> None:
        for line in self.done.stdout.splitlines():
            if line.startswith("ok "):
                self.assertRegex(line, "# XFAIL| bad/skip(|.launched) # SKIP what no machine has$")

    def test_no_process_is_left(self) -> None:
        for pid, command in list_processes().items():
            self.assertNotIn(self.run_dir, command, f"pid {pid} is left over")

    def test_judged_again(self) -> None:
        """Judging the run directory afterwards gives the same text and exit status as the run."""
        judged = run_binary("judge", "--expected", CASES, self.run_dir)
        self.assertEqual(judged.returncode, 1, judged.stderr)
        self.assertEqual(remove_figures(judged.stdout), remove_figures(self.done.stdout))
        once = run_binary("judge", self.run_dir).stdout
        self.assertEqual(once, run_binary("judge", self.run_dir).stdout)

    def test_one_case_judged_again(self) -> None:
        result = run_binary("judge", os.path.join(self.run_dir, "bad", "crash"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("not ok 1 bad/crash # ERROR", result.stdout)
        result = run_binary("judge", "--expected", CASES,
                            os.path.join(self.run_dir, "bad", "crash"))
        # Expect the rows of this case, and the rows that belong to no case.
        self.assertRegex(result.stdout, r"(?m)^#  a label +- +ERROR$")
        self.assertRegex(result.stdout, r"(?m)^#  no case +- +impossible \[1\]$")
        self.assertNotIn("another label", result.stdout)

    def test_results(self) -> None:
        with open(os.path.join(self.run_dir, "results.jsonl"), encoding="utf-8") as file:
            results = [json.loads(line) for line in file]
        printed = re.findall(r"^(?:not )?ok \d+ (\S+)", self.done.stdout, re.M)
        self.assertEqual([result["case"] for result in results], printed)
        for result in results:
            self.assertEqual(result["study"], "bad")
            self.assertIn(result["outcome"], ("FAIL", "ERROR", "TIMEOUT", "XFAIL", "XPASS",
                                              "SKIP"))
            self.assertTrue(result["why"])
            self.assertEqual(result["lost"]["sideband"], 0)
        wrong = next(r for r in results if r["case"] == "bad/wrong.expectation")
        self.assertEqual(wrong["metrics"]["broken.dump"]["expect"], [0.95, None])
        self.assertGreaterEqual(wrong["metrics"]["judged.dump"]["k"], 100)


class Command(unittest.TestCase):
    def test_perf_denied(self) -> None:
        """All cases are skipped with the reason, also when judged again."""
        for number in ("EPERM", "EACCES", "ENOSYS"):
            with tempfile.TemporaryDirectory() as folder:
                run_dir = os.path.join(folder, "run")
                result = run_binary("run", "-o", run_dir, "--expected", CASES,
                                    before=[*DENY, number])
                self.assertEqual(result.returncode, 4, result.stdout + result.stderr)
                lines = [line for line in result.stdout.splitlines() if not line.startswith("#")]
                self.assertGreater(len(lines), 10)
                for line in lines[2:]:
                    self.assertRegex(line, rf"^ok \d+ bad/\S+ # SKIP .*perf_event_open.*{number}")
                judged = run_binary("judge", "--expected", CASES, run_dir)
                self.assertEqual(judged.returncode, 4, judged.stdout + judged.stderr)

    def test_no_match(self) -> None:
        result = run_binary("run", "--expected", CASES, "bad/crash", "no/such*")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no case matches 'no/such*'", result.stderr)

    def test_no_case(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run_binary("run", "--expected", folder).returncode, 99)

    def test_bad_expectation_names_its_line(self) -> None:
        for text, message in (("case a check : bad : attach\n\tm <5\n", ":2: range '<5'"),
                              ("\ncase a check : nobody : attach\n", ":2: no workload 'nobody'"),
                              ("case a check : bad : nothing\n", ":1: no capture 'nothing'"),
                              ("case a check : bad : attach --stack=7\n", ":1: --stack=7"),
                              ("case a check : bad : attach --user-only --kernel\n",
                               ":1: --kernel contradicts --user-only"),
                              ("case a check : bad : attach : methods=chain,dump\n",
                               ":1: methods 'dump' needs stack dumps, by --stack"),
                              ("case a check : bad : attach --no-chain --stack=8192 : "
                               "methods=dump,chain\n", ":1: methods 'chain' needs callchains"),
                              ("case a check : bad : launch-by perf --stack=8192 : methods=chain\n",
                               ":1: methods 'chain' needs callchains; with --stack, profilers"),
                              ("case a check : bad : launch-by perf --freq=9 : methods=dump\n",
                               ":1: methods 'dump' needs stack dumps, by --stack"),
                              ("case a check : bad : breakpoint --kernel\n",
                               ":1: expected no --kernel: breakpoint takes no samples in"),
                              ("case a check : bad : launch-by perf --all-maps\n",
                               ":1: the profiler launch-by cannot take --all-maps"),
                              ("case a check : bad : attach-by perf --synth=none\n",
                               ":1: the profiler attach-by cannot take --synth=none: it records"),
                              ("case a check : bad : attach : control=all\n",
                               ":1: no control 'all'"),
                              ("case a check : bad : attach : at=noon:map\n",
                               ":1: at 'noon:map'; expected BOUNDARY:STEP, the boundary "
                               "before-open, before-enable, before-threads, before-snapshot, "
                               "within-snapshot or before-sampling"),
                              ("case a check : bad : gated : at=before-open:map\n",
                               ":1: at 'before-open:map'; expected BOUNDARY:STEP, and"),
                              ("case a check : bad : launch : at=before-open:map\n",
                               ":1: at 'before-open:map'; expected BOUNDARY:STEP, and"),
                              ("case a check : bad : attach : acts=nap:3\n",
                               ":1: acts 'nap'; expected KIND:N"),
                              ("case a check : bad : attach : publish=all\n",
                               ":1: publish 'all'; expected none, jitdump, map or both, maybe"),
                              ("case a check : bad : attach : publish=map:\n",
                               ":1: publish 'map:'"),
                              ("case a check : bad : attach : publish=maps\n",
                               ":1: publish 'maps'"),
                              ("case a check : bad : attach : publish=map:never\n",
                               ":1: publish 'map:never'"),
                              ("case a check : bad : attach\n" * 2, ":2: second case 's/a'"),
                              ("table t | c\nrow r | a\n", "no case 's/a'")):
            with tempfile.TemporaryDirectory() as folder:
                files.write(os.path.join(folder, "s"), text)
                result = run_binary("run", "--expected", folder)
                self.assertEqual(result.returncode, 99, result.stdout)
                self.assertIn(message, result.stderr)

    def test_output_directory_is_new(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            files.write(os.path.join(folder, "mine"), "precious")
            result = run_binary("run", "-o", folder, "--expected", CASES, "bad/crash")
            self.assertEqual(result.returncode, 99)
            self.assertEqual(os.listdir(folder), ["mine"])

    def test_interrupted(self) -> None:
        """SIGINT in the middle of a case leaves no process and no folder."""
        with tempfile.TemporaryDirectory() as folder:
            files.write(folder + "/s", "case a check : bad silent : attach : seconds=60\n")
            tmp = tempfile.mkdtemp()
            self.addCleanup(shutil.rmtree, tmp)
            with subprocess.Popen([BINARY, "run", "--expected", folder], text=True,
                                  stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": tmp}) as run:
                # The truth exists, so the workload runs; it never becomes ready.
                end = time.monotonic() + 240
                while run.poll() is None and time.monotonic() < end:
                    if glob.glob(os.path.join(tmp, "jitproof.*", "s", "a", "truth")):
                        run.send_signal(signal.SIGINT)
                        break
                    time.sleep(0.01)
                output = run.stdout.read()
                status = run.wait(timeout=240)
            if "# SKIP" in output:
                self.skipTest("perf is denied here")
            self.assertEqual(status, -signal.SIGINT, output)
            self.assertIn("Bail out!", output)
            self.assertEqual(os.listdir(tmp), [])
            for pid, command in list_processes().items():
                self.assertNotIn(tmp, command, f"pid {pid} is left over")
