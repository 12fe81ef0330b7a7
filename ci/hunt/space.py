# SPDX-License-Identifier: GPL-2.0-only
"""The dimensions of a case line and their values, from `jitproof list --json`."""

import dataclasses
import itertools
from typing import Any, Iterable, Iterator, Sequence

Item = tuple[str, str]  # a dimension and one of its values
Crossing = dict[str, str]  # value by dimension; an absent dimension has its default

WORKLOAD, CAPTURE, INJECT, PUBLISH, INSIDE, METHODS, AT, PERF, READER = (
    "workload", "capture", "inject", "publish", "inside", "methods", "at", "perf", "reader")
FOR_WORKLOAD, FOR_CAPTURE, FOR_INJECT = "workload ", "capture ", "inject "  # prefix of options
SWITCH = ""  # the value of an option without a value
# Usual time of a case; values that only longer cases use need too much time for a crossing.
USUAL_SECONDS = 30


@dataclasses.dataclass
class Harvest:
    """Collects values of dimensions and the items that they need."""
    values: dict[str, set[str]] = dataclasses.field(default_factory=dict)
    parents: dict[Item, set[Item]] = dataclasses.field(default_factory=dict)

    def add(self, name: str, values: Sequence[str], parent: Item | None = None) -> None:
        for value in values:
            self.values.setdefault(name, set()).add(value)
            self.parents.setdefault((name, value), set()).update([parent] if parent else [])

    def add_option(self, prefix: str, option: dict[str, Any], parent: Item | None) -> None:
        self.add(prefix + option["name"],
                 [SWITCH] if option["switch"] else option["values"], parent)

    def add_word(self, prefix: str, word: str, parent: Item | None) -> None:
        name, _, value = word.partition("=")
        self.add(prefix + name, [value], parent)

    def list_values(self, name: str) -> tuple[str, ...]:
        """Returns the values to try; of numbers the smallest and the largest."""
        numbers = sorted((value for value in self.values[name] if value.isdigit()), key=int)
        return tuple(sorted({*(self.values[name] - {*numbers}), *numbers[:1], *numbers[-1:]}))


@dataclasses.dataclass(frozen=True)
class Request:
    """What to cross: perfs by version, and dimensions to leave out."""
    perfs: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()


def group(items: Iterable[Item]) -> list[frozenset[Item]]:
    """Returns @items as a group for each dimension."""
    return [frozenset(each) for _, each in itertools.groupby(sorted(items), lambda item: item[0])]


def format_capture(words: Sequence[str], external: frozenset[str]) -> tuple[str, Sequence[str]]:
    """Splits a case's capture into the value of CAPTURE and its options."""
    count = 2 if words[0] in external else 1
    return " ".join(words[:count]), words[count:]


