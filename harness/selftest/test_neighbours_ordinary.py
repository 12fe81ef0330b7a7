# SPDX-License-Identifier: GPL-2.0-only
"""The same attacks on an ordinary user's jitproof, by another ordinary user; and how many there are
in all."""

import glob
import importlib
import os
import unittest

from harness.selftest import neighbours
from harness.selftest import test_neighbours as ours
from harness.selftest import test_neighbours_inputs as inputs
from harness.selftest import test_neighbours_live as live
from harness.selftest.scratch import HERE

LEAST = 40
setUpModule = neighbours.prepare


class Outputs(ours.Outputs):
    victim = neighbours.ORDINARY


class Folders(ours.Folders):
    victim = neighbours.ORDINARY


class Code(ours.Code):
    victim = neighbours.ORDINARY


class Cases(inputs.Cases):
    victim = neighbours.ORDINARY


class Archives(inputs.Archives):
    victim = neighbours.ORDINARY


class Named(inputs.Named):
    victim = neighbours.ORDINARY


class Changing(live.Changing):
    victim = neighbours.ORDINARY


class Count(unittest.TestCase):
    def test_how_many(self) -> None:
        """Kinds of attacks: each test that stands in one of these files."""
        found = set()
        for path in sorted(glob.glob(os.path.join(HERE, "test_neighbours*.py"))):
            module = importlib.import_module(
                "harness.selftest." + os.path.basename(path).partition(".")[0])
            for kind in vars(module).values():
                if isinstance(kind, type) and issubclass(kind, neighbours.Neighbours):
                    found |= {name for name in vars(kind) if name.startswith("test_")}
        print(f"| {len(found)} kinds of attacks; on an ordinary user as well: "
              f"{unittest.defaultTestLoader.loadTestsFromName(__name__).countTestCases() - 1}")
        self.assertGreaterEqual(len(found), LEAST)
