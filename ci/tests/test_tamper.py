# SPDX-License-Identifier: GPL-2.0-only
"""Tests of make tamper on a recorded fixture: noticed and harmless alterations are counted."""

import os
import shutil
import sys

from ci.base import files, process
from harness.selftest.support.scratch import CI, FIXTURES, Folder, JITPROOF


class Tamper(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.top = self.place("run")
        shutil.copytree(os.path.join(FIXTURES, "anon"), os.path.join(self.top, "fixture", "anon"))

    def run_tamper(self, *options: str, status: int) -> str:
        result = process.run([sys.executable, os.path.join(CI, "tamper"), "--jitproof", JITPROOF,
                              "-j1", *options, self.top], timeout=240)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout

    def test_noticed_alterations(self) -> None:
        output = self.run_tamper("-k", "capture.gone", "-k", "sample.ip.libc", status=0)
        self.assertIn("| capture.gone | 1 | 1 | 0 |", output)
        self.assertTrue(output.endswith("2 passed, 0 failed, 0 skipped\n"), output)

    def test_harmless_alterations(self) -> None:
        output = self.run_tamper("-k", "harmless.*", status=0)
        self.assertIn("| harmless.again | 0 | 1 | 0 |", output)
        self.assertNotIn("## Wrong", output)

    def test_unknown_kind(self) -> None:
        self.assertEqual(self.run_tamper("-k", "no.such.kind", status=2), "")

    def test_seed_determines_the_altered_bytes(self) -> None:
        altered = []
        for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
            self.run_tamper("-k", "sample.deleted.fifth", "--seed", seed, "--make",
                            self.place(name),
                            status=0)
            altered.append(files.read_bytes(self.place(name, "fixture", "anon", "perf.data")))
        self.assertEqual(altered[0], altered[1])
        self.assertNotEqual(altered[0], altered[2])
        before = files.read_bytes(os.path.join(self.top, "fixture", "anon", "perf.data"))
        self.assertLess(len(altered[0]), len(before))
