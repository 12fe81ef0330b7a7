# SPDX-License-Identifier: GPL-2.0-only
"""Tests make install, and make's messages if something is missing."""

import glob
import os

from ci.base import process
from harness.selftest.support.scratch import BUILD, ROOT, Folder

# Replaces a compiler that does not find the headers of elfutils.
COMPILER = """#!/bin/sh
case " $* " in *" -E "*) exit 1 ;; esac
exec gcc "$@"
"""


class Missing(Folder):
    def test_missing_elfutils(self) -> None:
        compiler = self.write(COMPILER, "cc", runs=True)
        environment = {key: value for key, value in os.environ.items() if "MAKE" not in key}
        result = process.run(["make", "-s", "-C", ROOT, "O=" + self.place("build"),
                              "CC=" + compiler, "all"], env=environment)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, r"^Makefile:\d+: \*\*\* libelf-dev or libdw-dev is missing"
                         r": run ci/setup\.  Stop\.\n$")
        result = process.run(["make", "-s", "-C", ROOT, "CC=" + compiler, "help"], env=environment)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_empty_build_folder(self) -> None:
        result = process.run(["make", "-n", "-C", ROOT, "O="])
        self.assertEqual(result.returncode, 2)
        self.assertIn("O= names no folder", result.stderr)


class Install(Folder):
    def test_installed_files(self) -> None:
        environment = {key: value for key, value in os.environ.items() if "MAKE" not in key}
        process.run_or_raise(["make", "-s", "-C", ROOT, "-o", "all", "O=" + BUILD, "prefix=/usr",
                              "DESTDIR=" + self.home, "install"], env=environment)
        installed = [path for path in glob.glob("**", root_dir=self.home, recursive=True)
                     if os.path.isfile(self.place(path))]
        adapters = glob.glob("profiler/**/*.py", root_dir=os.path.join(ROOT, "harness"),
                             recursive=True)
        static = [os.path.basename(path) for path in glob.glob(BUILD + "/jitproof-static*")
                  if os.access(path, os.X_OK)]
        self.assertEqual(sorted(installed), sorted([
            "usr/bin/jitproof", *("usr/bin/" + name for name in static),
            *("usr/share/jitproof/" + name for name in adapters),
            "usr/share/bash-completion/completions/jitproof",
            "usr/share/fish/vendor_completions.d/jitproof.fish",
            "usr/share/zsh/site-functions/_jitproof",
            *("usr/share/man/" + os.path.relpath(page, BUILD + "/man")
              for page in glob.glob(BUILD + "/man/man*/*")),
            ]))
        self.assertIn("usr/share/man/man1/jitproof.1", installed)
        self.assertIn("usr/share/man/man5/jitproof-truth-format.5", installed)
        result = process.run([self.place("usr/bin/jitproof"), "adapter", "check", "perf"],
                             env={**environment, "JITPROOF_PERF": self.place("none")})
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("none: not found\n", result.stdout)
