# SPDX-License-Identifier: GPL-2.0-only
"""Kinds of failures: a signature, and the smallest crossing that still shows it."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterator, Sequence

from ci.hunt.cover import has_few_values
from ci.hunt.known import ID
from ci.hunt.line import PLAIN, make_crossing
from ci.hunt.space import Crossing, Item, Space
from ci.hunt.trial import Signature, Trial

# Runs crossings; yields the results in their order.
Run = Callable[[Sequence[Crossing]], Iterator[Trial]]
# Runs crossings likewise, to find those that show a signature.
Search = Callable[[Sequence[Crossing], Signature], Iterator[Trial]]


@dataclasses.dataclass
class Cluster:
    signature: Signature
    crossing: Crossing
    why: str
    count: int = 1

    def is_part_of(self, crossing: Crossing) -> bool:
        """Returns whether @crossing has all values of the cluster but the plain ones."""
        return self.crossing.items() - PLAIN.items() <= crossing.items()

    def store(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def load(stored: dict[str, Any]) -> Cluster:
        return Cluster(Signature(**stored["signature"]), stored["crossing"], stored["why"],
                       stored["count"])


def split(items: list[Item], count: int) -> list[list[Item]]:
    """Returns @items as @count parts of about the same size."""
    return [items[len(items) * n // count:len(items) * (n + 1) // count] for n in range(count)]


def find_smaller(items: list[Item], count: int) -> list[list[Item]]:
    """Returns @items in @count parts, then for each part @items without it."""
    parts = split(items, count)
    rest = [[item for item in items if item not in part] for part in parts]
    return rest if count == 2 else parts + rest


class Reduction:
    """Finds a smallest crossing for which @shows holds: delta debugging over the items."""

    def __init__(self, space: Space, shows: Callable[[Trial], bool], run: Run) -> None:
        self.space, self.shows, self.run = space, shows, run
        self.seen: set[frozenset[Item]] = set()

    def try_all(self, candidates: list[list[Item]]) -> Trial | None:
        """Tries the crossings of @candidates that were not tried before. Returns the first trial
        for which `shows` holds, or None."""
        crossings = []
        for items in candidates:
            crossing = make_crossing(self.space, items)
            key = frozenset(crossing.items())
            if key not in self.seen:
                self.seen.add(key)
                crossings.append(crossing)
        return next((trial for trial in self.run(crossings) if self.shows(trial)), None)

    def reduce(self, start: Trial) -> Trial:
        best, count = start, 2
        self.seen.add(frozenset(start.crossing.items()))
        while True:
            # Leave out the plain workload and policy: make_crossing() adds them where they are
            # missing.
            items = sorted(set(best.crossing.items()) - set(PLAIN.items()))
            if not items:
                return best
            count = min(count, len(items))
            smaller = self.try_all(find_smaller(items, count))
            if smaller:
                best, count = smaller, 2
            elif count == len(items):
                return best
            else:
                count *= 2


MAX_CLUSTERS = 5  # clusters of one signature


class Clusters:
    """All clusters of failures. Failures of one signature can have several causes: a crossing of
    few values without those of a cluster forms a further one."""

    def __init__(self, space: Space, search: Search) -> None:
        self.space, self.search = space, search
        self.found: list[Cluster] = []

    def find(self, signature: Signature, crossing: Crossing) -> Cluster | None:
        """Returns the cluster that explains @signature of @crossing."""
        same = [one for one in self.found if one.signature == signature]
        fitting = [one for one in same if one.is_part_of(crossing)]
        if not fitting and (not has_few_values(crossing) or len(same) >= MAX_CLUSTERS):
            fitting = same
        return fitting[0] if fitting else None

    def add(self, trial: Trial) -> list[Cluster]:
        """Counts the failures of @trial. Returns the new clusters, with the crossing of @trial."""
        fresh = []
        for signature in sorted(trial.signatures, key=str):
            cluster = self.find(signature, trial.crossing)
            if cluster:
                cluster.count += 1
            else:
                fresh.append(Cluster(signature, trial.crossing, trial.why))
        self.found += fresh
        return fresh

    def join(self) -> None:
        """Joins each cluster with another of its signature that has a part of its values."""
        for cluster in [*self.found]:
            whole = next((one for one in self.found if one is not cluster and
                          one.signature == cluster.signature and
                          one.is_part_of(cluster.crossing)), None)
            if whole:
                whole.count += cluster.count
                self.found.remove(cluster)

    def reduce(self, trial: Trial, fresh: Sequence[Cluster]) -> None:
        """Gives each of the @fresh clusters of @trial the smallest crossing that shows it, except
        for findings, whose id is the cause; several clusters can have the same."""
        small = trial
        for cluster in fresh:
            if ID.fullmatch(cluster.signature.cause):
                continue
            if small is trial or cluster.signature not in small.signatures:
                small = self.find_smallest(trial, cluster.signature)
            cluster.crossing, cluster.why = small.crossing, small.why

    def find_smallest(self, trial: Trial, signature: Signature) -> Trial:
        """Returns the trial of the smallest crossing that shows @signature, as @trial does."""
        return Reduction(self.space, lambda one: signature in one.signatures,
                         lambda crossings: self.search(crossings, signature)).reduce(trial)
