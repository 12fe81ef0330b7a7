# SPDX-License-Identifier: GPL-2.0-only
"""Tests the order of code loads and mapping records where a capture attaches."""

import os
import shutil

from ci.base import files, process
from harness.selftest.support.scratch import FIXTURES, Folder, JITPROOF

NEVER = 2**64 - 1


class Early(Folder):
    """A capture that attaches on a busy machine: records merge before the snapshot is read."""

    def test_live_record_before_the_snapshot_is_read(self) -> None:
        case = self.place("case")
        shutil.copytree(os.path.join(FIXTURES, "growth"), case)
        inject = ["inject", "--anon=keep", "--jitdump-dir", case, "-i", case + "/perf.data", "-o"]
        os.remove(self.place("case/injected.data"))
        process.run([JITPROOF, *inject, self.place("case/injected.data")], timeout=240)
        files.write(self.place("case/maps"), "# pid 12329 before %d after %d\n" % (NEVER, NEVER))
        self.assertRegex(process.run([JITPROOF, "judge", case], timeout=240).stdout,
                         r"(?m)^# order.hidden: 78 with cause coalesced,")
