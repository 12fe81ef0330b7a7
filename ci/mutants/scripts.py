# SPDX-License-Identifier: GPL-2.0-only
"""Python tests as oracles: the methods that run the mutant's line must pass."""

import os
import re
import sys

from ci.mutants.oracles import Done, Oracle, run

TIMEOUT_S = 150
FAILED = re.compile(rb"^(?:FAIL|ERROR): (\w+) \((?:\w+\.)*?(\w+)(?:\.\1)?\)", re.MULTILINE)
HERE = os.path.dirname(os.path.abspath(__file__))


def make_environment(binary: str) -> dict[str, str]:
    """Returns an environment that names only @binary: tests of misbehaving workloads would use a
    program without the mutant."""
    return {"JITPROOF": binary, "SELFTEST": binary, "PYTHONDONTWRITEBYTECODE": "1"}


class Script(Oracle):
    """A Python test. @methods: the methods to run, CLASS.METHOD; all if empty."""

    slow = True

    def __init__(self, tree: str, name: str) -> None:
        super().__init__(name)
        self.tree, self.methods = tree, list[str]()
        self.passed: dict[tuple[str, ...], bool] = {}
        self.output = b""

    def learn_expected(self, binary: str, scratch: str) -> None:
        """Expects that the test passes; does not run it, since only some methods may be used."""
        self.expected = Done("0", 0)

    def find_killer(self, binary: str, scratch: str) -> str:
        if self.ask(binary, scratch, TIMEOUT_S) == "0":
            return ""
        match = FAILED.search(self.output)
        if match:
            self.methods = ["%s.%s" % (match.group(2).decode(), match.group(1).decode())]
        methods = tuple(self.methods)
        if methods not in self.passed:
            self.passed[methods] = self.ask(self.plain, scratch, TIMEOUT_S) == "0"
        return " ".join((self.name, *methods[:1])) if self.passed[methods] else ""

    def ask(self, binary: str, scratch: str, timeout: float) -> str:
        module = "harness.selftest." + self.name.removesuffix(".py").replace("/", ".")
        status, self.output = run(
            [sys.executable, "-m", "unittest", "-f",
             *([".".join((module, method)) for method in self.methods] or [module])],
            TIMEOUT_S, self.tree, make_environment(binary))
        return "%r" % status

    def trace(self, binary: str, notes: str) -> None:
        """Traces each method into a file of its own, NOTES/CLASS.METHOD, and what precedes the
        first method of a class into NOTES/before."""
        run([sys.executable, os.path.join(HERE, "trace_script.py"),
             os.path.join(self.tree, "harness/selftest", self.name), notes], 10 * TIMEOUT_S,
            self.tree, make_environment(binary))
