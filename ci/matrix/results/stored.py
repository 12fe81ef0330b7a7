# SPDX-License-Identifier: GPL-2.0-only
"""Reads and writes the stored results of one kernel or tool: a header, cases and facts
(docs/matrix.md)."""

import dataclasses
import math
import os
import re
from typing import Any, Callable, Iterator, Mapping

from ci.base import jsonl
from ci.base.intervals import compute_wilson
from ci.base.status import Malformed
from ci.base.text import parse_numbers

FORMAT = 1
KINDS = ("kernel", "tool")
# Architectures whose name ends the label of a kernel (ci/matrix/matrix.toml).
ARCHITECTURES = ("aarch64", "riscv64")
# Best first: the worst outcome of several seeds is the outcome of the case.
OUTCOMES = ("PASS", "XFAIL", "SKIP", "XPASS", "ERROR", "TIMEOUT", "CRASH", "FAIL")
# Outcomes of complete runs. SPLAT: the kernel's log has a splat.
WHOLE = ("DONE", "SPLAT")
BAD = ("FAIL", "CRASH", "TIMEOUT", "ERROR", "XPASS")
ROOT = os.path.abspath(__file__ + "/../../../..")
FOLDER = os.path.join(ROOT, "results", "matrix")

Check = Callable[[Any], bool]
Keys = Mapping[str, tuple[Check, bool]]


def is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64


def is_text(value: object) -> bool:
    return isinstance(value, str)


def is_value(value: object, depth: int = 0) -> bool:
    """Returns whether a fact may have the value: null, a string, a number, or a list of those."""
    if isinstance(value, list):
        return depth == 0 and all(is_value(one, 1) for one in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (str, bool, int)) or value is None


def is_metric(value: object) -> bool:
    """Returns whether the value is [k] or [k, n]."""
    return (isinstance(value, list) and len(value) in (1, 2) and all(map(is_count, value))
            and (len(value) == 1 or value[0] <= value[1]))


def is_bound(value: object) -> bool:
    """Returns whether the value is a bound of a range: null, or a number of a count's size."""
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)
                             and abs(value) < 1 << 64)


def is_expect(value: object) -> bool:
    """Returns whether the value is [least, most, unit]; an open bound is null."""
    return (isinstance(value, list) and len(value) == 3 and value[2] in ("rate", "count")
            and all(map(is_bound, value[:2])))


def is_exception(value: object) -> bool:
    """Returns whether the value is [metric, cause, count]."""
    return (isinstance(value, list) and len(value) == 3 and is_text(value[0])
            and is_text(value[1]) and is_count(value[2]))


