# SPDX-License-Identifier: GPL-2.0-only
"""Recipes: each makes a capture whose cause is known from the way it is made."""

from typing import Callable, Collection, NamedTuple

from ci.labelled.bench import Bench

Make = Callable[[Bench], None]
HEALTHY = "healthy"


class Recipe(NamedTuple):
    name: str
    label: tuple[str, ...]  # see add()
    make: Make
    kept: bool  # whether the tree contains the capture


RECIPES: dict[str, Recipe] = {}


def add(name: str, label: str, make: Make, kept: bool = True) -> None:
    """Registers a recipe. @label: ids of docs/explain.md, the main cause first, then causes that
    may tie with it; or "healthy"; or the first cause of each question, "stacks:A|B names:C". A and
    B tie; "-" stands for no cause."""
    if name in RECIPES:
        raise ValueError("two recipes are named " + name)
    RECIPES[name] = Recipe(name, tuple(label.split()), make, kept)


def register_recipe(name: str, label: str, kept: bool = True) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        add(name, label, make, kept)
        return make
    return register


def make_register(kept: Collection[str]) -> Callable[[str, str], Callable[[Make], Make]]:
    """Returns register_recipe() for a module whose captures @kept are in the tree."""
    return lambda name, label: register_recipe(name, label, name in kept)
