# SPDX-License-Identifier: GPL-2.0-only
"""Runs the attacks of the other files on an ordinary user's jitproof, and counts all attacks."""

import glob
import importlib
import os
import unittest

from harness.selftest.support import other_users
from harness.selftest.hostile import test_other_users as ours
from harness.selftest.hostile import test_other_users_live as live
from harness.selftest.support.scratch import HERE

LEAST = 40
setUpModule = other_users.prepare


# Attacks on outputs: an ordinary user has no rights that reading could give up.
for attacks in (ours.Outputs, ours.Folders, live.Swapped):
    globals()[attacks.__name__] = type(attacks.__name__, (attacks,),
                                       {"victim": other_users.ORDINARY, "__module__": __name__})
del attacks  # unittest would run the last class a second time


class Count(unittest.TestCase):
    def test_how_many(self) -> None:
        """Counts kinds of attacks: the tests of these files."""
        result = set()
        for path in sorted(glob.glob(os.path.join(HERE, "hostile/test_other_users*.py"))):
            module = importlib.import_module(
                "harness.selftest.hostile." + os.path.basename(path).partition(".")[0])
            for kind in vars(module).values():
                if isinstance(kind, type) and issubclass(kind, other_users.OtherUsers):
                    result |= {name for name in vars(kind) if name.startswith("test_")}
        print(f"| {len(result)} kinds of attacks; on an ordinary user as well: "
              f"{unittest.defaultTestLoader.loadTestsFromName(__name__).countTestCases() - 1}")
        self.assertGreaterEqual(len(result), LEAST)
