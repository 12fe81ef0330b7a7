# SPDX-License-Identifier: GPL-2.0-only
"""Tests `jitproof explain --truth`: a cause that the validators find, too, is right; a cause that
they do not find is wrong; a cause that only they find is missed."""

import json
import os
import struct

from ci.base import process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import FIXTURES, JITPROOF, Folder


class Explaining(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.truth = os.path.join(FIXTURES, "clock", "truth")
        self.perf = rd.PerfData.load(os.path.join(FIXTURES, "clock", "perf.data"))

    def compare_with_truth(self, status: int) -> dict[str, str]:
        path = self.place("perf.data")
        self.perf.save(path)
        result = process.run([JITPROOF, "explain", "--json", "--slack", "0", "--truth", self.truth,
                              path], timeout=240)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        found = json.loads(result.stdout)
        self.assertEqual(found["agree"], not status)
        self.assertEqual(found["samples"], 351)
        return {one["id"]: one["verdict"] for one in found["causes"]}

    def remove_dumps(self) -> None:
        for attr in self.perf.attrs:
            kind = attr.sample_type & ~(rd.REGS_USER | rd.STACK_USER)
            struct.pack_into("<Q", attr.raw, 24, kind)
            struct.pack_into("<QI", attr.raw, 80, 0, 0)

    def test_right_causes(self) -> None:
        # The program's file is missing: neither explain nor the validators can walk its frames.
        self.assertEqual(self.compare_with_truth(0),
                         {"missing-file": "right", "no-name-source": "right",
                                                      "no-cfi-for-jit": "covered"})

    def test_whole_stacks(self) -> None:
        self.remove_dumps()
        # The truth has no native functions, so their lost names are not judged.
        self.assertEqual(self.compare_with_truth(0),
                         {"no-name-source": "right", "missing-file": "unjudged"})

    def test_older_code(self) -> None:
        self.remove_dumps()
        self.perf.records = [one for one in self.perf.records
                             if not (isinstance(one, rd.Map) and one.name == "//anon")]
        self.assertEqual(self.compare_with_truth(0)["older-code"], "right")

    def test_missed_cause(self) -> None:
        """The code's mapping gets the name of a jitdump."""
        self.remove_dumps()
        for one in self.perf.maps():
            if one.name == "//anon":
                one.name = "/tmp/jit-15439.dump"
        self.assertEqual(self.compare_with_truth(1)["jitdump-file-gone"], "missed")

    def test_wrong_cause(self) -> None:
        """Samples of an unknown process, in no mapping."""
        self.remove_dumps()
        for one in self.perf.samples():
            other = rd.Sample(one.misc, one.pack()[8:], one.attr)
            other.pid = other.tid = 1
            other.ip = 0x1234000
            other.chain = [rd.CONTEXT_USER, 0x1234000, 0x1235000]
            self.perf.records.append(other)
        self.perf.sort()
        self.assertEqual(self.compare_with_truth(1)["older-code"], "wrong")

    def test_text_and_usage(self) -> None:
        path = os.path.join(FIXTURES, "clock", "perf.data")
        result = process.run([JITPROOF, "explain", "--slack", "0", "--truth", self.truth, path],
                             timeout=240)
        self.assertIn("explain and the truth agree, by 351 samples in emitted code", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^  right    no-name-source +explain: 351 samples; "
                                      r"the truth: 351$")
        result = process.run([JITPROOF, "explain", "--truth", self.truth], timeout=240)
        self.assertEqual(result.returncode, 2)
        result = process.run([JITPROOF, "explain", "--truth", self.place("absent"), path],
                             timeout=240)
        self.assertEqual(result.returncode, 99)
