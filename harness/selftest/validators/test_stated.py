#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests that figures which a run directory contains twice agree: `capture`, perf.data, `watched`,
env.json."""

import os
import re
import struct

from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import Recorded

EVENT_DESC, SAMPLE_TIME, CLOCKID = 12, 21, 23
ATTR_AT = 8  # offset of the first attr in EVENT_DESC


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

    def expect_error_with(self, number: int, raw: bytes, message: str) -> None:
        right = self.perf.features[number]
        self.perf.features[number] = raw
        self.expect_error(message)
        self.perf.features[number] = right


class Figures(OwnCapture):
    def test_each_figure(self) -> None:
        self.expect_pass()
        for key, value in (
                ("first_enabled", "0"), ("cpus", "0"), ("frequency", "0"), ("frequency", "300"),
                ("snapshots", "0"), ("snapshots", "2"), ("snapshot_readings", "1"),
                ("snapshots_unstable", "2"), ("breakpoints_hit", "1"),
                ("ring_sampling", "4097"), ("ring_sideband", "2048"), ("ring_sideband", "0")):
            self.expect_error_with_fact(key, value, "the capture states %s %s" % (key, value))
        for key in ("threads", "cpus"):
            self.expect_error_with_fact(key, "1", "the capture states cpus of each thread")
        self.facts["format_lost"] = "no"
        self.expect_error("states format_lost no; the events of perf.data count what was lost")

    def test_figures_of_a_launch(self) -> None:
        """A launch lists no threads, so it has no duplicates."""
        self.facts.update(threads="1", thread_passes="0", duplicates="1", duplicates_sideband="1")
        self.expect_error("the capture states duplicates 1; there are 0 to 0",
                          "the capture states duplicates_sideband 1; there are 0 to 0")

    def test_flags_of_the_runner(self) -> None:
        right = self.read_text("watched")
        for key in ("chain", "user_only", "task_clock"):
            self.put_text("watched", re.sub(rf"(?m)^{key} \d", key + " 2", right))
            self.expect_error("expected 0 or 1 of chain, user_only and task_clock")
        self.put_text("watched", re.sub(r"(?m)^chain 1", "chain 0", right))
        self.expect_error("the runner asked for callchains: 0; the case asks for another")

    def test_requested_synthesizing(self) -> None:
        self.put_text("case", self.read_text("case").replace("--synth=exec", "--synth=all"))
        self.expect_error("states policy exec; the case asks for all")


class Attrs(OwnCapture):
    def test_altered_attrs(self) -> None:
        """Each altered field of an attr is found."""
        self.expect_pass()
        del self.perf.features[EVENT_DESC]
        flags = ((0, bit) for bit in (0, 1, 2, 7, 8, 9, 12, 17, 24, 34))
        sideband = ((1, bit) for bit in (0, 1, 3, 8, 12, 13, 24, 26, 34))
        for index, bit in (*flags, *sideband):
            with self.subTest(event=index, bit=bit):
                self.perf.attrs[index].flags ^= 1 << bit
                self.expect_error(
                    "perf.data has an event whose request no capture attach of jitproof makes")
                self.perf.attrs[index].flags ^= 1 << bit
        for at in (24, 56, 72, 96, 104, 108):
            with self.subTest(at=at):
                self.perf.attrs[1].raw[at] ^= 8
                self.expect_error("whose request no capture attach of jitproof makes")
                self.perf.attrs[1].raw[at] ^= 8

    def test_all_mappings(self) -> None:
        """mmap_data is permitted, and so is any wakeup_events."""
        del self.perf.features[EVENT_DESC]
        self.perf.attrs[1].flags |= 1 << 17
        self.perf.attrs[1].raw[48] ^= 3
        self.expect_pass()


class Features(OwnCapture):
    def test_as_written(self) -> None:
        self.expect_pass()
        self.perf.features = {}
        self.expect_pass()

    def test_other_events(self) -> None:
        right = self.perf.features[EVENT_DESC]
        message = "the event descriptions of perf.data differ from its events"
        for at in (0, 4, ATTR_AT, ATTR_AT + 100, ATTR_AT + rd.ATTR + 4, len(right) - 1):
            with self.subTest(at=at):
                raw = bytearray(right)
                raw[at] ^= 1
                if at == len(right) - 1:  # an id: tools renumber events
                    self.perf.features[EVENT_DESC] = bytes(raw)
                    self.expect_pass()
                    self.perf.features[EVENT_DESC] = right
                else:
                    self.expect_error_with(EVENT_DESC, bytes(raw), message)
        for size in (0, 4, 20, len(right) - 8, len(right) + 8):
            with self.subTest(size=size):
                self.expect_error_with(EVENT_DESC, right[:size].ljust(size, b"\0"), message)
        for names in ((b"cycles", b"dummy"), (b"cpu-clock:u", b"dummy"), (b"cpu-clock", b"")):
            with self.subTest(names=names):
                self.expect_error_with(EVENT_DESC, self.pack_descriptions(*names),
                                       message + ", by their names")

    def test_other_times(self) -> None:
        first, last = struct.unpack("<QQ", self.perf.features[SAMPLE_TIME])
        for times in ((first + 1, last), (first, last - 1), (0, 0)):
            self.expect_error_with(SAMPLE_TIME, struct.pack("<QQ", *times),
                                   f"states samples from {times[0]} to {times[1]}; "
                                   f"they are from {first}")

    def test_impossible_clock(self) -> None:
        for number in (0, 2, 99_999, 2**32 + 1):
            self.expect_error_with(CLOCKID, struct.pack("<Q", number),
                                   f"states a clock of {number} ns")
        for tick in (1_000_000, 4_000_000, 10_000_000):
            self.perf.features[CLOCKID] = struct.pack("<Q", tick)
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

    def test_wrong_features(self) -> None:
        first, last = struct.unpack("<QQ", self.perf.features[SAMPLE_TIME])
        for times in ((first - 1, last), (first, last + 1), (0, last)):
            self.expect_error_with(SAMPLE_TIME, struct.pack("<QQ", *times), "states samples from")
        raw = bytearray(self.perf.features[EVENT_DESC])
        raw[ATTR_AT] ^= 1
        self.expect_error_with(EVENT_DESC, bytes(raw),
                               "the event descriptions of perf.data differ from its events")
        self.expect_error_with(CLOCKID, struct.pack("<Q", 2), "states a clock of 2 ns")
        self.put_text("env.json", '{"cpus": 3}')
        self.expect_error("env.json states 3 CPUs, perf.data 2")


class Machine(OwnCapture):
    def test_unreadable_env(self) -> None:
        self.expect_pass()
        for text in ("", "[]", '{"machine": "x86_64"', '{"machine": "x86_64"} x'):
            self.put_text("env.json", text)
            self.expect_error("env.json holds no object, as the runner writes")
        os.unlink(self.get_path("env.json"))
        self.expect_error("env.json holds no object, as the runner writes")

    def test_other_machine(self) -> None:
        self.put_text("env.json", '{"machine": "aarch64"}')
        self.expect_error("env.json states machine aarch64, the truth x86_64",
                          "env.json states machine aarch64, perf.data x86_64")
        self.put_text("env.json", '{"cpus": 3}')
        self.expect_error("env.json states 3 CPUs, perf.data 2")
        self.put_text("env.json", '{"perf_event_max_stack": "126"}')
        self.expect_error("env.json states perf_event_max_stack 126, the runner 127")

    def test_missing_keys(self) -> None:
        """Without these keys rules would be skipped, so their absence is an ERROR."""
        right = self.read_text("watched")
        self.put_text("env.json", '{"format": 1}')
        self.expect_pass()
        for key, new in (("silent", ""), ("silent", "silent 0\n"), ("cpus", "cpus 0\n")):
            self.put_text("watched", re.sub(rf"(?m)^{key} .*\n", new, right))
            self.expect_error(f"the file watched lacks {key}, "
                              "which the runner states since format 1")
        self.put_text("env.json", '{"format": 2}')
        self.expect_error("env.json lacks clocks_count, which the runner states since format 2")
        self.put_text("env.json", "{}")
        self.put_text("watched", re.sub(r"(?m)^silent .*\n", "", right))
        self.expect_pass()

    def test_counted_nothing(self) -> None:
        """Clocks of Linux 6.16 count nothing, which is permitted only if the runner noticed it,
        too."""
        self.facts["counted"] = "0"
        self.put_text("env.json", '{"format": 2, "clocks_count": "no"}')
        self.expect_pass()
        self.put_text("env.json", '{"format": 2, "clocks_count": "yes"}')
        self.expect_error(" samples, and that its events counted nothing; by env.json clocks count")
