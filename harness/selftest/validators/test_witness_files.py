# SPDX-License-Identifier: GPL-2.0-only
"""Tests that judging a run needs the witness, or a recorded reason why there is none."""

import os
import re
import shutil

from ci.base import files, process
from harness.selftest.support.scratch import JITPROOF, Folder

CASE = "growth/anon.map"


class Witness(Folder):
    def setUp(self) -> None:
        super().setUp()
        run = process.run([JITPROOF, "run", "-o", self.place("run"), CASE], timeout=240)
        if run.returncode == 4:
            self.skipTest(run.stdout)
        self.assertEqual(run.returncode, 0, run.stdout)

    def judge(self, change: dict[str, str | None], stated: dict[str, int]) -> str:
        """Returns the output of judging a copy of the run with the files in @change replaced (None:
        removed) and the numbers in @stated written into `watched`."""
        shutil.rmtree(self.place("copy"), ignore_errors=True)
        shutil.copytree(self.place("run"), self.place("copy"))
        for name, text in change.items():
            if text is None:
                os.unlink(self.place("copy", CASE, name))
            else:
                files.write(self.place("copy", CASE, name), text)
        path = self.place("copy", CASE, "watched")
        text = files.read(path)
        for key, number in stated.items():
            text = re.sub(r"(?m)^%s \d+$" % key, "%s %d" % (key, number), text)
        os.unlink(path)
        files.write(path, text)
        results = self.place("copy", "again.jsonl")
        result = process.run([JITPROOF, "judge", "--results", results, self.place("copy")])
        return result.stdout + result.stderr + files.read(results)

    def test_as_recorded(self) -> None:
        text = self.judge({}, {})
        self.assertIn("\nok 1 " + CASE, text)
        self.assertRegex(text, r'"cpu.expected": ?\{"k": ?[1-9]')

    def test_denied_witness(self) -> None:
        none = {"witness": 0, "witness_since": 0}
        text = self.judge({"witness.denied": "perf_event_open: EPERM"}, none)
        self.assertIn("\nok 1 " + CASE, text)
        self.assertIn("perf_event_open: EPERM", text)
        self.assertRegex(self.judge({}, none),
                         r"the file `watched` lacks witness_since[^$]*not ok 1 ")
