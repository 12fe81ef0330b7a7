# SPDX-License-Identifier: GPL-2.0-only
"""Tests the order of code loads and mapping records where a capture attaches."""

import os
import shutil
import subprocess

from ci.base import files, jsonl, process
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


class OtherProcess(Folder):
    """A capture of all CPUs contains another program, whose jitdump is injected as well."""

    def test_other_jitdump(self) -> None:
        expected, out = self.place("expected"), self.place("run")
        for folder in (expected, self.place("other")):
            os.mkdir(folder)
        files.write(expected + "/own", "case a full : anon_exec : attach-by perf --freq=999 -a : "
                    "samples=50 publish=jitdump inject=strip\n")
        with subprocess.Popen(
                [JITPROOF, "workload", "anon_exec", "--truth", self.place("other/truth"),
                 "--publish=jitdump", "--publish-dir=" + self.place("other")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            self.assertRegex(other.stdout.readline(), "^ready ")
            ended = process.run([JITPROOF, "run", "--readers=none", "--expected", expected, "-o",
                                 out, "own/a"], timeout=240)
            other.communicate("stop\n", timeout=240)
        result = jsonl.read_one(os.path.join(out, "results.jsonl"))
        if result["outcome"] == "SKIP":
            self.skipTest(result["why"])
        self.assertEqual(result["outcome"], "PASS", ended.stdout)
        self.assertIn(("inject.stray", "unwatched"), [
            (exception["metric"], exception["cause"]) for exception in result["exceptions"]])
