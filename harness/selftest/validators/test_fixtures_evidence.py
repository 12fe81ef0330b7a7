# SPDX-License-Identifier: GPL-2.0-only
"""Recorded runs with altered statements and too little evidence (see test_fixtures.py)."""

import os
import re
import struct

from ci.base import files
from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import WATCHED_SINCE_CPUS, Recorded


class Evidence(Recorded):
    """A run without sound evidence is an ERROR, never a PASS, never a FAIL of the kernel."""

    def add_expectation(self, line: str) -> None:
        self.put_text("case", self.read_text("case") + f"\t{line}\n")

    def test_lost_samples(self) -> None:
        """Lost samples in any record, in any number, are an ERROR unless the case allows them."""
        identity = self.perf.attrs[0].ids[0]
        for count in (1, 1_000_000_000, 2**64 - 1):
            for kind, payload in ((rd.LOST, struct.pack("<QQ", identity, count)),
                                  (rd.LOST_SAMPLES, struct.pack("<Q", count))):
                with self.subTest(kind=kind, count=count):
                    record = self.make_record(kind, payload)
                    self.perf.insert(record)
                    self.expect_error(rf"lost.samples is .*\({count} of "
                                      rf"{min(count + 40, 2**64 - 1)}.*"
                                      "does not allow any")
                    self.perf.records.remove(record)
        self.facts["lost_samples"] = "7"
        self.expect_error(r"lost.samples is .*\(7 of 47.*does not allow any")
        self.add_expectation("lost.samples 0..7")
        self.expect_pass()
        self.facts["lost_samples"] = "8"
        self.expect_error(r"lost.samples: 8 of 48; expected 0..7")

    def test_throttled(self) -> None:
        identity = self.perf.attrs[0].ids[0]
        stop, go = (self.make_record(kind, struct.pack("<QQQ", 1, identity, 0)) for kind in (5, 6))
        go.time += 1
        self.perf.insert(go)
        # UNTHROTTLE alone implies a THROTTLE.
        self.expect_error("lost.throttled is 1, but the case does not allow any")
        self.perf.insert(stop)
        self.expect_error("lost.throttled is 1, but the case does not allow any")
        self.add_expectation("lost.throttled <=1")
        self.expect_pass()

    def test_unknown_id(self) -> None:
        """No event of the file has the id; all events have the same layout."""
        self.perf.attrs[1].raw[:] = self.perf.attrs[0].raw
        lost = self.make_record(5, struct.pack("<QQQ", 1, 0, 0))
        for bit in (rd.ID, rd.IDENTIFIER):
            if bit in lost.tail():
                struct.pack_into("<Q", lost.body, lost.tail()[bit], 0x5eed)
        self.perf.attrs = self.perf.attrs[:1]
        self.perf.records = [lost]
        self.expect_error("1 records of perf.data have an id that no event of it has")

    def test_torn_at_the_end(self) -> None:
        """A killed writer may leave a torn last record, which nothing refers to."""
        self.truth.slots.append(bytearray(self.truth.slots[-1]))
        self.truth.slots[-1][20] ^= 1
        self.truth.next_slot += 1
        self.expect_pass()

    def test_full_truth(self) -> None:
        self.truth.capacity = len(self.truth.slots)
        self.truth.next_slot = len(self.truth.slots) + 9
        self.expect_error("the truth is full: 9 records were lost")

    def test_largest_allowed_slack(self) -> None:
        self.facts["slack"] = "100000"
        status, text = self.judge()
        self.assertNotIn("clocks of truth and capture differ by 100000 ns; at most", text)
        self.assertIn(status, (0, 1))

    def test_too_few_places(self) -> None:
        text = self.read_text("case")
        hit = int(re.search(r'"distinct":\s*\{"k":\s*(\d+)', self.read_results()).group(1))
        for needed, found in ((hit, self.expect_pass), (hit + 1, lambda: self.expect_error(
                f"{hit} distinct .* pairs were hit, the case needs {hit + 1}\n"))):
            self.put_text("case", text.replace("samples=30", f"samples=30 distinct={needed}"))
            found()

    def test_too_many_unjudged(self) -> None:
        """One of 40 samples is more than 2 %: its native frames changed while it was in its
        path."""
        sample = self.perf.samples()[20]
        self.truth.change(self.truth.find_leave(sample.tid, sample.time), {7: 1})
        self.expect_error("too little evidence: unjudged is .*1 of 40.*, at most 2 % are usual")

    def test_injected_data_that_cannot_be_read(self) -> None:
        """The result is an ERROR, but metrics that do not need the file are judged."""
        self.copy_fixture("growth")
        whole = set(re.findall(r'"([a-z.]+)": \{"k"', self.read_results()))
        path = self.get_path("injected.data")
        files.write_bytes(path, files.read_bytes(path)[:3000])
        self.expect_error(r"injected\.data")
        found = set(re.findall(r'"([a-z.]+)": \{"k"', self.read_results(2)))
        self.assertLessEqual({"coverage.area", "processes", "files", "broken.dump"}, found)
        self.assertIn("names.right", whole - found)


