# SPDX-License-Identifier: GPL-2.0-only
"""Copies of fixtures (validators/fixtures/) that tests alter and judge."""

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
ALL_FIXTURES = ("anon", "clock", "gated", "growth", "mappings", "memfd", "pathless", "reuse",
                "slack", "witness")
# Lines of `watched` that older runners did not write.
WATCHED_SINCE_CPUS = "cpus 2\ntask_clock 0\nsynth 2\n"


def judge(directory: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory(prefix="jitproof-") as folder:
        results = os.path.join(folder, "results.jsonl")
        done = process.run([JITPROOF, "judge", "--results", results, directory],
                           stderr=subprocess.STDOUT, timeout=60)
        for line in files.read(results).splitlines() if done.returncode < 2 else ():
            check_sums(json.loads(line))
    return done.returncode, done.stdout


# Metrics that count all things; their exceptions are only the wrong ones among these.
EVIDENCE = ("cpu.samples", "elf.files", "event.samples", "files.credited", "gated.named",
            "gated.older")


def check_sums(result: Any) -> None:
    """Asserts that the count of each fault metric is the sum of its exceptions."""
    counts = collections.Counter[str]()
    for one in result["exceptions"]:
        counts[one["metric"]] += one["count"]
    for name in counts.keys() & result["metrics"].keys() - {*EVIDENCE}:
        assert result["metrics"][name]["k"] == counts[name], (name, counts[name], result)


class Recorded(Folder):
    """A test on a copy of the fixture `fixture`, in `dir`."""

    fixture = "anon"
    miscounted = 0  # samples that the capture states beyond those that it has

    def setUp(self) -> None:
        super().setUp()
        self.copy_fixture(self.fixture)

    def copy_fixture(self, fixture: str) -> None:
        self.dir = self.place(fixture)
        shutil.copytree(os.path.join(FIXTURES, fixture), self.dir)
        self.perf = rd.PerfData.load(self.path_of("perf.data"))
        self.truth = rd.Truth(self.path_of("truth"))
        self.facts = rd.read_facts(self.dir)

    def path_of(self, name: str) -> str:
        return os.path.join(self.dir, name)

    def text_of(self, name: str) -> str:
        return files.read(self.path_of(name))

    def put_text(self, name: str, text: str) -> None:
        files.write(self.path_of(name), text)

    def substitute(self, name: str, pattern: str, replacement: str) -> None:
        """Replaces the first match of @pattern, in multi-line mode, in the file @name."""
        self.put_text(name, re.sub(pattern, replacement, self.text_of(name), count=1, flags=re.M))

    def watched(self) -> dict[str, str]:
        """Returns the figures of `watched`."""
        return dict(line.split() for line in self.text_of("watched").splitlines())

    def judge(self) -> tuple[int, str]:
        self.perf.save(self.path_of("perf.data"))
        self.truth.save(self.path_of("truth"))
        # Keep the stated number of samples right, except in tests of that number.
        if "samples" in self.facts:
            self.facts["samples"] = str(len(self.perf.samples()) + self.miscounted)
        rd.write_facts(self.dir, self.facts)
        return judge(self.dir)

    def passes(self) -> str:
        status, text = self.judge()
        self.assertEqual(status, 0, text)
        self.assertIn("\nok 1 ", text)
        return text

    def fails(self, *patterns: str) -> str:
        """Judges, expects a FAIL, and each of @patterns in the output."""
        status, text = self.judge()
        self.assertEqual(status, 1, text)
        self.assertIn("\nnot ok 1 ", text)
        self.assertRegex(text, r"(?m)^# Totals:.* FAIL:1 .*ERROR:0 ")
        for pattern in patterns:
            self.assertRegex(text, pattern)
        return text

    def errs(self, *patterns: str) -> str:
        status, text = self.judge()
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"(?m)^# Totals: PASS:0 FAIL:0 .*ERROR:1 ")
        for pattern in patterns:
            self.assertRegex(text, pattern)
        return text

    def results(self, number: int = 1) -> str:
        """Returns the text of results.jsonl of judging the folder."""
        out = self.place(f"results{number}")
        process.run([JITPROOF, "judge", "--results", out, self.dir], timeout=60)
        return files.read(out)

    def state_cpus(self) -> None:
        """Adds the lines to `watched` that older runners did not write: two CPUs."""
        self.put_text("watched", self.text_of("watched").split("cpus")[0] + WATCHED_SINCE_CPUS)

    @staticmethod
    def exactly(count: int | str, metric: str, cause: str) -> str:
        return rf"(?m)^# {re.escape(metric)}: {count} with cause (\S+ \()?{cause}\)?, " \
            "which nothing allows$"

    def only(self, text: str, *metrics: str) -> None:
        """Asserts that only @metrics have exceptions, besides the metrics of a single sample, which
        an altered sample contradicts in itself."""
        found = set(re.findall(r"(?m)^# (\S+): \d+ with cause", text))
        found -= {"modes.bad", "records.bad", "registers.fp", "dump.words", "chain.dump",
                  "samples.nowhere"}
        self.assertEqual(found, set(metrics), text)

    def changed(self, metric: str, cause: str, verdict: str, sample: rd.Sample) -> None:
        """Judges and expects exactly one exception, for the altered @sample."""
        text = self.fails(self.exactly(1, metric, cause),
                          rf"#   {verdict} at {sample.time}, {sample.pid}/{sample.tid}, "
                          rf"ip {sample.regs[rd.X86_IP]:x} ")
        self.only(text, metric)

    def code(self) -> list[tuple[int, int]]:
        """Returns [start, end) of each function, whenever it was loaded."""
        return [(slot[6], slot[6] + slot[7])
                for slot in map(self.truth.get, self.truth.find(rd.Truth.CODE_LOAD))]

    def emitted(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.code())

    def emitted_maps(self) -> list[rd.Map]:
        return [record for record in self.perf.maps()
                if any(record.start <= start < record.start + record.size
                       for start, _ in self.code()) and record.prot & rd.EXECUTE]

    def sampling(self, kind: int, payload: bytes, time: int | None = None) -> rd.Side:
        """Returns a new record of the sampling event at @time; default: the start of sampling."""
        attrs, self.perf.attrs = self.perf.attrs, self.perf.attrs[:1]
        record: rd.Side = self.perf.side(kind, payload, time or int(self.facts["sampling"]))
        self.perf.attrs = attrs
        return record

    def snapshot_end(self) -> int:
        return int(self.text_of("maps").splitlines()[0].split()[-1])

    def deep(self, callers: int = 2, linked: bool = False) -> rd.Sample:
        """Returns a sample in emitted code with @callers emitted callers in its chain. @linked: its
        bp is that of its own frame, and the dump holds the words of the frame."""
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
        """Returns the addresses of the innermost @count frames, by following bp."""
        found: list[int] = []
        at = sample.regs[rd.X86_BP]
        while at is not None and sample.word(at) is not None and len(found) < count:
            found.append(at)
            at = sample.word(at)
        return found
