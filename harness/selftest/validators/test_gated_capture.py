# SPDX-License-Identifier: GPL-2.0-only
"""Tests gated captures and losses: an altered recorded run must fail because of the alteration;
live runs with too small rings are an ERROR."""

import copy
import json
import os
import re
import struct
import subprocess
import tempfile
import unittest

from ci.base import files, process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import Recorded, judge
from harness.selftest.support.scratch import Folder, JITPROOF


class Gated(Recorded):
    fixture = "gated"

    def read_intervals(self) -> list[tuple[int, int, int]]:
        """Returns (pid, enabled, disabling) of each process."""
        lines = [line.split() for line in self.read_text("intervals").splitlines()]
        return [(int(line[1]), int(line[3]), int(line[4])) for line in lines
                if line[0] == "interval"]

    def find_backfilled(self, pid: int) -> list[rd.Map]:
        enabled = [interval[1] for interval in self.read_intervals() if interval[0] == pid][0]
        return [record for record in self.perf.maps()
                if record.pid == pid and record.time < enabled]

    def find_live(self, pid: int) -> list[rd.Map]:
        return [record for record in self.perf.maps()
                if record.pid == pid and record not in self.find_backfilled(pid)]

    def find_memfd(self, pid: int) -> list[rd.Map]:
        return [record for record in self.find_backfilled(pid) if record.name.startswith("/memfd:")]

    def test_as_recorded(self) -> None:
        for pid, _, _ in self.read_intervals():
            self.assertEqual(len(self.find_memfd(pid)), 1)
            self.assertEqual([record.name for record in self.find_live(pid)],
                             [self.find_memfd(pid)[0].name])
        self.expect_pass()

    def find_program(self) -> rd.Map:
        """Returns the record of the second process's program."""
        return next(one for one in self.find_backfilled(self.read_intervals()[1][0])
                    if one.name.endswith("/jitproof"))

    def test_build_id_in_place_of_an_inode(self) -> None:
        """perf requests build ids since 6.18."""
        program = self.find_program()
        program.misc |= rd.BUILD_ID
        program.body[32:56] = bytes([20, 0, 0, 0]) + 20 * b"\7"
        self.assertNotIn("# gated.older", self.judge()[1])

    def test_deleted_suffix(self) -> None:
        self.find_program().name += " (deleted)"
        self.expect_pass()

    def test_samples_of_another_process_in_an_interval(self) -> None:
        """Samples of another process do not count for the process of the interval."""
        self.expect_pass()
        before = json.loads(self.read_results())["metrics"]
        first, second = (str(interval[0]) for interval in self.read_intervals())
        self.put_text("intervals", self.read_text("intervals").replace(f" {first} ", f" {second} "))
        self.judge()
        after = json.loads(self.read_results(2))["metrics"]
        for number, now in ((1, 0), (2, before["process.2.whole.chain"]["n"])):
            self.assertGreater(before[f"process.{number}.whole.chain"]["n"], 0)
            self.assertEqual(after[f"process.{number}.whole.chain"]["n"], now)

    def test_runner_in_the_interval_of_its_child(self) -> None:
        """The runner may return late from its fork: it is not announced and has no records."""
        pid, enabled, _ = self.read_intervals()[1]
        runner = [self.truth.get(index) for index in self.truth.find(rd.Truth.PROCESS_START)][0][2]
        for number in (runner, pid):
            sample = copy.deepcopy(self.perf.samples()[0])
            sample.pid, sample.tid = number, number + 100000
            sample.time, sample.ip = enabled + 1000, 0x1000
            sample.chain = [sample.chain[0], 0x1000]
            sample.regs[rd.X86_IP] = 0x1000
            self.perf.insert(sample)
            self.perf.sort()
            if number == runner:
                self.expect_pass()
        self.expect_fail(self.match_count(1, "threads.nameless", "no-record"))

    def test_broken_file(self) -> None:
        self.substitute("intervals", "interval", "intervall")
        self.expect_error(r"intervals:3: expected .* found \"intervall")


def is_permitted() -> bool:
    """Returns whether this machine permits to sample an own process."""
    with tempfile.TemporaryDirectory(prefix="jitproof-") as folder:
        return process.run([JITPROOF, "record", "-o", os.path.join(folder, "data"), "--", "true"],
                           timeout=240).returncode == 0


