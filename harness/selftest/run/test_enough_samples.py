# SPDX-License-Identifier: GPL-2.0-only
"""Tests that the runner watches until the judge has enough samples in emitted code, whatever their
share, and enough acts of the workload."""

import json
import re
from typing import Any

from ci.base import files, process
from harness.selftest.support.scratch import JITPROOF, Folder

# Paths so short that native code takes more than half of the time, thus a runner that counted
# samples of any kind would stop too early; and a clock that needs more than half of the case's
# time for its samples.
CASES = """# SPDX-License-Identifier: GPL-2.0-only
case scarce check : anon_exec --turns=200 : attach --stack=8192 --freq=1999 : samples=300
	broken.dump =0
case slow check : anon_exec : attach --stack=8192 --freq=97 : samples=200 seconds=4
	broken.dump =0
case started check : short_lived --then-none : launch : seconds=1
case no-dumps check : anon_exec : launch-by perf --no-buildid : methods=dump seconds=1
defaults : coalesced_growth --threads=2 --period=10 : launch : samples=1 distinct=1
case acts check : : : acts=load:390 publish=jitdump
	load.unnamed any, names.unnamed any, order.hidden any
case idle check : anon_exec : attach : seconds=2 acts=unmap:9
	broken.chain =0
"""


class Enough(Folder):
    def run_case(self, name: str) -> tuple[dict[str, Any], str]:
        """Runs a case. Returns its figures, and the output."""
        self.write(CASES, "cases", "enough")
        run = process.run([JITPROOF, "run", "-o", self.place("run"), "--expected",
                           self.place("cases"), "enough/" + name], timeout=240)
        if run.returncode == 4:
            self.skipTest(run.stdout)
        if "# too little evidence: " in run.stdout:
            self.skipTest("the machine is too busy: " + run.stdout)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        result = json.loads(files.read(self.place("run", "results.jsonl")))
        return result["metrics"], run.stdout

    def test_scarce_samples(self) -> None:
        metrics, text = self.run_case("scarce")
        self.assertGreaterEqual(metrics["judged.dump"]["k"], 300)
        samples = re.search(r"(?m)^# samples by class: .* = (\d+)$", text)
        assert samples
        self.assertGreater(int(samples[1]), metrics["judged.dump"]["k"], text)
        self.assertNotIn("# sampled for", text)

    def test_slow_capture(self) -> None:
        """Samples are counted by the capture's clock, not by the witness's faster one."""
        metrics, text = self.run_case("slow")
        self.assertGreaterEqual(metrics["judged.dump"]["k"], 200)
        self.assertLess(metrics["judged.dump"]["k"], 200 * 1.5)
        self.assertIn("\n# sampled for more than half of the case's 4 s\n", text)

    def test_needed_acts(self) -> None:
        metrics, _ = self.run_case("acts")
        self.assertGreaterEqual(metrics["order.loads"]["k"], 390)

    def run_without_evidence(self, name: str) -> str:
        """Runs a case that cannot get enough evidence. Returns the output."""
        self.write(CASES, "cases", "enough")
        run = process.run([JITPROOF, "run", "--expected", self.place("cases"), "enough/" + name],
                          timeout=240)
        if run.returncode == 4:
            self.skipTest(run.stdout)
        return run.stdout

    def test_no_code(self) -> None:
        """A workload that only starts has samples from before the witness's first possible one."""
        out = self.run_without_evidence("started")
        self.assertIn("\n# nothing was checked: no sample was judged\n", out)
        self.assertNotIn("# witness: ", out)

    def test_no_dumps(self) -> None:
        """The profiler's own options could have asked for stack dumps, and did not."""
        self.assertIn("\n# nothing was checked: no sample was judged; the case's methods need "
                      "stack dumps, by --stack\n", self.run_without_evidence("no-dumps"))

    def test_too_few_acts(self) -> None:
        out = self.run_without_evidence("idle")
        self.assertIn("\n# too little evidence: 0 acts of kind unmap while the capture ran, the "
                      "case needs 9\n", out)
        self.assertIn("\nnot ok 1 enough/idle # ERROR\n", out)
