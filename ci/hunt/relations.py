# SPDX-License-Identifier: GPL-2.0-only
"""Compares two results that must agree: with and without an option that must not matter, or by two
tools that do the same job.

A rate within its expected range may still differ from that of the twin. Two injects merge one
recording, so all figures must be equal. Twins are two recordings: compares only rates that vary
between runs no more than their confidence intervals allow.
"""

import collections
import dataclasses
from typing import Iterator, Mapping

from ci.hunt.space import CAPTURE, FOR_CAPTURE, FOR_INJECT, INSIDE, PERF, Crossing
from ci.hunt.trial import Metrics, Runner, Signature, Trial

# Options of perf that change how it works, not what a user sees.
HARMLESS = frozenset({(FOR_CAPTURE + "--threads", ""), (FOR_CAPTURE + "-z", ""),
                      (FOR_CAPTURE + "--output", "-"), (FOR_INJECT + "-b", ""),
                      (FOR_INJECT + "--aslr", ""), (INSIDE, "1")})
# Metrics that state how good the result is; others vary with the load of the machine.
QUALITIES = ("names.", "load.", "broken.", "injected.", "shown.")
MERGED = ("names.", "load.")  # qualities that depend on the injector
# Qualities that depend on which changes of its memory the workload made during the recording.
BY_CHANGES = ("names.", "load.", "injected.", "shown.names")
WITHOUT, AGAINST = "without ", "against our inject"  # names of relations
FIRST, SECOND = 1, 2  # seeds of loop lengths
ENOUGH = 30  # checks of a relation after which each fourth crossing is checked
LEAST = 30  # smallest number of trials of a compared rate; intervals of fewer are too wide


def is_of_relation(signature: Signature) -> bool:
    return signature.cause == AGAINST or signature.cause.startswith(WITHOUT)


def list_twins(crossing: Crossing) -> Iterator[tuple[str, Crossing]]:
    """Yields (name of the relation, twin: a crossing that must give the same result). The samples
    of a breakpoint depend on each other: each pass over a path gives some of each depth."""
    if crossing.get(CAPTURE) == "breakpoint":
        return
    for name, value in sorted(crossing.items()):
        if name == FOR_INJECT + "-b" and FOR_INJECT + "-B" in crossing:
            continue  # of the two ways to add build ids, perf takes one
        if (name, value) in HARMLESS:
            yield WITHOUT + name.removeprefix(FOR_CAPTURE).removeprefix(FOR_INJECT), \
                {key: crossing[key] for key in crossing if key != name}


def are_intervals_disjoint(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Returns whether the confidence intervals of two rates do not overlap."""
    return min(one.get("n", 0), other.get("n", 0)) >= LEAST and (
        one["lo"] > other["hi"] or other["lo"] > one["hi"])


def count_changes(trial: Trial) -> list[float]:
    """Returns how many functions the workload loaded, and how often it unmapped, protected and
    moved memory, by its truth."""
    return [trial.metrics.get(name, {}).get(figure, 0) for name, figure in (
        ("load.right", "n"), ("acts.munmap", "k"), ("acts.mprotect", "k"), ("acts.mremap", "k"))]


def find_differences(one: Trial, other: Trial) -> set[str]:
    """Returns the metrics whose confidence intervals in two judged recordings do not overlap. A
    recording that ends before the workload's next change of its memory has fewer loads, or fewer
    of them are hidden: names are compared only after equally many changes."""
    if not one.is_judged or not other.is_judged:
        return set()
    excluded = BY_CHANGES if count_changes(one) != count_changes(other) else ()
    return {name for name in {*one.metrics} & {*other.metrics} if name.startswith(QUALITIES)
            and not name.startswith(excluded)
            and name.split(".")[0] not in one.by_chance | other.by_chance
            and are_intervals_disjoint(one.metrics[name], other.metrics[name])}


def compare_merged(trial: Trial, ours: Metrics) -> set[str]:
    """Returns the metrics of @trial that differ from @ours, of our inject of the same recording,
    except kinds that an excuse of @trial explains by a known finding about perf's inject."""
    explained = {one.metric.split(".")[0] for one in trial.excused
                 if one.cause.startswith("perf.inject")}
    return {name for name in trial.metrics if name.startswith(MERGED)
            and name.split(".")[0] not in explained and ours.get(name) != trial.metrics[name]}


def format_rate(metrics: Metrics, name: str) -> str:
    rate = metrics.get(name, {})
    return "%s of %s" % (rate.get("k", "none"), rate.get("n", "none"))


@dataclasses.dataclass
class Relations:
    """Checks the relations of trials that passed. @checked: how often, by relation. @passed: number
    of trials whose relations could be checked."""
    runner: Runner
    passed: int = 0
    checked: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def check(self, trial: Trial, wanted: str = "") -> Trial:
        """Adds a signature to @trial for each relation that does not hold. Runs one twin, because
        each takes a further run: that of @wanted, else of the relation that was checked least. Of
        relations that were checked often, each fourth is checked."""
        if trial.outcome != "PASS":
            return trial
        if trial.merged is not None:
            self.add(trial, AGAINST, compare_merged(trial, trial.merged), trial.merged)
        twins = [(relation, twin) for relation, twin in list_twins(trial.crossing)
                 if wanted in ("", relation)]
        for relation, twin in sorted(twins, key=lambda each: self.checked[each[0]])[:1]:
            self.passed += 1
            if self.checked[relation] >= ENOUGH and self.passed % 4 and not wanted:
                break
            self.checked[relation] += 1
            self.add(trial, relation, *self.compare(trial, twin))
        return trial

    @staticmethod
    def add(trial: Trial, relation: str, wrong: set[str], others: Metrics) -> None:
        tools = "perf " + trial.crossing[PERF] if PERF in trial.crossing else ""
        trial.signatures |= {Signature(name, relation, tools) for name in wrong}
        trial.why += "".join("%s: %s, but %s %s\n" % (
            name, format_rate(trial.metrics, name), format_rate(others, name), relation)
                             for name in sorted(wrong))

    def compare(self, trial: Trial, twin: Crossing) -> tuple[set[str], Metrics]:
        """Returns the metrics of @trial that differ from its twin in both of two runs, and the
        twin's metrics. A metric that differs between two runs of one crossing depends on more than
        its values, and so do the metrics of its kind: they are shares of the same samples."""
        other = self.runner.run(twin, FIRST)
        wrong = find_differences(trial, other)
        if not wrong:
            return wrong, {}
        trial_again, other_again = (self.runner.run(one, SECOND)
                                    for one in (trial.crossing, twin))
        wrong &= find_differences(trial_again, other_again)
        kinds = {name.split(".")[0] for name in find_differences(trial, trial_again) |
                 find_differences(other, other_again)}
        varying = {name for name in wrong if name.split(".")[0] in kinds}
        trial.incomparable |= varying
        return wrong - varying, other.metrics
