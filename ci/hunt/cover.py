# SPDX-License-Identifier: GPL-2.0-only
"""Chooses crossings: first by the pairs of values that none has covered yet, then at random."""

import collections
import random

from ci.hunt.line import drop_orphans
from ci.hunt.space import CAPTURE, WORKLOAD, Crossing, Item, Space, iterate_pairs

Pair = tuple[Item, Item]
PATIENCE = 3  # crossings without a verdict after which a pair is no longer pursued
TRIES = 12  # random completions of an uncovered pair; the one with most new pairs is taken
SHARE = 0.25  # probability that a random crossing sets a dimension that it does not need


class Cover:
    """The pairs of a space: covered, impossible (by probing), or neither."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space, self.random = space, random.Random(seed)
        self.covered: set[Pair] = set()
        self.impossible: list[frozenset[Item]] = []
        # Items that are refused without a value of a dimension, which is named.
        self.lacking: list[tuple[frozenset[Item], str]] = []
        self.open: set[Pair] = set(space.list_pairs())
        self.unjudged: collections.Counter[Pair] = collections.Counter()

    def add(self, crossing: Crossing) -> None:
        """Counts the pairs of a crossing that was judged."""
        pairs = set(iterate_pairs(crossing)) & (self.open | self.covered)
        self.covered |= pairs
        self.open -= pairs

    def add_unjudged(self, crossing: Crossing) -> None:
        """Counts the pairs of a crossing that ran without a verdict."""
        self.unjudged.update(set(iterate_pairs(crossing)) & self.open)

    def exclude(self, crossing: Crossing) -> None:
        """Excludes @crossing, and each crossing that contains it, from further tries."""
        items = frozenset(crossing.items())
        self.impossible.append(items)
        self.open = {pair for pair in self.open if not items <= {*pair}}

    def is_impossible(self, crossing: Crossing) -> bool:
        items = frozenset(crossing.items())
        return any(one <= items for one in self.impossible)

    def add_lacking(self, crossing: Crossing, name: str) -> None:
        """Remembers that @crossing needs a value of dimension @name."""
        self.lacking.append((frozenset(crossing.items()), name))

    def is_explained(self, crossing: Crossing) -> bool:
        """Returns whether it is known why @crossing was refused."""
        items = frozenset(crossing.items())
        return self.is_impossible(crossing) or any(
            one <= items and name not in crossing for one, name in self.lacking)

    def complete(self, pair: tuple[Item, ...]) -> Crossing | None:
        """Returns a random crossing that contains @pair, or None if an item needs a value of a
        dimension that already has another value."""
        crossing: Crossing = dict(pair)
        todo = list(pair)
        while todo:
            for parents in self.space.parents[todo.pop()]:
                if any(crossing.get(name) == value for name, value in parents):
                    continue
                choice = [item for item in sorted(parents) if item[0] not in crossing]
                if not choice:
                    return None
                item = self.random.choice(choice)
                crossing[item[0]] = item[1]
                todo.append(item)
        for name in (WORKLOAD, CAPTURE):
            if name not in crossing:
                crossing[name] = self.random.choice([
                    value for value in self.space.values[name]
                    if self.space.is_possible((name, value), crossing)])
        return crossing

    def fill(self, crossing: Crossing) -> Crossing:
        """Adds random values of dimensions that @crossing does not set."""
        names = sorted(set(self.space.values) - set(crossing))
        self.random.shuffle(names)
        for name in names:
            if self.random.random() < SHARE:
                item = (name, self.random.choice(self.space.values[name]))
                more = {**crossing, name: item[1]}
                if self.space.is_possible(item, crossing) and not self.is_impossible(more):
                    crossing = more
        return drop_orphans(self.space, crossing)

    def choose(self) -> Crossing:
        """Returns the next crossing."""
        best: Crossing | None = None
        most = -1
        wanted = {pair for pair in self.open if self.unjudged[pair] < PATIENCE}
        opened = sorted(wanted)
        for _ in range(TRIES):
            start: tuple[Item, ...] = self.random.choice(opened) if opened else ()
            made = self.complete(start)
            if made is None or self.is_impossible(made):
                continue
            made = self.fill(made)
            count = sum(pair in wanted for pair in iterate_pairs(made))
            if count > most:
                best, most = made, count
        return best or self.fill(self.complete(()) or {})