def list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def map_of(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def make_pattern_check(pattern: str) -> Check:
    return lambda value: is_text(value) and re.fullmatch(pattern, value) is not None


is_counts = map_of(is_count)
# Has the length and the characters that the release of a self-built kernel may have.
is_label = make_pattern_check(r"[0-9A-Za-z][0-9A-Za-z._+~-]{0,200}")
is_name = make_pattern_check(r"[0-9A-Za-z][0-9A-Za-z._+/-]{0,200}")
# key: (check of the value, whether the key is required)
HEADER: Keys = {
    "id": (is_label, True), "format": (lambda value: value == FORMAT, True),
    "kind": (lambda value: value in KINDS, True), "label": (is_label, True),
    "version": (is_text, True), "kernel": (is_text, True), "package": (is_text, True),
    "package_sha256": (is_text, False), "packages": (list_of(is_text), False),
    "sha256": (is_text, False), "qemu": (is_text, False), "qemu_package": (is_text, False),
    "accelerator": (is_text, True), "command": (is_text, True), "suite": (is_text, True),
    "seeds": (list_of(is_count), True), "outcome": (is_text, True), "reason": (is_text, False),
    "exact": (lambda value: isinstance(value, bool), True),
    "cases": (is_count, True), "facts": (is_count, True),
}
CASE: Keys = {
    "id": (is_text, True), "case": (is_name, True),
    "control": (lambda value: isinstance(value, bool), True),
    "outcome": (lambda value: value in OUTCOMES, True),
    "outcomes": (list_of(lambda value: value in OUTCOMES), True),
    "why": (is_text, True), "crashed": (is_text, False), "smp": (is_count, True),
    "judged": (is_counts, True), "distinct": (is_count, False),
    "metrics": (map_of(is_metric), True),
    "expect": (map_of(is_expect), True), "verdicts": (map_of(is_counts), True),
    "exceptions": (list_of(is_exception), True), "definition": (is_text, False),
}
FACT: Keys = {"id": (is_text, True), "fact": (is_name, True), "value": (is_value, True),
        "about": (is_text, False), "why": (is_text, False)}


def check(path: str, line: int, record: dict[str, Any], keys: Keys) -> None:
    """Raises Malformed if a key is missing or unknown, or its value has the wrong type."""
    for key, (is_valid, required) in keys.items():
        if required and key not in record:
            raise Malformed(path, line, "'%s' is missing" % key)
        if key in record and not is_valid(record[key]):
            raise Malformed(path, line, "'%s' cannot be %.60r" % (key, record[key]))
    for key in record:
        if key not in keys:
            raise Malformed(path, line, "unknown key '%.60s'" % key)


@dataclasses.dataclass
class Stored:
    """The results of one kernel or tool. @lines: the line of each record by its id, from 1."""
    path: str
    header: dict
    cases: dict
    facts: dict
    lines: dict = dataclasses.field(default_factory=dict)
    lost: str = ""  # why a run has no results

    @property
    def label(self) -> str:
        return self.header["label"]

    @property
    def sort_key(self) -> tuple[int, str, tuple[int, ...], str]:
        """A key to sort by: the kind, the architecture, then the version (6.9 before 6.12)."""
        return (KINDS.index(self.header["kind"]), find_architecture(self.label),
                parse_numbers(self.label), self.label)


def find_architecture(label: str) -> str:
    """Returns the architecture that a kernel's label names, or "" for x86-64."""
    return next((name for name in ARCHITECTURES if label.endswith("-" + name)), "")


def find_predecessor(kernels: list[Stored], at: int, fact: str) -> Stored | None:
    """Returns the kernel whose value of a fact is compared with that of kernels[at]: the one before
    of the same architecture; for the first of an architecture, the same version on x86-64."""
    label = kernels[at].label
    architecture = find_architecture(label)
    asked = [made for made in kernels[:at] if fact in made.facts]
    same = [made for made in asked if find_architecture(made.label) == architecture]
    return next(iter(same[-1:] or [made for made in asked
                                   if "%s-%s" % (made.label, architecture) == label]), None)


def make_case_id(label: str, name: str) -> str:
    return "%s case %s" % (label, name)


def make_fact_id(label: str, name: str) -> str:
    return "%s fact %s" % (label, name)


def list_records(stored: Stored) -> Iterator[dict[str, Any]]:
    """Yields the records of a stored file in their order, each with its id."""
    label = stored.label
    yield {"id": label, **stored.header, "cases": len(stored.cases), "facts": len(stored.facts)}
    for name in sorted(stored.cases):
        yield {"id": make_case_id(label, name), **stored.cases[name]}
    for name in sorted(stored.facts):
        yield {"id": make_fact_id(label, name), **stored.facts[name]}


def format_stored(stored: Stored) -> str:
    return "".join(map(jsonl.line_of, list_records(stored)))


def load(path: str) -> Stored:
    stored: Stored | None = None
    for line, record in jsonl.read(path):
        if stored is None:
            check(path, line, record, HEADER)
            if record["outcome"] not in WHOLE:
                raise Malformed(path, line, "'outcome' cannot be %.60r" % record["outcome"])
            stored = Stored(path, record, {}, {})
            wanted = record["label"]
        elif "case" in record:
            check(path, line, record, CASE)
            wanted = make_case_id(stored.label, record["case"])
            stored.cases[record["case"]] = record
        else:
            check(path, line, record, FACT)
            wanted = make_fact_id(stored.label, record["fact"])
            stored.facts[record["fact"]] = record
        if record["id"] != wanted:
            raise Malformed(path, line, "'id' is '%.100s'; expected '%s'" % (record["id"], wanted))
        if wanted in stored.lines:
            raise Malformed(path, line, "'%s' is in line %d already" % (
                wanted, stored.lines[wanted]))
        if "outcomes" in record and len(record["outcomes"]) != len(stored.header["seeds"]):
            raise Malformed(path, line, "%d outcomes of %d seeds" % (
                len(record["outcomes"]), len(stored.header["seeds"])))
        stored.lines[wanted] = line
    if stored is None:
        raise Malformed(path, 0, "is empty")
    for key, found in (("cases", stored.cases), ("facts", stored.facts)):
        if stored.header[key] != len(found):
            raise Malformed(path, 1, "the header announces %d %s, the file has %d" % (
                stored.header[key], key, len(found)))
    if os.path.basename(path) != stored.label + ".jsonl":
        raise Malformed(path, 1, "is '%s'; expected %s.jsonl" % (stored.label, stored.label))
    return stored


def load_folder(folder: str) -> list[Stored]:
    """Loads every stored file of a folder, in the order of tables."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise Malformed(folder, 0, error.strerror) from error
    found = [load(os.path.join(folder, name)) for name in names if name.endswith(".jsonl")]
    return sorted(found, key=lambda stored: stored.sort_key)


# Shares of an area of bytes and time. They count no trials, so they have no confidence interval.
AREAS = ("coverage.area",)


def differ_significantly(one: list[int], other: list[int]) -> bool:
    """Returns whether two values of a metric differ by more than chance: counts if they are not
    equal, rates if their 95 % intervals do not overlap."""
    if len(one) != len(other):
        return True
    if len(one) == 1:
        return one != other
    low, high = compute_wilson(*one), compute_wilson(*other)
    return low[1] < high[0] or high[1] < low[0]
