# SPDX-License-Identifier: GPL-2.0-only
"""Runs a Python test of the tree in the working folder. Traces each of its methods into
FOLDER/CLASS.METHOD, and writes the duration of a method that passed into a file with the suffix
.seconds. FOLDER/before traces what classes prepare."""

import os
import sys
import time
import unittest

FOLDER = os.path.abspath(sys.argv[2])


def trace_to(name: str) -> str:
    path = os.environ["MUTANTS_TRACE"] = os.path.join(FOLDER, name)
    return path


class Traced(unittest.TextTestResult):
    def startTest(self, test: unittest.TestCase) -> None:
        self.path = trace_to(".".join(test.id().split(".")[-2:]))
        self.start = time.monotonic()
        super().startTest(test)

    def addSuccess(self, test: unittest.TestCase) -> None:
        with open(self.path + ".seconds", "w", encoding="utf-8") as file:
            file.write("%.3f" % (time.monotonic() - self.start))
        super().addSuccess(test)

    def stopTest(self, test: unittest.TestCase) -> None:
        trace_to("before")
        super().stopTest(test)


def main() -> int:
    sys.path.insert(0, os.getcwd())
    trace_to("before")
    module = os.path.relpath(sys.argv[1]).removesuffix(".py").replace("/", ".")
    tests = unittest.defaultTestLoader.loadTestsFromName(module)
    runner = unittest.TextTestRunner(resultclass=Traced, verbosity=0)
    return 0 if runner.run(tests).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
