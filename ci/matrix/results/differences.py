# SPDX-License-Identifier: GPL-2.0-only
"""What differs between two stored results, and whether that is a regression."""

import dataclasses
import difflib
import itertools
import json
import re
from typing import Any, Iterator

from ci.matrix.results import stored

# In the order in which they are told: (kind, whether it is a regression, what it says).
KINDS = (
    ("lost", True, "lost: no result at all"),
    ("splat", True, "the kernel's log has what it had not"),
    ("failure", True, "new failures"),
    ("skipped", True, "became SKIP"),
    ("gone", True, "cases gone"),
    ("outcome", True, "other changed outcomes"),
    ("fact", True, "changed facts"),
    ("fact gone", True, "facts gone"),
    ("expectation", True, "changed expectations"),
    ("fixed", False, "fixed"),
    ("new", False, "new cases"),
    ("new fact", False, "new facts"),
    ("figure", False, "changed figures"),
)
REGRESSIONS = frozenset(kind for kind, bad, _ in KINDS if bad)
FACTS = ("fact", "fact gone", "new fact")
GOOD = ("PASS", "XFAIL")
# Of a line of a kernel's log: the time and the processor do not make another splat of it. Lines
# "cut here" say nothing else.
VARIES = re.compile(r"^\[ *\d+\.\d+\] (?!-*\[ cut here)|\b(?:CPU|PID): \d+ ?")


@dataclasses.dataclass(frozen=True)
class Difference:
    kind: str
    label: str
    name: str  # of the case or the fact
    text: str


def short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def first_line(text: str) -> str:
    return text.split("\n", 1)[0][:200]


def outcome(case: dict[str, Any]) -> str:
    return "%s %s" % (case["outcome"], case["crashed"]) if case.get("crashed") else case["outcome"]


def compare_outcome(one: dict[str, Any], other: dict[str, Any]) -> tuple[str, str] | None:
    """(kind, text) of what became of a case, or None."""
    before, after = outcome(one), outcome(other)
    if before == after:
        return None
    text = "%s -> %s" % (before, after)
    if other["why"]:
        text += ": " + first_line(other["why"])
    if other["outcome"] in stored.BAD:
        return "failure", text
    if other["outcome"] == "SKIP":
        return "skipped", text
    if other["outcome"] == "PASS" and one["outcome"] != "XFAIL":
        return "fixed", text
    # XFAIL to PASS, or the reverse: what was expected is not what it was.
    return "outcome", text


def judged(case: dict[str, Any]) -> bool:
    """Whether every expectation was held against a figure."""
    return bool(case["metrics"]) and case["outcome"] in (*GOOD, "FAIL", "XPASS")


