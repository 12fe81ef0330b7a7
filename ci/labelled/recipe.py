# SPDX-License-Identifier: GPL-2.0-only
"""Recipes: each makes a capture whose cause is known from the way it is made."""

from typing import Any, Callable, NamedTuple, Sequence

from ci.labelled.bench import Bench, CHAINS

Make = Callable[[Bench], None]
Prepare = Callable[[Bench], Sequence[str]]  # prepares a program, and returns its command
LIB = "library-no-frame-pointer"  # a cause that many labels name
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"


class Recipe(NamedTuple):
    name: str
    label: tuple[str, ...]  # see register()
    make: Make


RECIPES: dict[str, Recipe] = {}


def register(name: str, label: str) -> Callable[[Make], Make]:
    """Registers the decorated function as a recipe. @label: ids of docs/explain.md, the main cause
    first, then causes that may tie with it; or "healthy"; or the first cause of each question,
    "stacks:A|B names:C". A and B tie; "-" stands for no cause."""
    if name in RECIPES:
        raise ValueError("two recipes are named " + name)

    def add_recipe(make: Make) -> Make:
        RECIPES[name] = Recipe(name, tuple(label.split()), make)
        return make
    return add_recipe


def add(name: str, label: str, prepare: Prepare, *, record: Sequence[str] = CHAINS,
        version: str = "", attach: bool = False, after: Callable[[Bench], object] | None = None,
        **how: Any) -> None:
    """Adds a recipe that records one program. @record: options of the recorder, whose version is
    the end of @name without @version; @after: called at the end; @how: see Bench.launch() and, with
    @attach, Bench.attach()."""
    @register(name, label)
    def make(bench: Bench) -> None:
        do_record: Any = bench.attach if attach else bench.launch
        do_record(version or name.rpartition("-")[2], record, prepare(bench), **how)
        if after:
            after(bench)


def add_workload(name: str, label: str, *workload: str, **how: Any) -> None:
    """Adds a recipe that records one of our workloads. @workload: its name and options; @how: see
    add()."""
    add(name, label, lambda bench: bench.workload(*workload), **how)
