# SPDX-License-Identifier: GPL-2.0-only
"""Tests ci/each-commit in a made repository."""

import os
import subprocess

from ci.base import process
from harness.selftest.support.scratch import CI, Folder

GOOD = "all:\n\t@echo made >>$(O)\nlint:\n\t@true\n"
NAMES = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER")
         for what in ("NAME", "EMAIL")}


class EachCommit(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.run_git("init", "-q", "-b", "main")
        self.commit("first", "all:\n\tfalse\n")

    def run_git(self, *words: str) -> str:
        return process.run_or_raise(["git", *words], cwd=self.home, env={**os.environ, **NAMES})

    def commit(self, subject: str, makefile: str) -> None:
        self.write(makefile, "Makefile")
        self.run_git("add", "Makefile")
        self.run_git("commit", "-qm", subject)

    def run_each_commit(self, *words: str) -> "subprocess.CompletedProcess[str]":
        # Do not pass the variables of the make that runs this test.
        environment = {key: value for key, value in os.environ.items() if "MAKE" not in key}
        return process.run([os.path.join(CI, "each-commit"), *words], cwd=self.home,
                           env=environment)

    def list_lines(self, done: "subprocess.CompletedProcess[str]") -> list[str]:
        return [line for line in done.stdout.splitlines() if not line.startswith("  ")]

    def test_good_commits(self) -> None:
        self.commit("second", GOOD)
        self.commit("third", GOOD + "# more\n")
        result = self.run_each_commit("HEAD~2")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        second, third = self.run_git("log", "--format=%h", "--reverse", "HEAD~2..").split()
        self.assertEqual(self.list_lines(result), [f"ok {second} second", f"ok {third} third"])
        # The temporary worktree was removed.
        self.assertEqual(self.run_git("worktree", "list").count("\n"), 1)
        self.assertEqual(self.run_git("status", "--porcelain"), "")

    def test_bad_commits(self) -> None:
        self.commit("broken", "all:\n\t@echo what; false\nlint:\n")
        self.commit("unclean", "all:\nlint:\n\t@echo 'a.c:1: bad' && false\n")
        self.commit("more", GOOD + "programs:\n\tfalse\n")
        self.commit("mended", GOOD)
        result = self.run_each_commit("HEAD~4")
        self.assertEqual(result.returncode, 1)
        self.assertEqual([line.split(" ")[-1] if line.startswith("ok") else line.partition(": ")[2]
                          for line in self.list_lines(result)],
                         ["does not build", "make lint fails", "does not build", "mended"])
        self.assertIn("  what\n", result.stdout)
        self.assertIn("  a.c:1: bad\n", result.stdout)

    def test_usage(self) -> None:
        for words in ((), ("a", "b"), ("nothing-of-the-kind",)):
            self.assertEqual(self.run_each_commit(*words).returncode, 2, words)
