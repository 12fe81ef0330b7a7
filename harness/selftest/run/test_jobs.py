# SPDX-License-Identifier: GPL-2.0-only
"""Tests run --jobs: results come in the order of the cases, and a case whose process dies is an
ERROR."""

import os
import re
import signal
import subprocess
import time

from ci.base import files, process
from harness.selftest.support.scratch import JITPROOF, Folder

CASES = """# SPDX-License-Identifier: GPL-2.0-only
case long check : anon_exec : attach --stack=8192 --freq=997 : samples=900
	broken.dump =0
case short check : anon_exec : attach --stack=8192 --freq=1999 : samples=20
	broken.dump =0
case third check : anon_exec : attach --stack=8192 --freq=1999 : samples=20
	broken.dump =0
"""


class Jobs(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.write(CASES, "cases", "jobs")

    def make_command(self, folder: str, *arguments: str) -> list[str]:
        return [JITPROOF, "run", "-o", self.place(folder), "--expected", self.place("cases"),
                *arguments]

    def test_order_of_results(self) -> None:
        """The first case ends last."""
        run = process.run(self.make_command("run", "--jobs=2"), timeout=240)
        if run.returncode == 4:
            self.skipTest(run.stdout)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(re.findall(r"(?m)^ok (\d) jobs/(\w+)$", run.stdout),
                         [("1", "long"), ("2", "short"), ("3", "third")])
        if os.geteuid():
            return  # an ordinary user's cases run one after the other
        ended = [os.path.getmtime(self.place("run", "jobs", case, "seconds"))
                 for case in ("long", "short", "third")]
        self.assertEqual(max(ended), ended[0])

    def find_case_process(self) -> int:
        """Returns the process of the running case: the parent of its workload."""
        end = time.monotonic() + 240
        while time.monotonic() < end:
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    words = files.read(f"/proc/{pid}/cmdline").split("\0")
                    if self.place("run", "jobs", "long", "truth") in words:
                        return int(files.read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[1])
                except (FileNotFoundError, ProcessLookupError):
                    pass
        raise AssertionError("no workload was started")

    def test_killed_job(self) -> None:
        if process.run(self.make_command("tried", "jobs/short"), timeout=240).returncode == 4:
            self.skipTest("cases cannot run here")
        with subprocess.Popen(self.make_command("run", "jobs/*o*"), stdout=subprocess.PIPE,
                              text=True) as run:
            os.kill(self.find_case_process(), signal.SIGKILL)
            text = run.communicate(timeout=240)[0]
        self.assertEqual(run.returncode, 1, text)
        self.assertIn("# the process that ran the case was killed\n"
                      "not ok 1 jobs/long # ERROR\nok 2 jobs/short\n", text)
