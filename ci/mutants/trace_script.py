# SPDX-License-Identifier: GPL-2.0-only
"""Runs a Python test, each of its methods with a trace of its own: FOLDER/CLASS.METHOD."""

import os
import sys
import unittest


class Traced(unittest.TextTestResult):
    def startTest(self, test: unittest.TestCase) -> None:
        name = ".".join(test.id().split(".")[-2:])
        os.environ["MUTANTS_TRACE"] = os.path.join(sys.argv[2], name)
        super().startTest(test)


def main() -> int:
    path = os.path.abspath(sys.argv[1])
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(path))))
    sys.path.insert(0, os.path.dirname(path))
    tests = unittest.defaultTestLoader.loadTestsFromName(os.path.basename(path)[:-len(".py")])
    runner = unittest.TextTestRunner(resultclass=Traced, verbosity=0)
    return 0 if runner.run(tests).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
