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
        done = run_binary("run", "-o", self.place("run"), "growth/grow.sysv.up.mmap", before=new)
        if "# SKIP" in done.stdout:
            raise unittest.SkipTest(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("\nok 1 growth/grow.sysv.up.mmap\n", done.stdout)
