# SPDX-License-Identifier: GPL-2.0-only
"""Tests code in the first SysV segment of an IPC namespace, whose inode is 0."""

import unittest

from ci.base import process
from harness.selftest.support.scratch import Folder, run_binary


class FirstSegment(Folder):
    def test_case_in_the_first_segment_passes(self) -> None:
        new = ["unshare", "-Uri"]
        probe = process.run([*new, "true"])
        if probe.returncode:
            raise unittest.SkipTest("no user and IPC namespace: " + probe.stderr.strip())
        result = run_binary("run", "-o", self.place("run"), "growth/grow.sysv.up.mmap", before=new)
        if "# SKIP" in result.stdout:
            raise unittest.SkipTest(result.stdout)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("\nok 1 growth/grow.sysv.up.mmap\n", result.stdout)
