# SPDX-License-Identifier: GPL-2.0-only
"""Python tests as questions: those of a script's methods that run the line pass."""

import os
import re
import sys

from ci.mutants.oracles import Done, Oracle, run

TIMEOUT_S = 150
FAILED = re.compile(rb"^(?:FAIL|ERROR): (\w+) \((?:\w+\.)*?(\w+)(?:\.\1)?\)", re.MULTILINE)
HERE = os.path.dirname(os.path.abspath(__file__))


def environment(binary: str) -> dict[str, str]:
    """Of @binary alone: what tests of a workload that misbehaves show, no mutant changes."""
    return {"JITPROOF": binary, "SELFTEST": binary, "PYTHONDONTWRITEBYTECODE": "1"}


class Script(Oracle):
    """@methods: CLASS.METHOD, those that are asked; all where none is named."""

    slow = True

    def __init__(self, tree: str, name: str) -> None:
        super().__init__(name)
        self.tree, self.methods = tree, list[str]()
        self.passed: dict[tuple[str, ...], bool] = {}
        self.said = b""

    def learn(self, binary: str, scratch: str) -> None:
        """Nothing at once: it passes, as far as it is asked."""
        self.expected = Done("0", 0)

    def killer(self, binary: str, scratch: str) -> str:
        if self.ask(binary, scratch, TIMEOUT_S) == "0":
            return ""
        found = FAILED.search(self.said)
        if found:
            self.methods = ["%s.%s" % (found.group(2).decode(), found.group(1).decode())]
        asked = tuple(self.methods)
        if asked not in self.passed:
            self.passed[asked] = self.ask(self.plain, scratch, TIMEOUT_S) == "0"
        return " ".join((self.name, *asked[:1])) if self.passed[asked] else ""

    def ask(self, binary: str, scratch: str, timeout: float) -> str:
        module = "harness.selftest." + self.name.removesuffix(".py").replace("/", ".")
        status, self.said = run(
            [sys.executable, "-m", "unittest", "-f",
             *([".".join((module, method)) for method in self.methods] or [module])],
            TIMEOUT_S, self.tree, environment(binary))
        return "%r" % status

    def trace(self, binary: str, notes: str) -> None:
        """Each method notes in a file of its own, NOTES/CLASS.METHOD; what comes before the first
        of a class, in NOTES/before."""
        run([sys.executable, os.path.join(HERE, "trace_script.py"),
             os.path.join(self.tree, "harness/selftest", self.name), notes], 10 * TIMEOUT_S,
            self.tree, environment(binary))
