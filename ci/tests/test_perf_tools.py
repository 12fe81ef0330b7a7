# SPDX-License-Identifier: GPL-2.0-only
"""Tests the parts of perf_tools.py and debian_packages.py that need no network."""

import json
import platform
import unittest

from ci.base import debian_packages
from ci.base.status import Missing
from ci.perf import perf_tools
from harness.selftest.support.scratch import Folder

# Replaces the loader: prints its arguments.
LOADER = """#!/bin/sh
[ "$4" = --version ] && { echo "perf version 6.12.107"; exit; }
echo "$PERF_CONFIG" "$@"
"""


class Packages(unittest.TestCase):
    def test_mirrors(self) -> None:
        self.assertEqual(
            debian_packages.parse_mirrors("bookworm-security http://b\nbookworm-updates http://a\n"
                                          "bookworm http://c\nmine http://d\n"),
            ("http://a", "http://b"))
        self.assertEqual(debian_packages.parse_mirrors("sid http://a\n"), ("http://a", None))
        with self.assertRaises(Missing):
            debian_packages.parse_mirrors("jammy http://a\nbookworm-security http://b\n")

    def test_addresses_are_removed(self) -> None:
        self.assertEqual(debian_packages.remove_addresses(
            "E: Failed to fetch http://user:word@host:1/x.deb  404"),
                         "E: Failed to fetch (the mirror)  404")


class Tools(Folder):
    def make_fake_suite(self, suite: str, version: str) -> str:
        """Creates a suite that was fetched before."""
        home = self.place(suite)
        libraries = "root/usr/lib/%s-linux-gnu/" % platform.machine()
        for name, text in (("root/usr/bin/perf", ""), ("root/usr/bin/perf_5.10", ""),
                           (libraries + perf_tools.LD_SO[platform.machine()], LOADER)):
            self.write(text, suite, name, runs=True)
        perf_tools.write_wrapper(home)
        self.write(json.dumps({"version": version, "packages": ["linux-perf_" + version]}),
                   suite, "fetched.json")
        return home

    @unittest.skipUnless(platform.machine() in perf_tools.LD_SO, "no perf was tried here")
    def test_find_fetched_perf(self) -> None:
        home = self.make_fake_suite("trixie", "6.12.107")
        self.make_fake_suite("bookworm", "6.1.187")
        for expected in ("trixie", "6.12", "6.12.107"):
            perf = perf_tools.find(self.home, expected)
            self.assertEqual((perf.suite, perf.version, perf.path, perf.number),
                             ("trixie", "6.12.107", home + "/perf", (6, 12, 107)))
        self.assertEqual(perf.packages, ("linux-perf_6.12.107",))
        self.assertEqual(perf_tools.find(self.home, "6.1").suite, "bookworm")
        self.assertEqual(perf_tools.read_version(perf.path), "6.12.107")

    @unittest.skipUnless(platform.machine() in perf_tools.LD_SO, "no perf was tried here")
    def test_wrapper_runs_perf_with_its_loader(self) -> None:
        home = self.make_fake_suite("trixie", "6.12.107")
        perf = perf_tools.find(self.home, "trixie")
        words = perf.run("report", "-i", "a b").stdout.split(" ")
        self.assertEqual(words[0], home + "/perfconfig")
        self.assertEqual(words[1], "--library-path")
        self.assertTrue(words[2].startswith(home + "/root/usr/lib/"), words[2])
        # Expect the perf with a version in its name.
        self.assertEqual(words[3:], [home + "/root/usr/bin/perf_5.10", "report", "-i", "a", "b\n"])
