# SPDX-License-Identifier: GPL-2.0-only
"""A crossing as a case line, and the crossing that a part of its items makes."""

from typing import Iterable

from ci.hunt.space import (AT, CAPTURE, FOR_CAPTURE, FOR_INJECT, FOR_WORKLOAD, INJECT, INSIDE,
                           METHODS, PUBLISH, READER, SWITCH, WORKLOAD, Crossing, Item, Space)

# Enough for a verdict: a defect that hits one sample in a hundred needs more crossings, not longer
# ones.
SAMPLES, SECONDS = 100, 20
FREQUENCY = FOR_CAPTURE + "--freq"


def format_option(name: str, value: str) -> str:
    return name if value == SWITCH else "%s=%s" % (name, value)


def list_options(crossing: Crossing, prefix: str) -> list[str]:
    return [format_option(name[len(prefix):], value) for name, value in sorted(crossing.items())
            if name.startswith(prefix)]


def format_line(crossing: Crossing, name: str = "hunt") -> str:
    """Returns the case line of @crossing, which has a workload and a capture."""
    capture = [crossing[CAPTURE], *list_options(crossing, FOR_CAPTURE)]
    if FREQUENCY not in crossing:
        capture.insert(1, "--freq=1999")
    keys = ["samples=%d" % SAMPLES, "seconds=%d" % SECONDS]
    for key in (INSIDE, PUBLISH, METHODS, AT):
        if key in crossing:
            keys.append("%s=%s" % (key, crossing[key]))
    if INJECT in crossing:
        keys.append("inject=" + ",".join([crossing[INJECT], *list_options(crossing, FOR_INJECT)]))
    return "case %s full : %s : %s : %s" % (
        name, " ".join([crossing[WORKLOAD], *list_options(crossing, FOR_WORKLOAD)]),
        " ".join(capture), " ".join(keys))


def name_reader(crossing: Crossing) -> str:
    """Returns the value of `jitproof run --readers` for @crossing."""
    return "perf-" + crossing[READER] if READER in crossing else "none"


def drop_orphans(space: Space, crossing: Crossing) -> Crossing:
    """Returns @crossing without items that need a parent which the crossing lacks."""
    while True:
        kept = {name: value for name, value in crossing.items()
                if space.is_possible((name, value), crossing)}
        if kept == crossing:
            return kept
        crossing = kept


# Workload and policy of a crossing that has none.
PLAIN = {WORKLOAD: "anon_exec", CAPTURE: "launch"}


def make_crossing(space: Space, items: Iterable[Item]) -> Crossing:
    """Returns a crossing of @items, with drop_orphans() applied."""
    return {**PLAIN, **drop_orphans(space, {**PLAIN, **dict(items)})}


def make_smallest(space: Space, items: Iterable[Item], crossing: Crossing) -> Crossing:
    """Returns the smallest crossing of @items, and of values of @crossing that they need."""
    todo = [*items]
    for item in todo:
        for parents in space.parents[item]:
            if not parents & {*todo}:
                todo += sorted(parents & crossing.items())[:1]
    return make_crossing(space, todo)