class Stated(Recorded):
    """jitproof's own `capture` states all its keys, and the values that the case requests."""

    fixture = "clock"

    def setUp(self) -> None:
        super().setUp()
        self.complete_watched()

    def test_requested_modes(self) -> None:
        case = self.read_text("case")
        for option, kernel in (("--user-only", "yes"), ("--kernel", "no")):
            self.put_text("case", case.replace("--stack", option + " --stack"))
            self.expect_error_with_fact("kernel", kernel, "the case requires the opposite")

    def test_contradicting_machines(self) -> None:
        """The runner states the machine in `watched` and env.json, perf.data in its features."""
        features = dict(self.perf.features)
        self.perf.features[7] = struct.pack("<II", 1, 1)
        self.expect_error("the runner saw 2 CPUs, .* by perf.data the machine has 1")
        self.perf.features = {**features, 4: rd.pack_string("5.10.0-other")}
        self.put_text("env.json", '{"kernel": "6.1.0"}')
        self.expect_error("env.json states kernel 6.1.0, perf.data 5.10.0-other")
        del self.perf.features[4], self.perf.features[7]
        self.expect_pass()

    def test_files_of_children(self) -> None:
        self.put_text("perf-77.map", "")
        self.substitute("case", ": attach ", "--publish-children=map : attach ")
        self.expect_pass()

    def test_other_profilers_may_omit_keys(self) -> None:
        self.substitute("case", ": attach ", ": attach-by perf ")
        for key in ("counted", "order", "event", "kernel", "first_enabled"):
            del self.facts[key]
        self.assertNotIn("the capture states", self.judge()[1])


