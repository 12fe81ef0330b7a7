# SPDX-License-Identifier: GPL-2.0-only
"""Registers kinds of alterations. Exceptions report that a case has nothing to alter, or that an
alteration is unobservable."""

from functools import partial
from typing import Callable, Mapping, NamedTuple, TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ci.tamper.case import Capture, Case

# {file: its new bytes, or None to delete it}
Changes = Mapping[str, bytes | None]
Make = Callable[["Case"], Changes]
Alter = Callable[["Case", "Capture"], "Capture"]
Some = TypeVar("Some")


class Kind(NamedTuple):
    name: str
    make: Make

    @property
    def harmless(self) -> bool:
        return self.name.startswith("harmless.")


class Absent(Exception):
    """The case has nothing that the kind can alter; the message is the reason."""


def require(value: Some, why: str) -> Some:
    """Returns @value. Raises Absent for the reason @why if it is false or empty."""
    if not value:
        raise Absent(why)
    return value


class Unobservable(Exception):
    """No file of the case can reveal the alteration; the message is the proof."""


KINDS: dict[str, Kind] = {}


def add(name: str, make: Make) -> None:
    if name in KINDS:
        raise ValueError("two kinds are named " + name)
    KINDS[name] = Kind(name, make)


def kind(name: str) -> Callable[[Make], Make]:
    """Registers the decorated function, which makes the changes of the kind @name."""
    def register(make: Make) -> Make:
        add(name, make)
        return make
    return register


def register_rewrite(name: str, *names: str) -> Callable[[Alter], Alter]:
    """Registers the decorated function, which returns the altered capture. It alters perf.data and
    injected.data, or only the files @names."""
    def register(alter: Alter) -> Alter:
        add(name, lambda case: case.rewrite(partial(alter, case), *names))
        return alter
    return register


def make_if(there: Callable[["Case"], object], why: str, make: Make) -> Make:
    """Makes a kind that is absent, for the reason @why, from cases for which @there is false."""
    def alter_case(case: "Case") -> Changes:
        require(there(case), why)
        return make(case)
    return alter_case


def require_clock(why: str, make: Make) -> Make:
    """Makes a kind that is unobservable, for the reason @why, if breakpoints sample."""
    def alter_case(case: "Case") -> Changes:
        changes = make(case)
        if int(case.facts.get("breakpoints", 0)):
            raise Unobservable(why)
        return changes
    return alter_case
