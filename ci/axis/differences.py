# SPDX-License-Identifier: GPL-2.0-only
"""What differs between two stored results, and whether that is a regression."""

import dataclasses
import json

from axis import stored

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
GOOD = ("PASS", "XFAIL")


@dataclasses.dataclass(frozen=True)
class Difference:
    kind: str
    label: str
    name: str  # of the case or the fact
    text: str


def short(value):
    return value if isinstance(value, str) else json.dumps(value)


def first_line(text):
    return text.split("\n", 1)[0][:200]


def outcome(case):
    return "%s %s" % (case["outcome"], case["crashed"]) if case.get("crashed") else case["outcome"]


def compare_outcome(one, other):
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


def judged(case):
    """Whether every expectation was held against a figure."""
    return bool(case["metrics"]) and case["outcome"] in (*GOOD, "FAIL", "XPASS")


def compare_expectations(one, other):
    """Texts: of each range that changed, or of the definition. A range says nothing where a case
    was not judged."""
    if judged(one) and judged(other):
        before, after = one["expect"], other["expect"]
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                yield "%s: %s -> %s" % (name, told(before.get(name)), told(after.get(name)))
    before, after = one.get("definition"), other.get("definition")
    if before is not None and after is not None and before != after:
        removed = set(before.split("\n")) - set(after.split("\n"))
        added = set(after.split("\n")) - set(before.split("\n"))
        for sign, lines in (("-", removed), ("+", added)):
            for line in sorted(lines):
                yield "definition: %s %s" % (sign, line.strip())


def told(expected):
    if expected is None:
        return "none"
    least, most, unit = expected
    ends = ["" if end is None else "%g" % end for end in (least, most)]
    return "%s..%s %s" % (*ends, unit)


def figure(metric):
    return "none" if metric is None else "/".join(str(number) for number in metric)


def figures_of(case):
    """Every count of a case by a name, as metrics are."""
    found = dict(case["metrics"])
    found.update({"judged." + method: [count] for method, count in case["judged"].items()})
    if "distinct" in case:
        found["distinct"] = [case["distinct"]]
    for method, verdicts in case["verdicts"].items():
        found.update({"verdict.%s.%s" % (method, name): [count]
                      for name, count in verdicts.items()})
    for metric, cause, count in case["exceptions"]:
        found["exceptions.%s.%s" % (metric, cause)] = [count]
    return found


def compare_figures(one, other, exact):
    """Texts. Exact: under virtual time every count that changed says something; else only rates
    do that differ by more than chance."""
    before, after = figures_of(one), figures_of(other)
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        rates = old and new and len(old) == len(new) == 2 and name not in stored.AREAS
        if exact or (rates and stored.apart(old, new)):
            yield "%s: %s -> %s" % (name, figure(old), figure(new))


def compare_cases(label, one, other, exact):
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


def compare_facts(label, one, other):
    for name in sorted(one.keys() | other.keys()):
        old, new = one.get(name), other.get(name)
        if new is None:
            yield Difference("fact gone", label, name, "was " + short(old["value"]))
        elif old is None:
            yield Difference("new fact", label, name, short(new["value"]))
        # 1 is not true, and 1.0 is not 1.
        elif json.dumps(old["value"]) != json.dumps(new["value"]):
            yield Difference("fact", label, name,
                             "%s -> %s" % (short(old["value"]), short(new["value"])))


def compare(one, other):
    """Every Difference of two Stored."""
    label = other.label if one.label == other.label else "%s -> %s" % (one.label, other.label)
    if other.lost and not one.lost:
        return [Difference("lost", label, "", other.lost)]
    # Of two kernels no count is the same.
    exact = one.header["exact"] and other.header["exact"] and one.label == other.label
    splat = [Difference("splat", label, "", "%s -> %s" % (
        one.header["outcome"], other.header.get("reason", other.header["outcome"])))
             ] if other.header["outcome"] == "SPLAT" != one.header["outcome"] else []
    return [*splat, *compare_cases(label, one.cases, other.cases, exact),
            *compare_facts(label, one.facts, other.facts)]


def compare_sets(ones, others):
    """Of two lists of Stored: each with that of its label, but one with one whatever they are."""
    if len(ones) == len(others) == 1:
        return compare(ones[0], others[0])
    before = {made.label: made for made in ones}
    after = {made.label: made for made in others}
    found = []
    for label in [*before, *(label for label in after if label not in before)]:
        if label not in after:
            found.append(Difference("lost", label, "", "there before, not any more"))
        elif label in before:
            found += compare(before[label], after[label])
        elif after[label].lost:
            found.append(Difference("lost", label, "", after[label].lost))
        else:
            bad = [case for case in after[label].cases.values() if case["outcome"] in stored.BAD]
            found += [Difference("failure", label, case["case"], "new: " + outcome(case))
                      for case in bad]
            if after[label].header["outcome"] == "SPLAT":
                found.append(Difference("splat", label, "", after[label].header["reason"]))
            found.append(Difference("new", label, "", "%d cases, %d facts" % (
                len(after[label].cases), len(after[label].facts))))
    return found
