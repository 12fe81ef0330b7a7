# SPDX-License-Identifier: GPL-2.0-only
"""Recipes: each makes a capture whose cause is known from the way it is made."""

from typing import Callable, NamedTuple

from ci.labelled.bench import Bench

Make = Callable[[Bench], None]
HEALTHY = "healthy"


class Recipe(NamedTuple):
    name: str
    label: tuple[str, ...]  # see register()
    make: Make


RECIPES: dict[str, Recipe] = {}


def register(name: str, label: str) -> Callable[[Make], Make]:
    """Returns the function that registers a recipe. @label: ids of docs/explain.md, the main cause
    first, then causes that may tie with it; or "healthy"; or the first cause of each question,
    "stacks:A|B names:C". A and B tie; "-" stands for no cause."""
    if name in RECIPES:
        raise ValueError("two recipes are named " + name)

    def add(make: Make) -> Make:
        RECIPES[name] = Recipe(name, tuple(label.split()), make)
        return make
    return add
