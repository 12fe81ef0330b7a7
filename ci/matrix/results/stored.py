# SPDX-License-Identifier: GPL-2.0-only
"""Reads and writes the stored results of one kernel or tool: a header, cases and facts
(docs/matrix.md)."""

import dataclasses
import os
from typing import Any, Iterator

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
COMPLETE = ("DONE", "SPLAT")
BAD = ("FAIL", "CRASH", "TIMEOUT", "ERROR", "XPASS")
ROOT = os.path.abspath(__file__ + "/../../../..")
FOLDER = os.path.join(ROOT, "results", "matrix")


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


def find_predecessor(kernels: list[Stored], index: int, fact: str) -> Stored | None:
    """Returns the kernel whose value of a fact is compared with that of kernels[at]: the one before
    of the same architecture; for the first of an architecture, the same version on x86-64."""
    label = kernels[index].label
    architecture = find_architecture(label)
    with_fact = [kernel for kernel in kernels[:index] if fact in kernel.facts]
    of_architecture = [cell for cell in with_fact if find_architecture(cell.label) == architecture]
    return next(iter(of_architecture[-1:] or [cell for cell in with_fact
                                   if "%s-%s" % (cell.label, architecture) == label]), None)


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
    try:
        return load_records(path)
    except KeyError as error:
        raise Malformed(path, 0, "a record lacks %s" % error) from error


def load_records(path: str) -> Stored:
    stored: Stored | None = None
    for line, record in jsonl.read(path):
        if stored is None:
            if record.get("format") != FORMAT or record["outcome"] not in COMPLETE:
                raise Malformed(path, line, "expected a header of format %d" % FORMAT)
            stored = Stored(path, record, {}, {})
            label = record["label"]
        elif "case" in record:
            label = make_case_id(stored.label, record["case"])
            stored.cases[record["case"]] = record
        else:
            label = make_fact_id(stored.label, record["fact"])
            stored.facts[record["fact"]] = record
        if record["id"] != label:
            raise Malformed(path, line, "'id' is '%.100s'; expected '%s'" % (record["id"], label))
        if label in stored.lines:
            raise Malformed(path, line, "'%s' is in line %d already" % (
                label, stored.lines[label]))
        stored.lines[label] = line
    if stored is None:
        raise Malformed(path, 0, "is empty")
    for key, loaded in (("cases", stored.cases), ("facts", stored.facts)):
        if stored.header[key] != len(loaded):
            raise Malformed(path, 1, "the header announces %d %s, the file has %d" % (
                stored.header[key], key, len(loaded)))
    if os.path.basename(path) != stored.label + ".jsonl":
        raise Malformed(path, 1, "is '%s'; expected %s.jsonl" % (stored.label, stored.label))
    return stored


def load_folder(folder: str) -> list[Stored]:
    """Loads every stored file of a folder, in the order of tables."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise Malformed(folder, 0, error.strerror) from error
    cells = [load(os.path.join(folder, name)) for name in names if name.endswith(".jsonl")]
    return sorted(cells, key=lambda stored: stored.sort_key)


# Shares of an area of bytes and time. They count no trials, so they have no confidence interval.
AREAS = ("coverage.area",)


def differ_significantly(a: list[int], b: list[int]) -> bool:
    """Returns whether two values of a metric differ by more than chance: counts if they are not
    equal, rates if their 95 % intervals do not overlap."""
    if len(a) != len(b):
        return True
    if len(a) == 1:
        return a != b
    low, high = compute_wilson(*a), compute_wilson(*b)
    return low[1] < high[0] or high[1] < low[0]
