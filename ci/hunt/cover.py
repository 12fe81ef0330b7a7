# SPDX-License-Identifier: GPL-2.0-only
"""Chooses crossings by the pairs of values that none has covered yet. First each has many values,
to cover many pairs. A value can hide the effect of two others, so later crossings have few."""

import collections
import itertools
import random
from typing import Sequence

from ci.hunt.line import drop_orphans
from ci.hunt.space import (CAPTURE, INJECT, PERF, PUBLISH, READER, WORKLOAD, Crossing, Item, Space,
                           iterate_pairs)

Pair = tuple[Item, Item]
PATIENCE = 3  # crossings without a verdict after which a pair is no longer drawn
# Random completions of an uncovered pair; the one from which most new pairs are expected is taken.
TRIES = 30
MIN_LETTERS = 6  # letters of a value that a reason names at least, so that the value is tried alone
SHARE = 0.8  # probability that a random crossing sets a dimension that it does not need
GOAL = 0.9  # share of covered pairs from which on crossings have few values
# Dimensions that crossings of few values set: the parts of a case line, and versions.
PARTS = (WORKLOAD, CAPTURE, INJECT, PERF, READER)
MAX_FURTHER = 3  # further values that such a crossing has: an option, and the options that it needs
# Publishers of crossings of few values: inject needs a jitdump, readers read a map without inject.
DUMP, MAP = "jitdump", "map"
OFTEN = 0.75  # share of these crossings with the publisher that is needed; others have the other


def list_combinations(crossing: Crossing) -> set[frozenset[Item]]:
    """Returns the items and the pairs of @crossing."""
    return {frozenset(items) for items in itertools.chain(
        ([item] for item in crossing.items()), iterate_pairs(crossing))}


def measure_likeness(items: frozenset[Item], reason: str) -> int:
    """Returns the length of the longest part of a name or value in @items that @reason contains.
    Messages of the kernel, of perf and of jitproof often name the refused option."""
    words = {word.strip("-").lower() for item in items for word in " ".join(item).split()}
    return max((stop - start for word in words for start in range(len(word))
                for stop in range(start + 3, len(word) + 1)
                if word[start:stop] in reason.lower()), default=0)


def has_few_values(crossing: Crossing) -> bool:
    return len({*crossing} - {*PARTS}) <= MAX_FURTHER


