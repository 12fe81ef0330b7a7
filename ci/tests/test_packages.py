# SPDX-License-Identifier: GPL-2.0-only
"""Tests the Debian source package and the RPM spec."""

import os
import re
import shutil
import sys

from ci.base import files, process
from harness.selftest.support.scratch import ROOT, Folder

PACKAGING = os.path.join(ROOT, "packaging")
SPEC = os.path.join(PACKAGING, "jitproof.spec")


class Packages(Folder):
    def need(self, *tools: str) -> None:
        missing = [tool for tool in tools if not shutil.which(tool)]
        if missing:
            self.skipTest("no " + ", ".join(missing))

    def test_debian_source(self) -> None:
        self.need("dpkg-buildpackage", "dh", "lintian")
        result = process.run([sys.executable, os.path.join(ROOT, "ci", "deb"), "--source", "-o",
                              self.place("deb")])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertTrue(os.path.exists(self.place("deb", "jitproof_0.1-1.dsc")))

    def test_version(self) -> None:
        """All packages have one version."""
        changelog = files.read(os.path.join(PACKAGING, "debian", "changelog"))
        spec = files.read(SPEC)
        version, = re.findall(r"^Version: +(.*)", spec, re.M)
        self.assertEqual(re.findall(r"^jitproof \((.*)-\d+\)", changelog), [version])
        self.assertIn(f" - {version}-1\n", spec)
        self.assertLessEqual(set(re.findall(r"^VERSION\s*:= (.*)",
                                            files.read(os.path.join(ROOT, "Makefile")), re.M)),
                             {version})

    def test_rpm_spec(self) -> None:
        self.need("rpmlint", "rpmspec")
        result = process.run(["rpmlint", SPEC])
        self.assertRegex(result.stdout, r"\b0 errors", result.stdout + result.stderr)
        shown = process.run_or_raise(["rpmspec", "-P", "--define", "fedora 41", SPEC])
        packages = set(re.findall(r"^BuildRequires: +(\S+)", shown, re.M))
        named = process.run_or_raise([os.path.join(ROOT, "ci", "setup"), "--fedora"]).split()
        self.assertLessEqual(packages, set(named))
