# SPDX-License-Identifier: GPL-2.0-only
"""Tests which threads get the breakpoints of the capture policy breakpoint."""

from ci.base import process
from harness.selftest.support.scratch import JITPROOF, Folder

CASES = """# SPDX-License-Identifier: GPL-2.0-only
case late check : anon_exec --threads=2 : breakpoint : samples=50 at=before-sampling:exec
case hurried check : anon_exec --threads=2 : breakpoint --limit=1 : samples=50 seconds=4
case children check : fork_exec --tasks=3 : breakpoint : samples=50
"""


class Breakpoints(Folder):
    def run_case(self, name: str) -> str:
        self.write(CASES, "cases", "breakpoints")
        return process.run([JITPROOF, "run", "--expected", self.place("cases"),
                            "breakpoints/" + name], timeout=240).stdout

    def check_passes(self, name: str) -> None:
        out = self.run_case(name)
        if "# SKIP" in out:
            self.skipTest(out)
        self.assertIn("\nok 1 breakpoints/%s\n" % name, out)

    def test_later_threads(self) -> None:
        """Threads that start after the attach get breakpoints, too."""
        self.check_passes("late")

    def test_short_limit(self) -> None:
        """Each address has one event, even if the time limit ends while its sample is taken."""
        self.check_passes("hurried")

    def test_children(self) -> None:
        """A process whose children run all emitted code has nothing to set breakpoints on."""
        self.assertIn("ok 1 breakpoints/children # SKIP ", self.run_case("children"))
