# SPDX-License-Identifier: GPL-2.0-only
"""Tests recorded runs: exact counts, samples in wrong places, and controls (see
test_fixtures.py)."""

import json
import os
from typing import Any

from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import PAGE, Recorded


class Counted(Recorded):
    """An altered sample changes its own counts and no others."""

    judged = 0
    verdicts: dict[str, dict[str, int]]

    def judge_metrics(self) -> dict[str, dict[str, float]]:
        self.judge()
        self.judged += 1
        result = json.loads(self.read_results(self.judged).splitlines()[0])
        self.verdicts = result["verdicts"]
        return result["metrics"]

    def test_counted_acts(self) -> None:
        """Only acts that end executable memory are counted: they can leave stale records."""
        names = ("munmap", "mprotect", "mremap")
        self.assertEqual([self.judge_metrics()[f"acts.{name}"]["k"] for name in names], [2, 0, 0])
        record = self.find_emitted_maps()[0]
        time = int(self.facts["sampling"]) + 100_000_000
        for kind, prot in ((rd.Truth.PROTECT, 3), (rd.Truth.PROTECT, 3), (rd.Truth.PROTECT, 5),
                           (rd.Truth.PROTECT, 3), (rd.Truth.UNMAP, 0)):
            self.truth.append(kind, 0, record.pid, record.pid, time, time + 1000, record.start,
                              record.size, prot, 0)
            time += 1_000_000
        # Memory that is not executable does not end a second time, and its unmapping at the end
        # does not count.
        self.assertEqual([self.judge_metrics()[f"acts.{name}"]["k"] for name in names], [1, 2, 0])

    def test_without_the_files(self) -> None:
        """The walk ends in the program, whose file is missing: predicted for each stack."""
        self.copy_fixture("memfd")
        judged = self.judge_metrics()["predicted.dump"]["k"]
        self.assertGreater(judged, 30)
        for name in os.listdir(os.path.join(self.dir, "elf")):
            os.unlink(os.path.join(self.dir, "elf", name))
        metrics = self.judge_metrics()
        self.assertEqual((metrics["broken.dump"]["k"], metrics["predicted.dump"]["k"]),
                         (judged, judged))
        self.assertEqual(self.verdicts["dump"], {"short": judged})
        # A walk that ends at another place is not predicted.
        sample = self.find_deep_sample(1, linked=True)
        sample.put(self.follow_frames(sample, 1)[0] + 8, 0x5eed)
        self.assertEqual(self.judge_metrics()["predicted.dump"]["k"], judged - 1)

    def test_known_samples(self) -> None:
        """A sample is known in a mapping that is executable and has the right kind and name."""
        samples = len(self.perf.samples())
        self.copy_fixture("memfd")
        known = self.judge_metrics()["coverage.samples"]
        self.assertEqual((known["k"], known["n"]), (samples, samples))
        maps = self.find_emitted_maps()
        ip = self.perf.samples()[0].regs[rd.X86_IP]
        one = next(record for record in maps if 0 <= ip - record.start < record.size)
        inside = sum(0 <= sample.regs[rd.X86_IP] - one.start < one.size
                     for sample in self.perf.samples())
        name, prot = one.name, one.prot
        changes: list[dict[str, Any]] = [{"prot": rd.READ}, {"name": name + "x"},
                                         {"pgoff": one.pgoff + PAGE}]
        for change in changes:
            with self.subTest(change):
                kept = {key: getattr(one, key) for key in change}
                for key, value in change.items():
                    setattr(one, key, value)
                known = self.judge_metrics()["coverage.samples"]
                self.assertEqual((known["k"], known["n"]), (samples - inside, samples))
                for key, value in kept.items():
                    setattr(one, key, value)
        self.assertEqual((one.name, one.prot), (name, prot))


class Elsewhere(Recorded):
    """Enough samples, but outside of the code that the truth has for them."""

    def move_samples(self, count: int) -> None:
        for sample in self.perf.samples()[:count]:
            sample.ip = sample.regs[rd.X86_IP] = 0x1234

    def test_as_many_as_are_needed_and_most_of_them(self) -> None:
        self.move_samples(21)
        self.expect_fail("21 samples are outside of .*, 19 are inside:")
        self.copy_fixture("memfd")
        self.move_samples(20)
        self.expect_error("too little evidence: judged.chain is 20, the case needs 30")

    def test_without_registers(self) -> None:
        """Samples without the requested registers."""
        for sample in self.perf.samples():
            sample.abi = 0
            sample.ip = 0xffffffff81000000
        self.expect_fail("40 of threads inside of a path, in no emitted code")


class Controls(Recorded):
    """A control, a capture with a deliberate fault, passes only with exceptions of that fault."""

    fixture = "pathless"

    def test_added_back_at_the_time_of_a_sample(self) -> None:
        """The mapping that was left out is older than the first sample that needs it."""
        first = min(sample.time for sample in self.perf.samples())
        self.substitute("maps", r"before \d+ after \d+", f"before {first} after {first}")
        self.assertIn("all of cause pathless; after adding back: 0 broken", self.expect_pass())
        self.substitute("maps", r"before \d+ after \d+", f"before {first + 1} after {first + 1}")
        self.expect_fail("broken.chain: after the left-out data was added back, 1 exceptions")
