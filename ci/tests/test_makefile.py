# SPDX-License-Identifier: GPL-2.0-only
"""What make says where something is missing."""

import os

from ci.base import process
from harness.selftest.scratch import ROOT, Folder

# Stands for a compiler that finds no header of elfutils.
COMPILER = """#!/bin/sh
case " $* " in *" -E "*) exit 1 ;; esac
exec gcc "$@"
"""


class Missing(Folder):
    def test_elfutils(self) -> None:
        compiler = self.write(COMPILER, "cc", runs=True)
        environment = {key: value for key, value in os.environ.items() if "MAKE" not in key}
        done = process.run(["make", "-s", "-C", ROOT, "O=" + self.place("build"),
                            "CC=" + compiler, "all"], env=environment)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"^Makefile:\d+: \*\*\* libelf-dev or libdw-dev is missing: "
                         r"run ci/setup\.  Stop\.\n$")
        done = process.run(["make", "-s", "-C", ROOT, "CC=" + compiler, "help"], env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_no_folder(self) -> None:
        done = process.run(["make", "-n", "-C", ROOT, "O="])
        self.assertEqual(done.returncode, 2)
        self.assertIn("O= names no folder", done.stderr)
