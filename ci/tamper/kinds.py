# SPDX-License-Identifier: GPL-2.0-only
"""What a family of alterations is made of: kinds that register themselves, and how they say that
a case gives them nothing to alter."""

from functools import partial
from typing import Callable, Mapping, NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from ci.tamper.case import Capture, Case

# {file: its new bytes, None where it goes}
Changes = Mapping[str, bytes | None]
Make = Callable[["Case"], Changes]
Alter = Callable[["Case", "Capture"], "Capture"]


class Kind(NamedTuple):
    name: str
    make: Make
    harmless: bool


class Absent(Exception):
    """The case holds nothing that this kind could alter: why, from its files."""


class Unobservable(Exception):
    """What this kind alters here nobody can see: the proof, from the case's files."""


KINDS: dict[str, Kind] = {}


def add(name: str, make: Make, harmless: bool = False) -> None:
    if name in KINDS:
        raise ValueError("two kinds are named " + name)
    KINDS[name] = Kind(name, make, harmless)


def kind(name: str, harmless: bool = False) -> Callable[[Make], Make]:
    """Registers the function as what makes the kind's changes."""
    def register(make: Make) -> Make:
        add(name, make, harmless)
        return make
    return register


def rewriting(name: str, *names: str, harmless: bool = False) -> Callable[[Alter], Alter]:
    """Registers the function as what a case's capture becomes, and what was injected into it; or
    the files @names alone."""
    def register(alter: Alter) -> Alter:
        add(name, lambda case: case.rewrite(partial(alter, case), *names), harmless)
        return alter
    return register


def of_clock(why: str, make: Make) -> Make:
    """What only a clock's samples show: of breakpoints' @why nobody sees it."""
    def alter(case: "Case") -> Changes:
        changes = make(case)
        if int(case.facts.get("breakpoints", 0)):
            raise Unobservable(why)
        return changes
    return alter