@unittest.skipUnless(is_permitted(), "perf_event_open is denied")
class Live(Folder):
    def run_case(self, definition: str, prefix: tuple[str, ...] = ()) -> str:
        self.write(f"case one check : {definition}\n", "expected", "live")
        self.out = self.place("run")
        return process.run([*prefix, JITPROOF, "run", "--expected", self.place("expected"), "-o",
                            self.out], stderr=subprocess.STDOUT, timeout=240).stdout

    def read_facts(self) -> dict[str, str]:
        return rd.read_facts(os.path.join(self.out, "live/one"))

    def test_fewer_samples_than_asked_for(self) -> None:
        """A small ring lowers the rate, and `record` prints that."""
        notes = []
        for ring in ("16384", "1048576"):
            result = process.run([JITPROOF, "record", f"--ring={ring}", "-F", "499", "-o",
                                  self.place(ring), "--", "true"], timeout=240)
            notes += re.findall(r"note: (\d+) samples a second and thread, not 499: ",
                                result.stderr)
        self.assertEqual(len(notes), 1)
        self.assertLess(int(notes[0]), 100)
        self.assertTrue(all(int(notes[0]) % factor for factor in (2, 3, 5)), "the tick's factors")

    STORM = "storm --acts=20000 --forks=50 : launch --freq=999 --user-only"

    def test_ring_of_one_page(self) -> None:
        text = self.run_case(f"{self.STORM} --sideband-ring=4096 : samples=300")
        facts = self.read_facts()
        lost = int(facts["lost_sideband"])
        self.assertEqual(facts["ring_sideband"], "4096", text)
        self.assertGreater(lost, 0)
        self.assertRegex(text, r"ERROR:1 ")
        self.assertIn(f"# {lost} sideband records (mappings, processes, names) were lost\n", text)
        # LOST records may state less than the kernel counted.
        recorded = sum(struct.unpack_from("<QQ", record.body)[1] for record in
                       rd.PerfData.load(os.path.join(self.out, "live/one/perf.data")).records
                       if record.kind == rd.LOST)
        if facts["format_lost"] == "yes":
            self.assertLessEqual(recorded, lost)

    def test_default_ring(self) -> None:
        text = self.run_case(f"{self.STORM} : samples=300")
        self.assertEqual(self.read_facts()["lost_sideband"], "0", text)
        self.assertIn("\nok 1 live/one\n", text)

    def test_gate_leaves_nothing(self) -> None:
        text = self.run_case("fork_exec --tasks=2 --busy=80 : gated --freq=1999 : samples=200\n"
                             "\tmappings.extra allow munmap <=acts.munmap\t# no record of it")
        self.assertIn("\nok 1 live/one\n", text)
        left = set(os.listdir(os.path.join(self.out, "live/one")))
        self.assertEqual(left & {"gate.ctl", "gate.ack"}, set())

    def test_names_at_the_gate(self) -> None:
        """Uses a live run, because the fixtures' truths have no names."""
        text = self.run_case("fork_exec --tasks=2 --busy=80 : "
                             "gated --gate=backfill --freq=1999 : samples=100")
        self.assertIn("\nok 1 live/one\n", text)
        folder = os.path.join(self.out, "live/one")
        listed = files.read(os.path.join(folder, "intervals"))
        disabled = int(re.findall(r"(?m)^interval .* (\d+)$", listed)[0])
        self.write(re.sub(r"(?m)^(process .*) \S+$", r"\1 other", listed), "run", "live", "one",
                   "intervals")
        self.assertRegex(judge(folder)[1], "gated.listed: 2 with cause other-text")
        self.write(listed, "run", "live", "one", "intervals")
        perf = rd.PerfData.load(os.path.join(folder, "perf.data"))
        result = [one for one in perf.records if one.kind == rd.COMM and one.time == disabled]
        self.assertEqual(len(result), 1)
        result[0].misc ^= rd.COMM_EXEC
        perf.save(os.path.join(folder, "perf.data"))
        self.assertRegex(judge(folder)[1], "gated.anew: 1 with cause no-exec")

    def test_workload_that_fails(self) -> None:
        text = self.run_case("fork_exec --tasks=2 --busy=80 --replace=/nonexistent : "
                             "gated --freq=1999 : samples=200 seconds=20")
        self.assertRegex(text, r"ERROR:1 ")
        self.assertIn("No such file", text)

    def test_unavailable_ring_size(self) -> None:
        """A requested ring size is not replaced by a smaller one."""
        powers = ("setpriv", "--bounding-set=-all", "prlimit", "--memlock=1048576")
        text = self.run_case("anon_exec : launch --freq=999 --ring=67108864 : samples=1", powers)
        self.assertRegex(text, r"(?m)^ok 1 live/one # SKIP mmap of rings of \d+ \+ \d+ bytes")

    def test_kernel_that_may_not_be_sampled(self) -> None:
        """Without capabilities, at perf_event_paranoid 2."""
        if int(files.read("/proc/sys/kernel/perf_event_paranoid")) < 2:
            self.skipTest("everyone may sample the kernel")
        powers = ("setpriv", "--bounding-set=-all")
        text = self.run_case("anon_exec : launch --kernel : samples=1", powers)
        self.assertRegex(text, r"(?m)^ok 1 .* # SKIP perf_event_open of samples in the kernel")
        result = process.run([*powers, JITPROOF, "record", "--kernel", "-o", self.place("data"),
                              "--", "true"], timeout=240)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("the kernel may not be sampled", result.stderr)

    def test_inside_of_namespaces(self) -> None:
        """All pids are small, as only in a new pid namespace."""
        text = self.run_case("namespaces --depth=2 : launch --freq=999 : samples=100 inside=2")
        if "# SKIP" in text:
            self.assertRegex(text, "# SKIP (clone3 with CLONE_NEWPID|mount of /proc)")
            self.skipTest(text)
        self.assertIn("\nok 1 live/one\n", text)
        pids = {sample.pid for sample in
                rd.PerfData.load(os.path.join(self.out, "live/one/perf.data")).samples()}
        self.assertGreaterEqual(len(pids), 2)
        self.assertLess(max(pids), 32)