def compare_expectations(one: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    """Texts: of each range that changed, of the definition, and of what the case is for. A range
    says nothing where a case was not judged."""
    if judged(one) and judged(other):
        before, after = one["expect"], other["expect"]
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                yield "%s: %s -> %s" % (name, told(before.get(name)), told(after.get(name)))
    if one["control"] != other["control"]:
        yield "control: %s -> %s" % (short(one["control"]), short(other["control"]))
    for line in changed_lines(one.get("definition"), other.get("definition")):
        yield "definition: %s %s" % (line[0], line[1:].strip())


def changed_lines(before: str | None, after: str | None) -> list[str]:
    """The lines of two texts, None for no text, that are not in both in the same order; after
    - or +."""
    old, new = ([] if text is None else text.split("\n") for text in (before, after))
    # Two lines for names of files come first.
    told_lines = itertools.islice(difflib.unified_diff(old, new, n=0), 2, None)
    return [line for line in told_lines if line[0] in "-+"]


def told(expected: list[Any] | None) -> str:
    if expected is None:
        return "none"
    least, most, unit = expected
    ends = ["" if end is None else "%g" % end for end in (least, most)]
    return "%s..%s %s" % (ends[0], ends[1], unit)


def figure(metric: list[int] | None) -> str:
    return "none" if metric is None else "/".join(str(number) for number in metric)


def figures_of(case: dict[str, Any]) -> dict[str, list[int]]:
    """Every count of a case by a name, as metrics are."""
    return {
        **case["metrics"],
        **{"judged." + method: [count] for method, count in case["judged"].items()},
        **({"distinct": [case["distinct"]]} if "distinct" in case else {}),
        **{"verdict.%s.%s" % (method, name): [count]
           for method, verdicts in case["verdicts"].items() for name, count in verdicts.items()},
        **{"exceptions.%s.%s" % (metric, cause): [count]
           for metric, cause, count in case["exceptions"]}}


def compare_figures(one: dict[str, Any], other: dict[str, Any], exact: bool) -> Iterator[str]:
    """Texts: of every count that changed, or only of rates that differ by more than chance."""
    before, after = figures_of(one), figures_of(other)
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if exact or (old and new and len(old) == len(new) == 2 and name not in stored.AREAS
                     and stored.apart(old, new)):
            yield "%s: %s -> %s" % (name, figure(old), figure(new))


def compare_cases(label: str, one: dict[str, dict[str, Any]], other: dict[str, dict[str, Any]],
                  exact: bool) -> Iterator[Difference]:
    for name in sorted(one.keys() | other.keys()):
        if name not in other:
            yield Difference("gone", label, name, "was " + outcome(one[name]))
            continue
        if name not in one:
            bad = other[name]["outcome"] in stored.BAD
            yield Difference("failure" if bad else "new", label, name,
                             "new: " + outcome(other[name]))
            continue
        changed = compare_outcome(one[name], other[name])
        if changed:
            yield Difference(changed[0], label, name, changed[1])
        for text in compare_expectations(one[name], other[name]):
            yield Difference("expectation", label, name, text)
        for text in compare_figures(one[name], other[name], exact):
            yield Difference("figure", label, name, text)


def compare_facts(label: str, one: dict[str, dict[str, Any]],
                  other: dict[str, dict[str, Any]]) -> Iterator[Difference]:
    for name in sorted(one.keys() | other.keys()):
        old, new = one.get(name), other.get(name)
        if old is None:
            yield Difference("new fact", label, name, short(other[name]["value"]))
        elif new is None:
            yield Difference("fact gone", label, name, "was " + short(old["value"]))
        # 1 is not true, and 1.0 is not 1.
        elif json.dumps(old["value"]) != json.dumps(new["value"]):
            yield Difference("fact", label, name,
                             "%s -> %s" % (short(old["value"]), short(new["value"])))


def splats(made: stored.Stored) -> list[str]:
    """Lines of a kernel's log that should not be there."""
    if made.header["outcome"] != "SPLAT":
        return []
    return made.header.get("reason", "SPLAT").split("\n")


def compare_splats(label: str, one: stored.Stored, other: stored.Stored) -> Iterator[Difference]:
    before = splats(one)
    known = {VARIES.sub("", line) for line in before}
    new = [line for line in splats(other) if VARIES.sub("", line) not in known]
    if new:
        yield Difference("splat", label, "", "%s -> %s" % (
            "\n".join(before) or one.header["outcome"], "\n".join(new)))


def repeats(one: stored.Stored, other: stored.Stored) -> bool:
    """Whether one is the other once more, under virtual time: then every count that changed says
    something. Of two kernels, of other seeds, or beside other cases no count is the same."""
    return (one.header["exact"] and other.header["exact"]
            and one.cases.keys() == other.cases.keys()
            and all(one.header[key] == other.header[key] for key in ("label", "suite", "seeds")))


def compare(one: stored.Stored, other: stored.Stored, exact: bool) -> list[Difference]:
    """Every Difference of two Stored."""
    label = other.label if one.label == other.label else "%s -> %s" % (one.label, other.label)
    if other.lost:
        return [Difference("lost", label, "", other.lost)]
    return [*compare_splats(label, one, other),
            *compare_cases(label, one.cases, other.cases, exact or repeats(one, other)),
            *compare_facts(label, one.facts, other.facts)]


def compare_new(made: stored.Stored) -> list[Difference]:
    """Every Difference of a Stored that there is nothing to compare with."""
    if made.lost:
        return [Difference("lost", made.label, "", made.lost)]
    found = [Difference("failure", made.label, case["case"], "new: " + outcome(case))
             for case in made.cases.values() if case["outcome"] in stored.BAD]
    found += [Difference("splat", made.label, "", line) for line in splats(made)]
    return [*found, Difference("new", made.label, "", "%d cases, %d facts" % (
        len(made.cases), len(made.facts)))]


def pairs(ones: list[stored.Stored],
          others: list[stored.Stored]) -> list[tuple[stored.Stored | None, stored.Stored | None]]:
    """(before, after) of two lists of Stored: each with that of its label, None where there is
    none; but one with one whatever they are. A run of kernels has lost no tool."""
    if len(ones) == len(others) == 1:
        return [(ones[0], others[0])]
    kinds = {made.header["kind"] for made in others}
    before = {made.label: made for made in ones if made.header["kind"] in kinds or not kinds}
    after = {made.label: made for made in others}
    return [(before.get(label), after.get(label)) for label in dict.fromkeys([*before, *after])]


def compare_pairs(found: list[tuple[stored.Stored | None, stored.Stored | None]],
                  exact: bool = False) -> Iterator[Difference]:
    """Every Difference of some pairs; exact: every count that changed is one."""
    for one, other in found:
        if one and other:
            yield from compare(one, other, exact)
        elif other:
            yield from compare_new(other)
        elif one:
            yield Difference("lost", one.label, "", "there before, not any more")