class Cover:
    """The pairs of a space: covered, impossible (by probing), or neither."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space, self.random = space, random.Random(seed)
        self.covered: set[Pair] = set()
        self.impossible: list[frozenset[Item]] = []
        # Items that are refused without a value of a dimension, which is named.
        self.lacking: list[tuple[frozenset[Item], str]] = []
        self.open: set[Pair] = set(space.list_pairs())
        # Pairs with a part that no judged crossing of few values has covered.
        self.hidden = {pair for pair in self.open if any(name in PARTS for name, _ in pair)}
        # Crossings with a pair that had a verdict, and those that ran without a verdict.
        self.judged: collections.Counter[Pair] = collections.Counter()
        self.unjudged: collections.Counter[Pair] = collections.Counter()
        self.ran: set[frozenset[Item]] = set()  # items and pairs of crossings that ran
        self.alone: set[Item] = set()  # items that were suspected alone
        # Crossings that could not run, by the reason.
        self.refused: dict[str, list[frozenset[Item]]] = {}

    def add(self, crossing: Crossing) -> None:
        """Counts the pairs of a crossing that was judged."""
        self.ran |= list_combinations(crossing)
        pairs = set(iterate_pairs(crossing)) & (self.open | self.covered)
        self.judged.update(pairs)
        self.covered |= pairs
        self.open -= pairs
        if has_few_values(crossing):
            self.hidden -= pairs

    def add_unjudged(self, crossing: Crossing) -> None:
        """Counts the pairs of a crossing that ran without a verdict."""
        self.ran |= list_combinations(crossing)
        self.unjudged.update(iterate_pairs(crossing))

    def exclude(self, crossing: Crossing) -> None:
        """Excludes @crossing, and each crossing that contains it, from further tries; also an item
        that is impossible with each value of a dimension that it needs."""
        items = frozenset(crossing.items())
        if items in self.impossible:
            return
        self.impossible.append(items)
        self.open, self.hidden = ({pair for pair in pairs if not items <= {*pair}}
                                  for pairs in (self.open, self.hidden))
        for one, (name, _) in itertools.permutations(items, 2) if len(items) == 2 else ():
            if self.space.needs(one, name) and all(
                    self.is_impossible(dict([one, (name, value)]))
                    for value in self.space.values[name]):
                self.exclude(dict([one]))

    def is_impossible(self, crossing: Crossing) -> bool:
        items = frozenset(crossing.items())
        return any(one <= items for one in self.impossible)

    def is_hopeless(self, crossing: Crossing) -> bool:
        """Returns whether @crossing has a pair that never had a verdict."""
        return any(self.unjudged[pair] >= PATIENCE and not self.judged[pair]
                   for pair in iterate_pairs(crossing))

    @property
    def wants_few(self) -> bool:
        """Returns whether the next crossing is to have few values."""
        return bool(self.hidden) and len(self.covered) >= GOAL * (
            len(self.covered) + len(self.open))

    def get_wanted(self) -> set[Pair]:
        """Returns the pairs that the next crossings are to cover."""
        return self.hidden if self.wants_few else self.open

    def estimate_gain(self, pairs: Sequence[Pair]) -> float:
        """Returns the expected number of new pairs of a crossing with @pairs. Its chance of a
        verdict is the smallest share of judged runs of a pair; a pair that never ran counts as
        judged once. 1 is added to the number of pairs, so that the chance counts without them."""
        chance = min(((self.judged[pair] + 1) / (self.judged[pair] + self.unjudged[pair] + 1)
                      for pair in pairs), default=1)
        wanted = self.get_wanted()
        return (sum(pair in wanted and self.unjudged[pair] < PATIENCE for pair in pairs) +
                1) * chance

    def find_suspect(self, crossing: Crossing, reason: str) -> Crossing:
        """Returns the item or pair of @crossing that is the likeliest cause of @reason, for which
        it could not run: no crossing with it ran, most crossings refused for @reason have it, and
        @reason resembles its words. Returns {} if there is none. An item whose words @reason has is
        the first suspect even if it ran: another value may have made it ineffective."""
        self.refused.setdefault(reason, []).append(frozenset(crossing.items()))
        named = max(crossing.items() - self.alone, default=None,
                    key=lambda item: (measure_likeness(frozenset([item]), reason), item))
        if named and measure_likeness(frozenset([named]), reason) >= MIN_LETTERS:
            self.alone.add(named)
            return dict([named])
        every = list(itertools.chain.from_iterable(self.refused.values()))
        likeliest = max(list_combinations(crossing) - self.ran, default=None, key=lambda one: (
            sum(one <= items for items in self.refused[reason]), -len(one),
            measure_likeness(one, reason),
            -sum(len(self.space.parents.get(item, ())) for item in one),
            sum(one <= items for items in every), sorted(one)))
        return dict(likeliest or ())

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

    def add_value(self, crossing: Crossing, name: str) -> Crossing:
        """Adds the possible value of dimension @name from which most new pairs are expected, of
        equal values a random one. Returns @crossing if no value is possible."""
        items = [(name, value) for value in self.space.values[name]]
        self.random.shuffle(items)
        gains = {item: self.estimate_gain([(min(item, other), max(item, other))
                                           for other in crossing.items()]) for item in items}
        for item in sorted(items, key=lambda item: -gains[item]):
            more = {**crossing, name: item[1]}
            if self.space.is_possible(item, crossing) and not (
                    self.is_impossible(more) or self.is_hopeless(more)):
                return more
        return crossing

    def fill(self, crossing: Crossing) -> Crossing:
        """Adds values of random dimensions that @crossing does not set, and of those that its
        values lack."""
        names = [name for name in self.space.values if name not in crossing and
                 (not self.wants_few or name in PARTS)]
        self.random.shuffle(names)
        for name in names:
            if self.random.random() < SHARE:
                crossing = self.add_value(crossing, name)
        if self.wants_few and PUBLISH not in crossing:
            is_dump = (INJECT in crossing) == (self.random.random() < OFTEN)
            publisher = DUMP if is_dump else MAP
            if publisher in self.space.values.get(PUBLISH, ()):
                crossing[PUBLISH] = publisher
        for items, name in self.lacking:
            if items <= crossing.items() and name not in crossing:
                crossing = self.add_value(crossing, name)
        return drop_orphans(self.space, crossing)

    def choose(self) -> Crossing:
        """Returns the next crossing."""
        best: Crossing | None = None
        most = -1.0
        wanted = sorted(pair for pair in self.get_wanted() if self.unjudged[pair] < PATIENCE)
        for _ in range(TRIES):
            start: tuple[Item, ...] = self.random.choice(wanted) if wanted else ()
            made = self.complete(start)
            if made is None or self.is_impossible(made) or self.is_hopeless(made):
                continue
            made = self.fill(made)
            if self.is_explained(made):
                continue
            gain = self.estimate_gain(list(iterate_pairs(made)))
            if gain > most:
                best, most = made, gain
        return best or self.fill(self.complete(()) or {})
