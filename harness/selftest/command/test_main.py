# SPDX-License-Identifier: GPL-2.0-only
"""Options of jitproof itself."""

import shutil
import unittest

from ci.base import files, process
from harness.selftest.support.scratch import JITPROOF, ROOT, Folder


class Mistyped(unittest.TestCase):
    def test_suggestions(self) -> None:
        for words, error in (
                (["rnu"], "no command 'rnu'; did you mean 'run'? (see jitproof --help)"),
                (["zzzz"], "no command 'zzzz' (see jitproof --help)"),
                (["list", "--helo"], "unknown option '--helo'"),
                (["run", "--jbos=3"], "unknown option '--jbos=3'; did you mean '--jobs'?"),
                (["workload", "anon_exce"], "no workload 'anon_exce'; did you mean 'anon_exec'?"),
                (["list", "growht"], "no case matches 'growht'; did you mean 'growth'?"),
                (["run", "zzz/*"], "no case matches 'zzz/*' (see jitproof list)"),
                (["run", "growth/anon.mpa"],
                 "no case matches 'growth/anon.mpa'; did you mean 'growth/anon.map'?"),
                (["repro", "growth/anno.map", "-o", "x"],
                 "no case 'growth/anno.map'; did you mean 'growth/anon.map'?"),
                (["facts", "attr.bit.bild_id"], "no fact matches 'attr.bit.bild_id'; did you mean "
                 "'attr.bit.build_id'?"),
                (["score", "--profiler=perf", "wx_togle"], "no scene matches 'wx_togle'; did you "
                 "mean 'wx_toggle'?")):
            with self.subTest(" ".join(words)):
                result = process.run([JITPROOF, *words])
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(error, result.stderr)


class Names(unittest.TestCase):
    def list_names(self, *words: str) -> list[str]:
        return [line.split()[0] for line in process.run_or_raise([JITPROOF, "list",
                                                                  *words]).splitlines()]

    def test_parts_of_names(self) -> None:
        names = self.list_names()
        self.assertEqual(self.list_names("gro"), [name for name in names if "gro" in name])
        self.assertEqual(self.list_names("growth/anon", "files"),
                         [name for name in names if "growth/anon" in name or "files" in name])

    def test_whole_names(self) -> None:
        name = next(name for name in self.list_names()
                    if len(self.list_names("*" + name + "*")) > 1)
        self.assertEqual(self.list_names(name), [name])


class Version(Folder):
    def test_both_names(self) -> None:
        for option in ("--version", "-V"):
            with self.subTest(option):
                result = process.run([JITPROOF, option])
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertRegex(result.stdout, r"^jitproof \d+\.\d+ \((unknown|[0-9a-z.-]+)\)\n$")

    def read_commit(self) -> str:
        process.run_or_raise(["make", "-s", "-C", self.home, "O=" + self.place("build"),
                              self.place("build", "commit")])
        return files.read(self.place("build", "commit")).strip()

    def test_commit(self) -> None:
        shutil.copy(ROOT + "/Makefile", self.home)
        self.assertEqual(self.read_commit(), "unknown")
        git = ["git", "-C", self.home, "-c", "user.name=x", "-c", "user.email=x"]
        process.run_or_raise([*git, "init", "-q"])
        process.run_or_raise([*git, "add", "Makefile"])
        process.run_or_raise([*git, "commit", "-qm", "x"])
        head = process.run_or_raise([*git, "rev-parse", "--short=12", "HEAD"]).strip()
        self.assertEqual(self.read_commit(), head)
        files.write(self.place("Makefile"), files.read(self.place("Makefile")) + "#\n")
        self.assertEqual(self.read_commit(), head + "-dirty")
