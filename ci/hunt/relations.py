# SPDX-License-Identifier: GPL-2.0-only
"""Relations between results that must hold whatever is true: options that must not matter, and two
tools that do the same job.

A trial that passes alone may still be worse than its twin: a rate that every expectation bears.
"""

from __future__ import annotations

import dataclasses
from typing import Iterator, Mapping

from ci.hunt.space import (CAPTURE, FOR_CAPTURE, FOR_INJECT, INJECT, INSIDE, PERF, Crossing)
from ci.hunt.trial import Runner, Signature, Trial

# Options of perf that change how it works, not what a user sees.
HARMLESS = frozenset({(FOR_CAPTURE + "--threads", ""), (FOR_CAPTURE + "-z", ""),
                      (FOR_CAPTURE + "--output", "-"), (FOR_INJECT + "-b", ""),
                      (FOR_INJECT + "--aslr", ""), (INSIDE, "1")})
# Metrics that state how good the result is; others vary with the load of the machine.
QUALITIES = ("names.", "load.", "broken.", "injected.", "shown.")
FIRST, SECOND = 1, 2  # seeds of loop lengths
LEAST = 30  # a smaller n has intervals that show nothing

Metrics = Mapping[str, Mapping[str, float]]


def list_twins(crossing: Crossing) -> Iterator[tuple[str, Crossing]]:
    """Yields (name of the relation, crossing that must give the same)."""
    for name, value in sorted(crossing.items()):
        if (name, value) in HARMLESS:
            yield "without " + name.removeprefix(FOR_CAPTURE).removeprefix(FOR_INJECT), \
                {key: crossing[key] for key in crossing if key != name}
    if crossing.get(INJECT) == "perf":
        yield "against our inject", {**{key: crossing[key] for key in crossing if key != PERF
                                         and not key.startswith(FOR_INJECT)
                                         or key == PERF and is_perf_capture(crossing)},
                                      INJECT: "cut"}


def is_perf_capture(crossing: Crossing) -> bool:
    return crossing[CAPTURE].endswith("-by perf")


def find_differences(ours: Metrics, others: Metrics) -> list[str]:
    """Returns the metrics whose rates have intervals that do not overlap."""
    found = []
    for name in sorted({*ours} & {*others}):
        one, other = ours[name], others[name]
        if name.startswith(QUALITIES) and min(one.get("n", 0), other.get("n", 0)) >= LEAST and (
                one["lo"] > other["hi"] or other["lo"] > one["hi"]):
            found.append(name)
    return found


@dataclasses.dataclass
class Relations:
    """Checks the relations of trials that passed."""
    runner: Runner

    def check(self, trial: Trial) -> Trial:
        """Adds a signature to @trial for each relation that does not hold twice."""
        if trial.outcome != "PASS":
            return trial
        for relation, twin in list_twins(trial.crossing):
            wrong = self.compare(trial, twin, FIRST)
            if wrong:  # twice: one of many intervals of 95 % is apart by chance
                again = self.runner.run(trial.crossing, SECOND)
                wrong &= self.compare(again, twin, SECOND)
            if wrong:
                tools = "perf " + trial.crossing[PERF] if PERF in trial.crossing else ""
                trial.signatures |= {Signature(name, relation, tools) for name in wrong}
                trial.why += "%s: differs %s" % (", ".join(sorted(wrong)), relation)
        return trial

    def compare(self, trial: Trial, twin: Crossing, seed: int) -> set[str]:
        """Returns the metrics of @trial that differ in a run of its twin."""
        other = self.runner.run(twin, seed)
        if not trial.is_judged or not other.is_judged:
            return set()
        return set(find_differences(trial.metrics, other.metrics))
