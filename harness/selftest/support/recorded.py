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
ALL_FIXTURES = ("anon", "arm64", "clock", "gated", "growth", "mappings", "memfd", "pathless",
                "reuse", "slack", "witness")
# Lines of `watched` that older runners did not write.
WATCHED_SINCE_CPUS = "cpus 2\ntask_clock 0\nsynth 2\n"


def judge(directory: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory(prefix="jitproof-") as folder:
        results = os.path.join(folder, "results.jsonl")
        result = process.run([JITPROOF, "judge", "--results", results, directory],
                             stderr=subprocess.STDOUT, timeout=240)
        for line in files.read(results).splitlines() if result.returncode < 2 else ():
            check_sums(json.loads(line))
    return result.returncode, result.stdout


def describe_cases(home: str) -> dict[str, str]:
    """Judges all cases in the folder run of @home. Returns outcome, fault and exceptions with their
    counts by case."""
    out = os.path.join(home, "results")
    result = process.run([JITPROOF, "judge", "--results", out, "run"], cwd=home, timeout=300)
    assert not result.stderr, result.stderr
    return {one["case"]: "; ".join(
        [one["outcome"] + " " + re.sub(r"^\S+/", "", one.get("fault") or ""),
         *("%(metric)s %(cause)s %(count)d" % fault for fault in one["exceptions"])])
            for one in map(json.loads, files.read(out).splitlines())}


# Metrics that count evidence, right or wrong; their exceptions count only what is wrong.
EVIDENCE = ("cpu.samples", "elf.files", "event.samples", "files.credited", "gated.named",
            "gated.older")


def check_sums(result: Any) -> None:
    """Asserts that the count of each fault metric is the sum of its exceptions."""
    counts = collections.Counter[str]()
    for exception in result["exceptions"]:
        counts[exception["metric"]] += exception["count"]
    for name in counts.keys() & result["metrics"].keys() - {*EVIDENCE}:
        assert result["metrics"][name]["k"] == counts[name], (name, counts[name], result)


class Recorded(Folder):
    """A test on a copy of the fixture `fixture`, in `dir`."""

    fixture = "anon"
    miscounted = 0  # number of samples that the capture states beyond those in the file

    def setUp(self) -> None:
        super().setUp()
        self.copy_fixture(self.fixture)

    def copy_fixture(self, fixture: str) -> None:
        self.dir = self.place(fixture)
        shutil.copytree(os.path.join(FIXTURES, fixture), self.dir)
        self.perf = rd.PerfData.load(self.get_path("perf.data"))
        self.truth = rd.Truth(self.get_path("truth"))
        self.facts = rd.read_facts(self.dir)

    def get_path(self, name: str) -> str:
        return os.path.join(self.dir, name)

    def read_text(self, name: str) -> str:
        return files.read(self.get_path(name))

    def put_text(self, name: str, text: str) -> None:
        files.write(self.get_path(name), text)

    def substitute(self, name: str, pattern: str, replacement: str) -> None:
        """Replaces the first match of @pattern, in multi-line mode, in the file @name."""
        self.put_text(name, re.sub(pattern, replacement, self.read_text(name), count=1, flags=re.M))

    def read_watched(self) -> dict[str, str]:
        return dict(line.split() for line in self.read_text("watched").splitlines())

    def judge(self) -> tuple[int, str]:
        self.perf.save(self.get_path("perf.data"))
        self.truth.save(self.get_path("truth"))
        # Keep the number of samples in `capture` right, except in tests of that number.
        if "samples" in self.facts:
            self.facts["samples"] = str(len(self.perf.samples()) + self.miscounted)
        rd.write_facts(self.dir, self.facts)
        return judge(self.dir)

    def expect_pass(self) -> str:
        status, text = self.judge()
        self.assertEqual(status, 0, text)
        self.assertIn("\nok 1 ", text)
        return text

    def expect_excused(self, count: int, metric: str, cause: str) -> str:
        """Judges and expects a PASS, with that many exceptions that an excuse covers. Returns the
        first one."""
        self.expect_pass()
        result = [exception for exception in json.loads(self.read_results())["exceptions"]
                 if (exception["metric"], exception["cause"]) == (metric, cause)]
        self.assertEqual([one["count"] for one in result], [count])
        return str(result[0]["first"])

    def expect_fail(self, *patterns: str) -> str:
        """Judges, expects a FAIL, and each of @patterns in the output."""
        status, text = self.judge()
        self.assertEqual(status, 1, text)
        self.assertIn("\nnot ok 1 ", text)
        self.assertRegex(text, r"(?m)^# Totals:.* FAIL:1 .*ERROR:0 ")
        for pattern in patterns:
            self.assertRegex(text, pattern)
        return text

    def expect_error(self, *patterns: str) -> str:
        status, text = self.judge()
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"(?m)^# Totals: PASS:0 FAIL:0 .*ERROR:1 ")
        for pattern in patterns:
            self.assertRegex(text, pattern)
        return text

    def expect_error_with_fact(self, key: str, value: str | None, message: str) -> None:
        """Expects an ERROR if `capture` states another @value of @key, or, if None, lacks it."""
        right = dict(self.facts)
        with self.subTest(key=key, value=value):
            if value is None:
                del self.facts[key]
            else:
                self.facts[key] = value
            self.expect_error(message)
        self.facts = right

    def read_results(self, number: int = 1) -> str:
        """Returns the text of results.jsonl of judging the folder."""
        out = self.place(f"results{number}")
        process.run([JITPROOF, "judge", "--results", out, self.dir], timeout=240)
        return files.read(out)

    def add_watched_cpus(self) -> None:
        """Adds the lines to `watched` that older runners did not write, for two CPUs."""
        self.put_text("watched", self.read_text("watched").split("cpus")[0] + WATCHED_SINCE_CPUS)

    def complete_watched(self) -> None:
        """Adds the lines that older runners did not write, and `silent`, to `watched`."""
        self.put_text("watched", self.read_text("watched") + WATCHED_SINCE_CPUS +
                      "silent %s\n" % self.read_watched()["ended"])

    @staticmethod
    def match_count(count: int | str, metric: str, cause: str) -> str:
        return rf"(?m)^# {re.escape(metric)}: {count} with cause (\S+ \()?{cause}\)?, " \
            "which nothing allows$"

    def expect_only(self, text: str, *metrics: str) -> None:
        """Asserts that only @metrics have exceptions. Ignores metrics that compare the parts of a
        single sample, since an altered sample contradicts itself."""
        result = set(re.findall(r"(?m)^# (\S+): \d+ with cause", text))
        result -= {"modes.bad", "records.bad", "registers.fp", "dump.words", "chain.dump",
                  "samples.nowhere"}
        self.assertEqual(result, set(metrics), text)

    def expect_one_exception(self, metric: str, cause: str, verdict: str,
                             sample: rd.Sample) -> None:
        """Judges and expects exactly one exception, for the altered @sample."""
        text = self.expect_fail(self.match_count(1, metric, cause),
                                rf"#   {verdict} at {sample.time}, {sample.pid}/{sample.tid}, "
                                rf"ip {sample.regs[rd.X86_IP]:x} ")
        self.expect_only(text, metric)

    def list_functions(self) -> list[tuple[int, int]]:
        """Returns [start, end) of each function that was ever loaded."""
        return [(slot[6], slot[6] + slot[7])
                for slot in map(self.truth.get, self.truth.find(rd.Truth.CODE_LOAD))]

    def is_emitted(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.list_functions())

    def find_emitted_maps(self) -> list[rd.Map]:
        return [record for record in self.perf.maps()
                if any(record.start <= start < record.start + record.size
                       for start, _ in self.list_functions()) and record.prot & rd.EXECUTE]

    def make_record(self, kind: int, payload: bytes) -> rd.Side:
        """Returns a new record of the sampling event at the start of sampling."""
        attrs, self.perf.attrs = self.perf.attrs, self.perf.attrs[:1]
        record: rd.Side = self.perf.side(kind, payload, int(self.facts["sampling"]))
        self.perf.attrs = attrs
        return record

    def find_deep_sample(self, callers: int = 2, linked: bool = False) -> rd.Sample:
        """Returns a sample in emitted code with @callers emitted callers in its chain. @linked: the
        sample's bp points to the sampled function's frame, and the dump contains that frame."""
        for sample in self.perf.samples():
            user = sample.chain[sample.user():]
            bp = sample.regs[rd.X86_BP]
            if not all(self.is_emitted(address) for address in user[:callers + 1]):
                continue
            if linked and any(sample.word(offset + 8) != address for offset, address in
                              zip(self.follow_frames(sample, callers), user[1:callers + 1])):
                continue
            if not linked or sample.word(bp) is not None:
                return sample
        raise AssertionError("the fixture has no such sample")

    @staticmethod
    def follow_frames(sample: rd.Sample, count: int) -> list[int]:
        """Returns the addresses of the innermost @count frames, by following bp."""
        result: list[int] = []
        at = sample.regs[rd.X86_BP]
        while at is not None and sample.word(at) is not None and len(result) < count:
            result.append(at)
            at = sample.word(at)
        return result
