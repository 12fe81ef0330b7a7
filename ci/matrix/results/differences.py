# SPDX-License-Identifier: GPL-2.0-only
"""Finds the differences between two stored results, and classifies them as regressions or not."""

import dataclasses
import difflib
import itertools
import json
import re
from typing import Any, Iterator

from ci.matrix.results import stored

# In the order of the output: (kind, whether it is a regression, title).
KINDS = (
    ("lost", True, "lost: no result at all"),
    ("splat", True, "new splats in the kernel's log"),
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
# The time and the processor of a line of a kernel's log: they differ between runs, so splats are
# compared without them. A line "cut here" has nothing but its time.
VARIES = re.compile(r"^\[ *\d+\.\d+\] (?!-*\[ cut here)|\b(?:CPU|PID): \d+ ?")


@dataclasses.dataclass(frozen=True)
class Difference:
    kind: str
    label: str
    name: str  # name of the case or the fact
    text: str


def format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def get_first_line(text: str) -> str:
    return text.split("\n", 1)[0][:200]


def format_outcome(case: dict[str, Any]) -> str:
    return "%s %s" % (case["outcome"], case["crashed"]) if case.get("crashed") else case["outcome"]


def compare_outcome(one: dict[str, Any], other: dict[str, Any]) -> tuple[str, str] | None:
    """Returns (kind, text) of a changed outcome, or None."""
    before, after = format_outcome(one), format_outcome(other)
    if before == after:
        return None
    text = "%s -> %s" % (before, after)
    if other["why"]:
        text += ": " + get_first_line(other["why"])
    if other["outcome"] in stored.BAD:
        return "failure", text
    if other["outcome"] == "SKIP":
        return "skipped", text
    if other["outcome"] == "PASS" and one["outcome"] != "XFAIL":
        return "fixed", text
    # XFAIL to PASS, or the reverse: the expectation changed.
    return "outcome", text


def is_judged(case: dict[str, Any]) -> bool:
    """Returns whether judging compared every expectation with a metric."""
    return bool(case["metrics"]) and case["outcome"] in (*GOOD, "FAIL", "XPASS")


def compare_expectations(one: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    """Yields a text for each changed range, each changed line of the definition, and a changed
    `control`. Compares ranges only if both cases were judged."""
    if is_judged(one) and is_judged(other):
        before, after = one["expect"], other["expect"]
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                yield "%s: %s -> %s" % (name, format_range(before.get(name)),
                                        format_range(after.get(name)))
    if one["control"] != other["control"]:
        yield "control: %s -> %s" % (format_value(one["control"]), format_value(other["control"]))
    for line in list_line_differences(one.get("definition"), other.get("definition")):
        yield "definition: %s %s" % (line[0], line[1:].strip())


def list_line_differences(before: str | None, after: str | None) -> list[str]:
    """Returns the removed and added lines of two texts, with "-" or "+" in front; None stands for a
    missing text."""
    old, new = ([] if text is None else text.split("\n") for text in (before, after))
    # The first two lines have the names of files.
    lines = itertools.islice(difflib.unified_diff(old, new, n=0), 2, None)
    return [line for line in lines if line[0] in "-+"]


def format_range(expected: list[Any] | None) -> str:
    if expected is None:
        return "none"
    least, most, unit = expected
    ends = ["" if end is None else "%g" % end for end in (least, most)]
    return "%s..%s %s" % (ends[0], ends[1], unit)


def format_metric(metric: list[int] | None) -> str:
    return "none" if metric is None else "/".join(str(number) for number in metric)


def collect_counts(case: dict[str, Any]) -> dict[str, list[int]]:
    """Returns every count of a case by its name, in the form of metrics: [k] or [k, n]."""
    return {
        **case["metrics"],
        **{"judged." + method: [count] for method, count in case["judged"].items()},
        **({"distinct": [case["distinct"]]} if "distinct" in case else {}),
        **{"verdict.%s.%s" % (method, name): [count]
           for method, verdicts in case["verdicts"].items() for name, count in verdicts.items()},
        **{"exceptions.%s.%s" % (metric, cause): [count]
           for metric, cause, count in case["exceptions"]}}


def compare_figures(one: dict[str, Any], other: dict[str, Any], exact: bool) -> Iterator[str]:
    """Yields a text for each changed count if @exact, otherwise for each rate that differs by more
    than chance."""
    before, after = collect_counts(one), collect_counts(other)
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if exact or (old and new and len(old) == len(new) == 2 and name not in stored.AREAS
                     and stored.differ_significantly(old, new)):
            yield "%s: %s -> %s" % (name, format_metric(old), format_metric(new))


def compare_cases(label: str, one: dict[str, dict[str, Any]], other: dict[str, dict[str, Any]],
                  exact: bool) -> Iterator[Difference]:
    for name in sorted(one.keys() | other.keys()):
        if name not in other:
            yield Difference("gone", label, name, "was " + format_outcome(one[name]))
            continue
        if name not in one:
            bad = other[name]["outcome"] in stored.BAD
            yield Difference("failure" if bad else "new", label, name,
                             "new: " + format_outcome(other[name]))
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
            yield Difference("new fact", label, name, format_value(other[name]["value"]))
        elif new is None:
            yield Difference("fact gone", label, name, "was " + format_value(old["value"]))
        # Python's == takes 1 for True and 1.0 for 1; JSON does not.
        elif json.dumps(old["value"]) != json.dumps(new["value"]):
            yield Difference("fact", label, name,
                             "%s -> %s" % (format_value(old["value"]), format_value(new["value"])))


def get_splats(made: stored.Stored) -> list[str]:
    """Returns the splats of a run, as lines of the kernel's log."""
    if made.header["outcome"] != "SPLAT":
        return []
    return made.header.get("reason", "SPLAT").split("\n")


def compare_splats(label: str, one: stored.Stored, other: stored.Stored) -> Iterator[Difference]:
    before = get_splats(one)
    known = {VARIES.sub("", line) for line in before}
    new = [line for line in get_splats(other) if VARIES.sub("", line) not in known]
    if new:
        yield Difference("splat", label, "", "%s -> %s" % (
            "\n".join(before) or one.header["outcome"], "\n".join(new)))


def is_exact_repeat(one: stored.Stored, other: stored.Stored) -> bool:
    """Returns whether @other repeats @one under virtual time, so that every changed count is a
    difference. With another kernel, seed or set of cases, all counts change."""
    return (one.header["exact"] and other.header["exact"]
            and one.cases.keys() == other.cases.keys()
            and all(one.header[key] == other.header[key] for key in ("label", "suite", "seeds")))


def compare(one: stored.Stored, other: stored.Stored, exact: bool) -> list[Difference]:
    """Returns every difference of two results."""
    label = other.label if one.label == other.label else "%s -> %s" % (one.label, other.label)
    if other.lost:
        return [Difference("lost", label, "", other.lost)]
    return [*compare_splats(label, one, other),
            *compare_cases(label, one.cases, other.cases, exact or is_exact_repeat(one, other)),
            *compare_facts(label, one.facts, other.facts)]


def compare_new(made: stored.Stored) -> list[Difference]:
    """Returns every difference of a result that has no older result of its label."""
    if made.lost:
        return [Difference("lost", made.label, "", made.lost)]
    found = [Difference("failure", made.label, case["case"], "new: " + format_outcome(case))
             for case in made.cases.values() if case["outcome"] in stored.BAD]
    found += [Difference("splat", made.label, "", line) for line in get_splats(made)]
    return [*found, Difference("new", made.label, "", "%d cases, %d facts" % (
        len(made.cases), len(made.facts)))]


def pair_results(ones: list[stored.Stored],
                 others: list[stored.Stored]
                 ) -> list[tuple[stored.Stored | None, stored.Stored | None]]:
    """Pairs the older and newer results of each label, with None where one is missing. Two single
    results are a pair whatever their labels are. Ignores older results of a kind that @others do
    not have: a run of kernels has lost no tool."""
    if len(ones) == len(others) == 1:
        return [(ones[0], others[0])]
    kinds = {made.header["kind"] for made in others}
    before = {made.label: made for made in ones if made.header["kind"] in kinds or not kinds}
    after = {made.label: made for made in others}
    return [(before.get(label), after.get(label)) for label in dict.fromkeys([*before, *after])]


def compare_pairs(found: list[tuple[stored.Stored | None, stored.Stored | None]],
                  exact: bool = False) -> Iterator[Difference]:
    """Yields every difference of the pairs. @exact: list every changed count."""
    for one, other in found:
        if one and other:
            yield from compare(one, other, exact)
        elif other:
            yield from compare_new(other)
        elif one:
            yield Difference("lost", one.label, "", "there before, not any more")
