# SPDX-License-Identifier: GPL-2.0-only
"""Options of jitproof itself."""

import shutil
import unittest

from ci.base import files, process
from harness.selftest.support.scratch import JITPROOF, ROOT, Folder


class Version(Folder):
    def test_both_names(self) -> None:
        for option in ("--version", "-V"):
            with self.subTest(option):
                done = process.run([JITPROOF, option])
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertRegex(done.stdout, r"^jitproof \d+\.\d+ \((unknown|[0-9a-z.-]+)\)\n$")

    def read_commit(self) -> str:
        process.must(["make", "-s", "-C", self.home, "O=" + self.place("build"),
                      self.place("build", "commit")])
        return files.read(self.place("build", "commit")).strip()

    def test_commit(self) -> None:
        shutil.copy(ROOT + "/Makefile", self.home)
        self.assertEqual(self.read_commit(), "unknown")
        git = ["git", "-C", self.home, "-c", "user.name=x", "-c", "user.email=x"]
        process.must([*git, "init", "-q"])
        process.must([*git, "add", "Makefile"])
        process.must([*git, "commit", "-qm", "x"])
        head = process.must([*git, "rev-parse", "--short=12", "HEAD"]).strip()
        self.assertEqual(self.read_commit(), head)
        files.write(self.place("Makefile"), files.read(self.place("Makefile")) + "#\n")
        self.assertEqual(self.read_commit(), head + "-dirty")


if __name__ == "__main__":
    unittest.main()
