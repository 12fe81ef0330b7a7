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
REGRESSIONS = frozenset(kind for kind, is_bad, _ in KINDS if is_bad)
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


def compare_outcome(old: dict[str, Any], new: dict[str, Any]) -> tuple[str, str] | None:
    """Returns (kind, text) of a changed outcome, or None."""
    before, after = format_outcome(old), format_outcome(new)
    if before == after:
        return None
    text = "%s -> %s" % (before, after)
    if new["why"]:
        text += ": " + get_first_line(new["why"])
    if new["outcome"] in stored.BAD:
        return "failure", text
    if new["outcome"] == "SKIP":
        return "skipped", text
    if new["outcome"] == "PASS" and old["outcome"] != "XFAIL":
        return "fixed", text
    # XFAIL to PASS, or the reverse: the expectation changed.
    return "outcome", text


def is_judged(case: dict[str, Any]) -> bool:
    """Returns whether judging compared every expectation with a metric."""
    return bool(case["metrics"]) and case["outcome"] in (*GOOD, "FAIL", "XPASS")


def compare_expectations(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """Yields a text for each changed range, each changed line of the definition, and a changed
    `control`. Compares ranges only if both cases were judged."""
    if is_judged(old) and is_judged(new):
        before, after = old["expect"], new["expect"]
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                yield "%s: %s -> %s" % (name, format_range(before.get(name)),
                                        format_range(after.get(name)))
    if old["control"] != new["control"]:
        yield "control: %s -> %s" % (format_value(old["control"]), format_value(new["control"]))
    for line in list_line_differences(old.get("definition"), new.get("definition")):
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
    low, high, unit = expected
    ends = ["" if end is None else "%g" % end for end in (low, high)]
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


def compare_figures(old_figures: dict[str, Any], other: dict[str, Any],
                    exact: bool) -> Iterator[str]:
    """Yields a text for each changed count if @exact, otherwise for each rate that differs by more
    than chance."""
    before, after = collect_counts(old_figures), collect_counts(other)
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if exact or (old and new and len(old) == len(new) == 2 and name not in stored.AREAS
                     and stored.differ_significantly(old, new)):
            yield "%s: %s -> %s" % (name, format_metric(old), format_metric(new))


def compare_cases(label: str, old: dict[str, dict[str, Any]], new: dict[str, dict[str, Any]],
                  exact: bool) -> Iterator[Difference]:
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            yield Difference("gone", label, name, "was " + format_outcome(old[name]))
            continue
        if name not in old:
            is_bad = new[name]["outcome"] in stored.BAD
            yield Difference("failure" if is_bad else "new", label, name,
                             "new: " + format_outcome(new[name]))
            continue
        changed = compare_outcome(old[name], new[name])
        if changed:
            yield Difference(changed[0], label, name, changed[1])
        for text in compare_expectations(old[name], new[name]):
            yield Difference("expectation", label, name, text)
        for text in compare_figures(old[name], new[name], exact):
            yield Difference("figure", label, name, text)


def compare_facts(label: str, old_figures: dict[str, dict[str, Any]],
                  other: dict[str, dict[str, Any]]) -> Iterator[Difference]:
    for name in sorted(old_figures.keys() | other.keys()):
        old, new = old_figures.get(name), other.get(name)
        if old is None:
            yield Difference("new fact", label, name, format_value(other[name]["value"]))
        elif new is None:
            yield Difference("fact gone", label, name, "was " + format_value(old["value"]))
        # Python's == takes 1 for True and 1.0 for 1; JSON does not.
        elif json.dumps(old["value"]) != json.dumps(new["value"]):
            yield Difference("fact", label, name,
                             "%s -> %s" % (format_value(old["value"]), format_value(new["value"])))


def get_splats(cell: stored.Stored) -> list[str]:
    """Returns the splats of a run, as lines of the kernel's log."""
    if cell.header["outcome"] != "SPLAT":
        return []
    return cell.header.get("reason", "SPLAT").split("\n")


def compare_splats(label: str, old: stored.Stored, new_cell: stored.Stored) -> Iterator[Difference]:
    before = get_splats(old)
    old_texts = {VARIES.sub("", line) for line in before}
    new = [line for line in get_splats(new_cell) if VARIES.sub("", line) not in old_texts]
    if new:
        yield Difference("splat", label, "", "%s -> %s" % (
            "\n".join(before) or old.header["outcome"], "\n".join(new)))


def is_exact_repeat(old: stored.Stored, new: stored.Stored) -> bool:
    """Returns whether @other repeats @one under virtual time, so that every changed count is a
    difference. With another kernel, seed or set of cases, all counts change."""
    return (old.header["exact"] and new.header["exact"]
            and old.cases.keys() == new.cases.keys()
            and all(old.header[key] == new.header[key] for key in ("label", "suite", "seeds")))


def compare(old: stored.Stored, new: stored.Stored, exact: bool) -> list[Difference]:
    """Returns every difference of two results."""
    label = new.label if old.label == new.label else "%s -> %s" % (old.label, new.label)
    if new.lost:
        return [Difference("lost", label, "", new.lost)]
    return [*compare_splats(label, old, new),
            *compare_cases(label, old.cases, new.cases, exact or is_exact_repeat(old, new)),
            *compare_facts(label, old.facts, new.facts)]


def compare_new(cell: stored.Stored) -> list[Difference]:
    """Returns every difference of a result that has no older result of its label."""
    if cell.lost:
        return [Difference("lost", cell.label, "", cell.lost)]
    changes = [Difference("failure", cell.label, case["case"], "new: " + format_outcome(case))
             for case in cell.cases.values() if case["outcome"] in stored.BAD]
    changes += [Difference("splat", cell.label, "", line) for line in get_splats(cell)]
    return [*changes, Difference("new", cell.label, "", "%d cases, %d facts" % (
        len(cell.cases), len(cell.facts)))]


def pair_results(ones: list[stored.Stored],
                 new_cells: list[stored.Stored]
                 ) -> list[tuple[stored.Stored | None, stored.Stored | None]]:
    """Pairs the older and newer results of each label, with None where one is missing. Two single
    results are a pair whatever their labels are. Ignores older results of a kind that @new_cells do
    not have: a run of kernels has lost no tool."""
    if len(ones) == len(new_cells) == 1:
        return [(ones[0], new_cells[0])]
    kinds = {cell.header["kind"] for cell in new_cells}
    before = {cell.label: cell for cell in ones if cell.header["kind"] in kinds or not kinds}
    after = {cell.label: cell for cell in new_cells}
    return [(before.get(label), after.get(label)) for label in dict.fromkeys([*before, *after])]


def compare_pairs(pairs: list[tuple[stored.Stored | None, stored.Stored | None]],
                  exact: bool = False) -> Iterator[Difference]:
    """Yields every difference of the pairs. @exact: list every changed count."""
    for old, new in pairs:
        if old and new:
            yield from compare(old, new, exact)
        elif new:
            yield from compare_new(new)
        elif old:
            yield Difference("lost", old.label, "", "there before, not any more")
