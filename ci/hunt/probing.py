# SPDX-License-Identifier: GPL-2.0-only
"""Finds the smallest combination that no case line can have, from a line that was refused."""

from typing import Iterator

from ci.hunt.clusters import Reduction, Run
from ci.hunt.line import PLAIN, make_crossing
from ci.hunt.space import Crossing, Space
from ci.hunt.trial import Trial, remove_figures


def list_others(space: Space, items: Crossing, name: str) -> Iterator[Crossing]:
    """Yields @items with each other value of dimension @name that can be added to them."""
    for value in space.values[name]:
        made = make_crossing(space, {**items, name: value}.items())
        if items.get(name) != value and made.get(name) == value and all(
                made.get(key) == items[key] for key in items if key != name):
            yield made


def is_refused(crossings: list[Crossing], run: Run) -> bool:
    """Returns whether all @crossings are refused; stops at the first that is not."""
    return all(trial.is_refused for trial in run(crossings))


def find_impossible(space: Space, refused: Trial, run: Run) -> tuple[Trial, Crossing, str]:
    """Returns the smallest crossing that is refused for the same reason, its items that no crossing
    can have together, and the name of the dimension whose values make them possible, or "" if there
    is none."""
    reason = remove_figures(refused.why)
    small = Reduction(space, lambda one: one.is_refused and remove_figures(one.why) == reason,
                      run).reduce(refused)
    items = dict(small.crossing)
    for name, plain in PLAIN.items():
        if items.get(name) == plain and is_refused([*list_others(space, items, name)], run):
            del items[name]
        elif items.get(name) == plain:
            items[name] = refused.crossing[name]  # undo the reduction's change to the plain value
    for name in sorted(set(space.values) - set(small.crossing)):  # does it lack a required item?
        if not is_refused([*list_others(space, items, name)][:1], run):
            return small, items, name
    return small, items, ""