class Space:
    """All dimensions. @values: values by dimension. @parents: by item, groups of items: a crossing
    with that item needs at least one of each group."""

    def __init__(self, listed: dict[str, Any], request: Request = Request()) -> None:
        self.external = frozenset(one["name"] for one in listed["captures"] if one["external"])
        self.rows = {option["name"] for option in listed["capture_options"]}
        self.publishing = {option["name"] for option in listed["publishing"]}
        # The policies that have a boundary at which the workload makes a step.
        self.stepped: dict[str, list[Item]] = {}
        harvest = Harvest()
        self._add_workloads(harvest, listed)
        for one in listed["captures"]:
            if not one["external"]:
                self._add_capture(harvest, one, listed)
        for option in listed["capture_options"]:
            harvest.add_option(FOR_CAPTURE, option, None)
        for name in (PERF, READER):
            harvest.add(name, request.perfs)
        for case in listed["cases"]:
            if not case["control"] and case["seconds"] <= USUAL_SECONDS:
                self._add_case(harvest, case, bool(request.perfs))
        users = {(CAPTURE, value) for value in harvest.values[CAPTURE]
                 if value.endswith("-by perf")} | {(INJECT, "perf")}
        self.parents = {item: [frozenset(users)] if item[0] == PERF else group(parents)
                        for item, parents in harvest.parents.items()}
        versions = frozenset((PERF, version) for version in request.perfs)
        for item in users & {*self.parents}:
            self.parents[item] = [*self.parents[item], versions]
        for groups in self.parents.values():  # what the only possible parent needs
            groups += [more for parents in groups if len(parents) == 1
                       for more in self.parents[next(iter(parents))]]
        self.values = {name: harvest.list_values(name) for name in sorted(harvest.values)
                       if name not in request.without}

    def _add_capture(self, harvest: Harvest, capture: dict[str, Any],
                     listed: dict[str, Any]) -> None:
        harvest.add(CAPTURE, [capture["name"]])
        item = (CAPTURE, capture["name"])
        for boundary in capture["boundaries"]:
            self.stepped.setdefault(boundary, []).append(item)
        if capture["gated"]:  # it needs a workload that announces intervals
            harvest.parents[item] |= {
                (WORKLOAD, workload["name"]) for workload in listed["workloads"]
                if any(option["name"] == "--gate" for option in workload["options"])}

    @staticmethod
    def _add_workloads(harvest: Harvest, listed: dict[str, Any]) -> None:
        for workload in listed["workloads"]:
            item = (WORKLOAD, workload["name"])
            harvest.add(WORKLOAD, [workload["name"]])
            for option in workload["options"]:
                harvest.add_option(FOR_WORKLOAD, option, item)
        for option in listed["publishing"]:
            if option["name"] == "--publish":
                harvest.add(PUBLISH, option["values"])
            else:  # no faulty value ("KIND:FAULT"): at most --publish has a fault in a crossing
                harvest.add(FOR_WORKLOAD + option["name"],
                            [value for value in option["values"] if ":" not in value])

    def _add_case(self, harvest: Harvest, case: dict[str, Any], with_perf: bool) -> None:
        capture, options = format_capture(case["capture"], self.external)
        external = case["capture"][0] in self.external
        if external and not (with_perf and capture.endswith(" perf")):
            return
        harvest.add(CAPTURE, [capture])
        for word in options:  # an option of all policies needs none of them
            harvest.add_word(FOR_CAPTURE, word, None if word.partition("=")[0] in self.rows
                             else (CAPTURE, capture))
        for word in case["workload"][1:]:
            harvest.add_word(FOR_WORKLOAD, word, None if word.partition("=")[0] in self.publishing
                             else (WORKLOAD, case["workload"][0]))
        harvest.add(INSIDE, [str(case["inside"])] if case["inside"] else [])
        harvest.add(METHODS, [",".join(case["methods"])] if case["methods"] else [])
        if case["step"]:
            step = "%s:%s" % (case["boundary"], case["step"].replace(" ", "="))
            for parent in [(WORKLOAD, case["workload"][0]), *self.stepped[case["boundary"]]]:
                harvest.add(AT, [step], parent)
        if case["inject"] and (with_perf or case["inject"] != "perf"):
            harvest.add(INJECT, [case["inject"]])
            for word in case["inject_with"]:
                harvest.add_word(FOR_INJECT, word, (INJECT, case["inject"]))

    def is_possible(self, item: Item, crossing: Crossing) -> bool:
        return all(any(crossing.get(name) == value for name, value in parents)
                   for parents in self.parents[item])

    def needs(self, item: Item, name: str, seen: frozenset[Item] = frozenset()) -> bool:
        """Returns whether each crossing with @item has a value of dimension @name. @seen: items
        that need @item."""
        return item not in seen and any(
            all(parent[0] == name or self.needs(parent, name, seen | {item}) for parent in parents)
            for parents in self.parents[item])

    def list_items(self) -> list[Item]:
        return [(name, value) for name in self.values for value in self.values[name]]

    def are_compatible(self, one: Item, other: Item) -> bool:
        """Returns whether a crossing can hold both items, as far as their parents show."""
        if one[0] == other[0]:
            return False
        for first, second in ((one, other), (other, one)):
            for needed in self.parents[first]:
                if any(name == second[0] for name, _ in needed) and second not in needed:
                    return False
        # If both need a value of the same dimension, one value must suit both.
        return all(bool(left & right) or len({name for name, _ in left | right}) > 1
                   for left in self.parents[one] for right in self.parents[other])

    def list_pairs(self) -> Iterator[tuple[Item, Item]]:
        for one, other in itertools.combinations(sorted(self.list_items()), 2):
            if self.are_compatible(one, other):
                yield one, other


def iterate_pairs(crossing: Crossing) -> Iterator[tuple[Item, Item]]:
    return itertools.combinations(sorted(crossing.items()), 2)
