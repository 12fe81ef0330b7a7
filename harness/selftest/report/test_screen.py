# SPDX-License-Identifier: GPL-2.0-only
"""Tests the output of a run at a terminal of 80 columns and 24 lines."""

import json
import os
import re
import signal
import subprocess
import time

from ci.base import files, process
from harness.selftest.support import terminal
from harness.selftest.support.scratch import BINARY, FIXTURES, JITPROOF, Folder, run_binary

CASES = """table a study | left
row a label | wrong
case crash check : bad crash : attach --stack=1024 : seconds=5
case good check : anon_exec : attach --stack=8192 --freq=1999 : samples=100
case skip check : bad skip : attach --stack=1024 : seconds=5
case wrong check : anon_exec : attach --stack=8192 --freq=1999 : samples=100
\tbroken.dump >=95%\t# a healthy capture breaks nothing
"""
MANY_FAILURES = """case CASE full : anon_exec : attach : samples=100
\tbroken.dump >=95%\t# no healthy capture of any kind ever breaks so many of all its stacks
"""


class Screen(Folder):
    def check_width(self, text: str, columns: int = 80) -> list[str]:
        """Checks that the terminal wraps no line. Returns the lines."""
        lines = text.splitlines()
        for line in lines:
            self.assertLessEqual(len(line), columns, line)
        return lines

    def run_cases(self, *options: str, text: str = CASES, columns: int = 80) -> terminal.Shown:
        self.write(text, "expected", "s")
        output = terminal.show([BINARY, "run", "--expected", self.place("expected"), *options],
                              columns)
        if "perf_event_open" in output.out:
            self.skipTest("perf is denied here")
        return output

    def test_output_of_a_run(self) -> None:
        output = self.run_cases("-o", self.place("run"))
        lines = self.check_width(output.out)
        self.assertNotRegex(output.out, "KTAP|ok [0-9]|accounts|\033")
        self.assertEqual(lines[:2], [
            "ERROR s/crash",
            "      the workload was killed by signal 11 (Segmentation fault) before it was"])
        totals = next(position for position, line in enumerate(lines)
                      if line.startswith("4 cases in "))
        self.assertRegex(lines[totals], r": 1 passed, 1 failed, 1 skipped, 1 could not be judged$")
        self.assertIn("FAIL  s/wrong", lines[:totals])
        self.assertRegex("\n".join(lines[totals + 1:]), r"""^ERROR the workload was killed by .*
      \S*jitproof-selftest show s/crash(?: \\
       )? \S+
FAIL  0 of \d+ broken stacks \(broken.dump\), expected >=95%: a healthy capture.*
      \S*jitproof-selftest show s/wrong(?: \\
       )? \S+
SKIP  1: what no machine has
More: \S*jitproof-selftest judge -v(?: \\
       )? \S+$""")
        stored = [json.loads(line) for line in files.read(self.place("run", "results.jsonl"))
                  .splitlines()]
        faults = {metric["case"]: metric["fault"] for metric in stored if "fault" in metric}
        self.assertEqual(sorted(faults), ["s/crash", "s/wrong"])
        self.assertRegex(faults["s/wrong"], r"^0 of \d+ broken stacks .* >=95%: a healthy capture")
        moving = output.err.split("\r\033[K")
        self.assertIn("[0 of 4] s/crash", moving)
        self.assertTrue(any(re.fullmatch(r"\[1 of 4, 1 failed, \d+ s left\] s/good", line)
                            for line in moving), moving)
        self.assertEqual(moving[-1], "", "the line is gone at the end")
        self.assertTrue(files.read(self.place("run", "ktap.txt")).startswith("KTAP version 1\n"))

    def test_verbose(self) -> None:
        output = self.run_cases("-v", "-o", self.place("run"), "s/good", "s/wrong")
        self.check_width(output.out)
        self.assertRegex(output.out, r"(?m)^PASS  s/good\n(?:      .*\n)*      broken\.dump +0 of ")
        self.assertRegex(output.out, r"(?m)^      samples by class: \d+ code")
        self.assertRegex(output.out, r"(?m)^ +a label +0.0 % broken .* FAIL$")

    def test_passing_run(self) -> None:
        output = self.run_cases("s/good")
        self.assertRegex(output.out, r"^1 case in \d+\.\d s: 1 passed\nMore: -v .*\n$")

    def test_pipe(self) -> None:
        """KTAP remains on a pipe; -v adds the figures."""
        self.write(CASES, "expected", "s")
        plain, verbose = (run_binary("run", "--expected", self.place("expected"), "s/good",
                                     *options)
                          for options in ((), ("-v",)))
        if plain.returncode == 4:
            self.skipTest("perf is denied here")
        self.assertRegex(plain.stdout, r"^KTAP version 1\n1\.\.1\n# seed \d+\nok 1 s/good\n")
        self.assertRegex(verbose.stdout, r"(?m)^# broken\.dump +0 of \d+.*\n(?:# .*\n)*ok 1 ")

    def test_tables(self) -> None:
        """Columns that do not fit stand below; a table with too wide a column becomes a list."""
        self.write("table a study | left | middle | right\n"
                   "row a longer label | good | good | good\n" + CASES, "expected", "s")
        for columns, split, listing in ((120, 1, 0), (80, 2, 0), (40, 0, 3)):
            result = run_binary("run", "--expected", self.place("expected"), "s/good",
                                env={**os.environ, "COLUMNS": str(columns)})
            if result.returncode == 4:
                self.skipTest("perf is denied here")
            table = re.search(r"(?s)\n# s: a study\n.*?\n#\n# The clocks", result.stdout)
            assert table, result.stdout
            lines = [line for line in table[0].splitlines() if "The clocks" not in line]
            self.assertLessEqual(max(map(len, lines)), columns, table[0])
            self.assertTrue(all(line.startswith("#") for line in lines[1:]), table[0])
            self.assertEqual(sum(line.startswith("#  Scenario") for line in lines), 2 * split)
            self.assertEqual(sum(bool(re.match("#      (left|middle|right) +0.0 %", line))
                                 for line in lines), 2 * listing, table[0])

    def judge(self, *options: str, columns: int = 80) -> terminal.Shown:
        """Judges twenty copies of a recorded case that is expected to fail."""
        for number in range(20):
            name = "case-with-a-long-name-%02d" % number
            folder = self.place("run", "s", name)
            os.makedirs(os.path.dirname(folder), exist_ok=True)
            subprocess.run(["cp", "-a", os.path.join(FIXTURES, "anon"), folder], check=True)
            self.write(MANY_FAILURES.replace("CASE", "s/" + name), "run", "s", name, "case")
        return terminal.show([JITPROOF, "judge", *options, self.place("run")], columns)

    def test_many_failures(self) -> None:
        for columns in (80, 60):
            with self.subTest(columns=columns):
                output = self.judge(columns=columns)
                lines = self.check_width(output.out, columns)
                self.assertIn("[7 of 20] s/case-with-a-long-name-07", output.err.split("\r\033[K"))
                start = next(position for position, line in enumerate(lines)
                             if line.startswith("20 cases in"))
                self.assertLessEqual(len(lines) - start, 22)
                self.assertTrue(any(re.fullmatch(r"and \d+ more", line)
                                    for line in lines[start:]))
                self.assertTrue(any(line.startswith("More: ") for line in lines[start:]))

    def test_list(self) -> None:
        listing = self.check_width(terminal.show([JITPROOF, "list"]).out)
        plain = process.run_or_raise([JITPROOF, "list"]).splitlines()
        self.assertGreater(max(map(len, plain)), 80)
        self.assertEqual([line.split()[0] for line in listing],
                         [line.split()[0] for line in plain])

    def test_interrupted(self) -> None:
        self.write("case crash check : bad crash : attach --stack=1024 : seconds=5\n"
                   "case silent check : bad silent : attach : seconds=60\n", "expected", "s")
        output = terminal.Shown([BINARY, "run", "--expected", self.place("expected"), "-o",
                                self.place("run")])
        end = time.monotonic() + 240
        while output.process.poll() is None and time.monotonic() < end and \
                not os.path.exists(self.place("run", "s", "silent", "truth")):
            time.sleep(0.01)
        output.process.send_signal(signal.SIGINT)
        status = output.finish()
        if status == 4:
            self.skipTest("perf is denied here")
        self.assertEqual(status, -signal.SIGINT, output.out)
        self.assertRegex(output.out, r"(?m)^cut short: Interrupt\n1 of 2 cases in [\d.]+ s: "
                         r"1 could not be judged\nERROR the workload was killed by signal 11")
