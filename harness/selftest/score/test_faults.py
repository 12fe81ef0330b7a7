# SPDX-License-Identifier: GPL-2.0-only
"""Tests that a perf.data that lacks some samples or pages of mappings, or has samples twice, has
one red column in a score."""

import bisect
import collections
import copy
import json
import os
import shutil
from typing import Any, Callable

from ci.base import files, process
from harness.selftest.support import run_directory as rd
from harness.selftest.support.recorded import PAGE
from harness.selftest.support.scratch import Folder, JITPROOF
from harness.selftest.score.test_wrong_profilers import find_red

SCENES = """case one full : anon_exec : attach
case threads full : anon_exec --threads=3 : attach
case forks full : fork_exec --tasks=3 : launch
"""
MS = 1_000_000
Samples = list[rd.Sample]
Fault = Callable[["Faults", Samples], Samples]


def find_busiest(samples: Samples, key: Callable[[rd.Sample], Any]) -> Any:
    return collections.Counter(map(key, samples)).most_common(1)[0][0]


class Faults(Folder):
    def score_stream(self, *options: str) -> list[dict[str, Any]]:
        result = process.run([JITPROOF, "score", "--json", *options], timeout=240)
        if result.returncode == 4:
            self.skipTest(result.stderr)
        workloads: list[dict[str, Any]] = json.loads(result.stdout)["workloads"]
        return workloads

    def choose_one_thread(self, samples: Samples) -> Samples:
        tid = find_busiest(samples, lambda sample: sample.tid)
        return [sample for sample in samples if sample.tid == tid]

    def choose_one_function(self, samples: Samples) -> Samples:
        starts = sorted(addresses.start for addresses in self.truth.code())

        def function_of(sample: rd.Sample) -> int:
            return bisect.bisect_right(starts, sample.regs.get(rd.X86_IP, sample.ip))
        inside = [sample for sample in samples
                  if any(sample.regs.get(rd.X86_IP, 0) in code for code in self.truth.code())]
        most = find_busiest(inside, function_of)
        return [sample for sample in inside if function_of(sample) == most]

    def choose_after_forks(self, samples: Samples) -> Samples:
        begun: dict[int, int] = {}
        for one in samples:
            begun.setdefault(one.pid, one.time)
        first = samples[0].pid
        return [sample for sample in samples
                if sample.pid != first and sample.time < begun[sample.pid] + 50 * MS]

    def score_without(self, kept_folder: str, fault: Fault) -> dict[str, Any]:
        """Returns the row of the kept run without the samples that @fault chooses."""
        perf = rd.PerfData.load(os.path.join(kept_folder, "perf.data"))
        self.truth = rd.Truth(os.path.join(kept_folder, "truth"))
        samples = sorted(perf.samples(), key=lambda sample: sample.time)
        # The file states the times of its first and last sample, which stay.
        chosen = {id(sample) for sample in fault(self, samples[1:-1])}
        self.assertGreater(len(chosen), 4)
        perf.records = [record for record in perf.records if id(record) not in chosen]
        return self.score_altered(kept_folder, perf, -len(chosen))

    def score_altered(self, kept_folder: str, perf: rd.PerfData, more: int) -> dict[str, Any]:
        facts, path = rd.read_facts(kept_folder), os.path.join(kept_folder, "perf.data")
        whole = files.read_bytes(path), dict(facts)
        if "samples" in facts:
            facts["samples"] = str(int(facts["samples"]) + more)
        rd.write_facts(kept_folder, facts)
        perf.save(path)
        row, = self.score_stream("--again", self.place("kept"))
        files.write_bytes(path, whole[0])
        rd.write_facts(kept_folder, whole[1])
        return row

    def test_each_fault(self) -> None:
        faults: dict[str, tuple[Fault, ...]] = {
            "one": (lambda _, samples: samples[::5], lambda _, samples: samples[::20],
                    Faults.choose_one_function),
            "threads": (Faults.choose_one_thread,),
            "forks": (Faults.choose_after_forks,)}
        for profiler in ("jitproof", "perf"):
            # The same code judges both captures: one scene shows that it judges perf's too.
            for scene in faults if profiler == "jitproof" else ["one"]:
                row, = self.score_stream("--profiler", profiler, "-o", self.place("kept"),
                                         "--samples=800",
                                         "--scenes", self.write(SCENES, "scenes"), scene)
                self.assertIn("seen", row)
                self.assertEqual(find_red(row), set(), row)
                kept_folder = self.place("kept", "a", "runs", "score", scene)
                for number, fault in enumerate(faults[scene]):
                    with self.subTest(profiler=profiler, scene=scene, fault=number):
                        row = self.score_without(kept_folder, fault)
                        self.assertEqual(find_red(row), {"seen"}, row)
                with self.subTest(profiler=profiler, scene=scene, fault="twice"):
                    row = self.double_each_tenth(kept_folder)
                    self.assertEqual(find_red(row), {"invented"}, row)
                with self.subTest(profiler=profiler, scene=scene, fault="short"):
                    row = self.shorten_libraries(kept_folder)
                    self.assertEqual(find_red(row), {"mapped"}, row)
                shutil.rmtree(self.place("kept"))

    def double_each_tenth(self, kept_folder: str) -> dict[str, Any]:
        perf = rd.PerfData.load(os.path.join(kept_folder, "perf.data"))
        samples = sorted(perf.samples(), key=lambda double: double.time)
        # The file states when its last sample was, so that sample keeps its time.
        doubles = [copy.deepcopy(sample) for sample in samples[:-1:10]]
        for double in doubles:
            double.time += 1000
        perf.records += doubles
        perf.sort()
        return self.score_altered(kept_folder, perf, len(doubles))

    def shorten_libraries(self, kept: str) -> dict[str, Any]:
        """Takes the last page, where nothing runs, from each mapping of a library."""
        perf = rd.PerfData.load(os.path.join(kept, "perf.data"))
        libraries = [sample for sample in perf.maps() if ".so" in sample.name
                     and sample.prot & rd.EXECUTE]
        self.assertGreater(len(libraries), 2)
        for sample in libraries:
            sample.size -= PAGE
        return self.score_altered(kept, perf, 0)