class Slack(Recorded):
    """The clocks differ by `slack`: each bracket is wider by exactly that."""

    fixture = "slack"

    def state_slack(self, slack: int) -> None:
        self.facts["slack"] = str(slack)
        self.substitute("watched", r"^slack \d+$", f"slack {slack}")

    def test_less_slack(self) -> None:
        """With less slack, stacks, mappings and forks contradict the truth."""
        self.state_slack(0)
        text = self.expect_fail()
        self.expect_only(text, "wrong.chain", "mappings.invented", "mappings.extra",
                         "coverage.stale",
                         "fork.records", "fork.missing", "acts.records", "records.acts")
        self.state_slack(60_000)
        self.expect_only(self.expect_fail(), "wrong.chain", "mappings.invented", "acts.records")

    def test_exact_and_more_slack(self) -> None:
        for slack in (90_000, 100_000):
            self.state_slack(slack)
            self.expect_pass()

    def test_a_name_until_the_exec(self) -> None:
        """perf's child is named perf-exec until its exec, which may seem later by the slack."""
        born = self.truth.get(self.truth.find(rd.Truth.PROCESS_START)[0])
        sample = self.perf.samples()[0]
        sample.pid = sample.tid = born[2]
        name = self.perf.comm(born[2], born[2], "perf-exec", born[4])
        self.perf.insert(name)
        for late, known in ((90_000, False), (90_001, True)):
            name.time, sample.time = born[5], born[5] + late
            self.perf.sort()
            self.assertEqual("thread %u/%u, sampled at" % (born[2], born[2]) in self.judge()[1],
                             known, late)

    def test_a_thread_before_it_begins(self) -> None:
        """A thread's first sample may precede its start by the slack, not by more."""
        sample = self.perf.samples()[0]
        born = min(slot[4] for slot in map(self.truth.get, self.truth.find(
            rd.Truth.PROCESS_START) + self.truth.find(rd.Truth.THREAD_START))
            if sample.tid in (slot[3], slot[6]))
        for early, unknown in ((90_000, False), (90_001, True)):
            sample.time = born - early
            self.perf.sort()
            self.assertEqual("tasks.strangers: 1 " in self.judge()[1], unknown, early)

    def test_a_sample_after_the_capture(self) -> None:
        """A sample may follow the end of the capture by the slack, not by more."""
        ended = int(self.read_watched()["ended"])
        sample = self.perf.samples()[-1]
        for late, never in ((90_000, False), (90_001, True)):
            sample.time = ended + late
            self.perf.sort()
            self.assertEqual("or after it ended" in self.judge()[1], never, late)

    def test_other_requests_than_the_runners(self) -> None:
        for key, value, seen in (("slack", "90001", 90000), ("max_stack", "3", 127),
                                 ("stack_dump", "8192", 256)):
            self.expect_error_with_fact(
                key, value, f"the capture states {key} {value}; the runner saw {seen} to {seen}")

    def test_window_beyond_the_runners(self) -> None:
        """A stated window beyond the times that the runner saw, with all samples in it."""
        for key, limit, step in (("enabled", "started", -1), ("sampling", "begun", 1),
                                 ("stopped", "ending", -1), ("stopped", "ended", 1)):
            with self.subTest(key + " beyond " + limit):
                right, seen = dict(self.facts), self.read_watched()[limit]
                self.facts[key] = seen
                self.assertNotIn("the runner saw", self.judge()[1])
                self.facts[key] = str(int(seen) + step)
                status, text = self.judge()
                self.assertEqual(status, 1, text)
                self.assertIn(f"the capture states {key} {self.facts[key]}; the runner saw", text)
                self.facts = right

    def test_broken_watched(self) -> None:
        """A truth of version 3 requires a complete `watched` of the runner."""
        path, whole = self.get_path("watched"), self.read_text("watched")
        for text, message in ((None, "watched: No such file"),
                              ("", 'watched:1: expected "started N'),
                              (whole + "more 1\n", 'watched:10: expected "cpus N'),
                              (whole + WATCHED_SINCE_CPUS + "more 1\n",
                               'watched:13: expected "silent N'),
                              (whole + WATCHED_SINCE_CPUS +
                               whole.splitlines()[2].replace("ending", "silent") + "\nmore 1\n",
                               'watched:14: expected "witness N'),
                              (whole.replace("begun", "began"), 'watched:2: expected "begun N'),
                              (re.sub(r"(?m)^begun .*$", "begun 1", whole),
                               "expected started <= begun <= ending <= ended")):
            with self.subTest(message):
                os.unlink(path)
                if text is not None:
                    files.write(path, text)
                self.expect_error(message)
                files.write(path, whole)

    def test_lowered_truth_version(self) -> None:
        """Several validators skip truths of older versions, so a lowered version must be found."""
        for version in (1, 2):
            self.truth.version = version
            self.expect_error(f"watched: unexpected with a truth of version {version}")
            os.rename(self.get_path("watched"), self.place("watched"))
            self.expect_error(r"the truth has \d+ incomplete")  # newer records are gaps
            os.rename(self.place("watched"), self.get_path("watched"))

    def test_window_that_begins_late(self) -> None:
        """A window may begin late if the runner saw that, but it must hold samples."""
        times = sorted(sample.time for sample in self.perf.samples())
        for held, wrong in ((len(times) // 2 - 1, False), (1, False), (0, True)):
            self.facts["sampling"] = str(times[-held] - 1 if held else times[-1] + 100_000)
            self.substitute("watched", "^begun .*$", "begun " + self.facts["sampling"])
            message = f"the window that the capture states holds {held} of {len(times)} samples"
            (self.assertIn if wrong else self.assertNotIn)(message, self.judge()[1])

    def test_requested_methods(self) -> None:
        """The case requests chains without naming the method, and the event has none."""
        self.substitute("case", " methods=chain", "")
        self.perf.attrs[0].flags |= 1 << 22
        for sample in self.perf.samples():
            del sample.chain[sample.user() - 1:]
        self.expect_error("event 0 of perf.data was not asked for callchains with the user's part")
