# SPDX-License-Identifier: GPL-2.0-only
"""Copies of fixtures (validators/fixtures/), to be changed and judged."""

import collections
import json
import os
import re
import shutil
import subprocess
import tempfile
from typing import Any

from ci.base import files, process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.scratch import FIXTURES, Folder, JITPROOF

PAGE = 4096


def judge(directory: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory(prefix="jitproof-") as folder:
        results = os.path.join(folder, "results.jsonl")
        done = process.run([JITPROOF, "judge", "--results", results, directory],
                           stderr=subprocess.STDOUT, timeout=60)
        for line in files.read(results).splitlines() if done.returncode < 2 else ():
            add_up(json.loads(line))
    return done.returncode, done.stdout


# They count what there is: their exceptions are what is wrong with it.
EVIDENCE = ("cpu.samples", "elf.files", "event.samples", "files.credited", "gated.named",
            "gated.older")


def add_up(result: Any) -> None:
    """What the metric of a fault counts are its exceptions, by cause."""
    counts = collections.Counter[str]()
    for one in result["exceptions"]:
        counts[one["metric"]] += one["count"]
    for name in counts.keys() & result["metrics"].keys() - {*EVIDENCE}:
        assert result["metrics"][name]["k"] == counts[name], (name, counts[name], result)


class Recorded(Folder):
    """A copy of a fixture, to be changed and judged."""

    fixture = "anon"
    miscounted = 0  # samples that the capture says it wrote, and did not

    def setUp(self) -> None:
        super().setUp()
        self.take(self.fixture)

    def take(self, fixture: str) -> None:
        self.dir = self.place(fixture)
        shutil.copytree(os.path.join(FIXTURES, fixture), self.dir)
        self.perf = rd.PerfData.load(os.path.join(self.dir, "perf.data"))
        self.truth = rd.Truth(os.path.join(self.dir, "truth"))
        self.facts = rd.read_facts(self.dir)

    def judge(self) -> tuple[int, str]:
        self.perf.save(os.path.join(self.dir, "perf.data"))
        self.truth.save(os.path.join(self.dir, "truth"))
        # A capture that saw other samples would say so: tests of the count say it last.
        if "samples" in self.facts:
            self.facts["samples"] = str(len(self.perf.samples()) + self.miscounted)
        rd.write_facts(self.dir, self.facts)
        return judge(self.dir)

    def passes(self) -> str:
        status, text = self.judge()
        self.assertEqual(status, 0, text)
        self.assertIn("\nok 1 ", text)
        return text

    def fails(self, *said: str) -> str:
        """Not passed as FAIL; each of @said stands in a line of the output."""
        status, text = self.judge()
        self.assertEqual(status, 1, text)
        self.assertIn("\nnot ok 1 ", text)
        self.assertRegex(text, r"(?m)^# Totals:.* FAIL:1 .*ERROR:0 ")
        for one in said:
            self.assertRegex(text, one)
        return text

    def errs(self, *said: str) -> str:
        status, text = self.judge()
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"(?m)^# Totals: PASS:0 FAIL:0 .*ERROR:1 ")
        for one in said:
            self.assertRegex(text, one)
        return text

    def results(self, number: int = 1) -> str:
        """results.jsonl of the judgement."""
        out = self.place(f"results{number}")
        process.run([JITPROOF, "judge", "--results", out, self.dir], timeout=60)
        return files.read(out)

    def state_cpus(self) -> None:
        """The runner saw two CPUs: older runs do not state how many."""
        path = os.path.join(self.dir, "watched")
        whole = files.read(path).split("cpus")[0]
        files.write(path, whole + "cpus 2\ntask_clock 0\nsynth 2\n")

    @staticmethod
    def exactly(count: int | str, metric: str, cause: str) -> str:
        return rf"(?m)^# {re.escape(metric)}: {count} with cause (\S+ \()?{cause}\)?, " \
            "which nothing allows$"

    def only(self, text: str, *metrics: str) -> None:
        """No other metric has exceptions, but that a changed sample contradicts itself."""
        found = set(re.findall(r"(?m)^# (\S+): \d+ with cause", text))
        found -= {"modes.bad", "records.bad", "registers.fp", "dump.words", "chain.dump",
                  "samples.nowhere"}
        self.assertEqual(found, set(metrics), text)

    def changed(self, metric: str, cause: str, verdict: str, sample: rd.Sample) -> None:
        """That one sample was changed gives one exception, and no other."""
        text = self.fails(self.exactly(1, metric, cause),
                          rf"#   {verdict} at {sample.time}, {sample.pid}/{sample.tid}, "
                          rf"ip {sample.regs[rd.X86_IP]:x} ")
        self.only(text, metric)

    def code(self) -> list[tuple[int, int]]:
        """[start, end) of each function, whenever it was loaded."""
        return [(slot[6], slot[6] + slot[7])
                for slot in map(self.truth.get, self.truth.of(rd.Truth.CODE_LOAD))]

    def emitted(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.code())

    def emitted_maps(self) -> list[rd.Map]:
        return [record for record in self.perf.maps()
                if any(record.start <= start < record.start + record.size
                       for start, _ in self.code()) and record.prot & rd.EXECUTE]

    def sampling(self, kind: int, payload: bytes, time: int | None = None) -> rd.Side:
        """A record of the sampling event; no @time: when it began."""
        attrs, self.perf.attrs = self.perf.attrs, self.perf.attrs[:1]
        record: rd.Side = self.perf.side(kind, payload, time or int(self.facts["sampling"]))
        self.perf.attrs = attrs
        return record

    def snapshot_end(self) -> int:
        with open(os.path.join(self.dir, "maps"), encoding="utf-8") as file:
            return int(file.readline().split()[-1])

    def deep(self, callers: int = 2, linked: bool = False) -> rd.Sample:
        """A sample in emitted code with @callers emitted callers in its chain; linked: its bp is
        that of its own frame, whose words stand in the dump."""
        for sample in self.perf.samples():
            user = sample.chain[sample.user():]
            bp = sample.regs[rd.X86_BP]
            if not all(self.emitted(address) for address in user[:callers + 1]):
                continue
            if linked and any(sample.word(at + 8) != address for at, address in
                              zip(self.frames(sample, callers), user[1:callers + 1])):
                continue
            if not linked or sample.word(bp) is not None:
                return sample
        raise AssertionError("the fixture has no such sample")

    @staticmethod
    def frames(sample: rd.Sample, count: int) -> list[int]:
        """The innermost @count frames by bp."""
        found: list[int] = []
        at = sample.regs[rd.X86_BP]
        while at is not None and sample.word(at) is not None and len(found) < count:
            found.append(at)
            at = sample.word(at)
        return found
