#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests that figures which a run directory contains twice agree: `capture`, perf.data, `watched`,
env.json."""

import re
import struct

from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import Recorded

EVENT_DESC, SAMPLE_TIME, CLOCKID = 12, 21, 23


class OwnCapture(Recorded):
    """jitproof's own attached capture, with all features that jitproof writes."""

    fixture = "clock"

    def setUp(self) -> None:
        super().setUp()
        self.complete_watched()
        times = [sample.time for sample in self.perf.samples()]
        self.perf.features.update({SAMPLE_TIME: struct.pack("<QQ", min(times), max(times)),
                                   EVENT_DESC: self.pack_descriptions(b"cpu-clock", b"dummy"),
                                   CLOCKID: struct.pack("<Q", 1)})

    def pack_descriptions(self, *names: bytes) -> bytes:
        raw = struct.pack("<II", len(self.perf.attrs), rd.ATTR)
        for attr, name in zip(self.perf.attrs, names):
            raw += bytes(attr.raw[:rd.ATTR]) + struct.pack("<II64s", len(attr.ids), 64, name)
            raw += struct.pack("<%dQ" % len(attr.ids), *attr.ids)
        return raw


class Figures(OwnCapture):

    def test_figures_of_a_launch(self) -> None:
        """A launch lists no threads, so it has no duplicates."""
        self.facts.update(threads="1", thread_passes="0", duplicates="1", duplicates_sideband="1")
        self.expect_error("the capture states duplicates 1; there are 0 to 0",
                          "the capture states duplicates_sideband 1; there are 0 to 0")

    def test_requested_synthesizing(self) -> None:
        self.put_text("case", self.read_text("case").replace("--synth=exec", "--synth=all"))
        self.expect_error("states policy exec; the case asks for all")


class Attrs(OwnCapture):

    def test_all_mappings(self) -> None:
        """mmap_data is permitted, and so is any wakeup_events."""
        del self.perf.features[EVENT_DESC]
        self.perf.attrs[1].flags |= 1 << 17
        self.perf.attrs[1].raw[48] ^= 3
        self.expect_pass()

class Others(OwnCapture):
    """The fixture's capture, declared as that of another profiler."""

    def setUp(self) -> None:
        super().setUp()
        self.put_text("case", self.read_text("case").replace(": attach --synth=exec --stack=256 ",
                                                             ": attach-by perf --stack=256 "))
        self.put_text("env.json", "{}")
        self.assertIn("attach-by perf", self.read_text("case"))

    def test_features_of_perf(self) -> None:
        """Event names are free; the times may be 0, or those of the first and last record."""
        self.perf.features[EVENT_DESC] = self.pack_descriptions(b"cpu-clock:uH", b"")
        self.expect_pass()
        first, last = struct.unpack("<QQ", self.perf.features[SAMPLE_TIME])
        for times in ((0, 0), (first + 1, last - 1)):
            self.perf.features[SAMPLE_TIME] = struct.pack("<QQ", *times)
            self.expect_pass()


class Machine(OwnCapture):

    def test_missing_keys(self) -> None:
        """Without these keys rules would be skipped, so their absence is an ERROR."""
        right = self.read_text("watched")
        self.put_text("env.json", '{"format": 1}')
        self.expect_pass()
        for key, new in (("silent", ""), ("silent", "silent 0\n"), ("cpus", "cpus 0\n")):
            self.put_text("watched", re.sub(rf"(?m)^{key} .*\n", new, right))
            self.expect_error(f"the file `watched` lacks {key}, "
                              "which the runner states since format 1")
        self.put_text("env.json", '{"format": 2}')
        self.expect_error("env.json lacks clocks_count, which the runner states since format 2")
        self.put_text("env.json", "{}")
        self.put_text("watched", re.sub(r"(?m)^silent .*\n", "", right))
        self.expect_pass()

    def test_stopped_after_silence(self) -> None:
        """A slow runner ends long after the capture has reported that its events are off."""
        watched = self.read_text("watched")
        silent = int(re.findall(r"(?m)^silent (\d+)", watched)[0])
        self.put_text("watched", re.sub(r"(?m)^ended .*\n", f"ended {silent + 10**9}\n", watched))
        self.facts["stopped"] = str(silent)
        self.expect_pass()
        self.facts["stopped"] = str(silent + 1)
        self.expect_error(f"the capture states stopped {silent + 1}; the runner saw ")

    def test_counted_nothing(self) -> None:
        """Clocks of Linux 6.16 count nothing, which is permitted only if the runner noticed it,
        too."""
        self.facts["counted"] = "0"
        self.put_text("env.json", '{"format": 2, "clocks_count": "no"}')
        self.expect_pass()
        self.put_text("env.json", '{"format": 2, "clocks_count": "yes"}')
        self.expect_error(" samples, and events that counted no time; env.json states")
