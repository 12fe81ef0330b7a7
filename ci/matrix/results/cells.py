# SPDX-License-Identifier: GPL-2.0-only
"""Runs of the matrix: a folder for each cell, and what several seeds of one come to together."""

import collections
import os
import re
from typing import Any, Callable, Iterable, Iterator

from ci.base import jsonl
from ci.base.status import Malformed, Unusable
from ci.matrix.results import stored

CELL = "cell.json"
PARTIAL = ".partial"  # so the name of a cell ends until all of it is there
# What cell.json must hold; more of it goes into the header where it is there.
CELL_KEYS: stored.Keys = {"outcome": (stored.is_text, True), "seed": (stored.is_count, True),
                          "suite": (stored.is_text, True), "version": (stored.is_text, True)}
COPIED = ("package_sha256", "packages", "sha256", "qemu", "qemu_package")
# Of several seeds these must not differ.
SAME = ("kind", "label", "version", "kernel", "package", *COPIED, "accelerator", "suite", "exact")


class Partial(Unusable):
    """A run that must not be stored: it was lost, or is not whole."""


def find(folder: str) -> list[str]:
    """The folders of cells at or one level below folder, sorted."""
    folder = folder.rstrip("/") or "/"
    if os.path.isfile(os.path.join(folder, CELL)):
        return [folder]
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise Malformed(folder, 0, error.strerror) from error
    for name in names:
        if name.endswith(PARTIAL):
            raise Partial("%s: is still run, or was cut short" % os.path.join(folder, name))
    return [os.path.join(folder, name) for name in names
            if os.path.isfile(os.path.join(folder, name, CELL))]


def header_of(path: str, cell: dict[str, Any]) -> dict[str, Any]:
    """The header that a cell.json leads to."""
    kind = cell.get("kind", "kernel")
    # What a kernel is called is the label, too.
    named = "label" if kind == "tool" else "kernel"
    keys: stored.Keys = {**CELL_KEYS, named: (stored.is_label, True)}
    stored.check(path, 1, {key: cell[key] for key in keys if key in cell}, keys)
    accelerator = cell.get("accelerator", "")
    header = {
        "format": stored.FORMAT, "kind": kind, "label": cell[named],
        "version": cell["version"],
        "kernel": cell.get("kernel", "") if kind == "tool" else cell["version"],
        # A kernel that was given has no package.
        "package": cell.get("package") or "", **{key: cell.get(key) for key in COPIED},
        "accelerator": accelerator,
        # ci/matrix run counts instructions with TCG, so that the same run gives the same figures.
        "exact": str(accelerator).startswith("tcg"),
        "command": command_of(cell.get("command", "")), "suite": cell["suite"],
        "seeds": [cell["seed"]], "outcome": cell["outcome"], "reason": reason_of(cell),
        "cases": 0, "facts": 0}
    header = {key: value for key, value in header.items() if value is not None}
    stored.check(path, 1, {"id": header["label"], **header}, stored.HEADER)
    return header


def reason_of(cell: dict[str, Any]) -> str | None:
    """Why the outcome is none that is good: of the cell, and of the VMs that made it."""
    groups = cell.get("groups", [])
    said = [cell.get("reason")] + [group.get("reason") for group in groups
                                   if isinstance(group, dict)] if isinstance(groups, list) else []
    return "\n".join(str(text) for text in said if text) or None


def command_of(command: Any) -> Any:
    words = isinstance(command, list) and all(map(stored.is_text, command))
    return " ".join(command) if words else command


def metric_of(path: str, line: int, name: str, value: Any) -> list[int]:
    """[k] or [k, n] of a metric of results.jsonl."""
    short = [value[key] for key in ("k", "n") if key in value] if isinstance(value, dict) else []
    if not stored.is_metric(short):
        raise Malformed(path, line, "metric '%.60s' cannot be %.60r" % (name, value))
    return short


def expect_of(path: str, line: int, name: str, value: dict[str, Any]) -> list[Any]:
    """[least, most, unit] of a metric that is expected to be something."""
    ends = value["expect"]
    made = [*ends, value.get("unit")] if isinstance(ends, list) else ends
    if not stored.is_expect(made):
        raise Malformed(path, line, "'expect' of '%.60s' cannot be %.60r" % (name, made))
    return made


def exceptions_of(path: str, line: int, result: Any) -> list[Any]:
    """Sorted, each as [metric, cause, count]."""
    made = [[one.get("metric"), one.get("cause"), one.get("count")]
            if isinstance(one, dict) else one
            for one in part(path, line, result, "exceptions", list)]
    for one in made:
        # What is none has no order either.
        if not stored.is_exception(one):
            raise Malformed(path, line, "an exception cannot be %.60r" % (one,))
    return sorted(made)


def case_of(path: str, line: int, result: Any, smp: int, definition: str) -> dict[str, Any]:
    """A line of results.jsonl as a stored case."""
    metrics, expect = {}, {}
    for name, value in sorted(part(path, line, result, "metrics", dict).items()):
        metrics[name] = metric_of(path, line, name, value)
        if "expect" in value:
            expect[name] = expect_of(path, line, name, value)
    judged = {name.removeprefix("judged."): metrics.pop(name)[0]
              for name in list(metrics) if name.startswith("judged.")}
    made = {
        "case": result.get("case"), "control": result.get("control"),
        "outcome": result.get("outcome"), "outcomes": [result.get("outcome")],
        "why": without_paths(part(path, line, result, "why", str), os.path.dirname(path)),
        "crashed": result.get("crashed"), "smp": smp,
        "judged": judged, "distinct": next(iter(metrics.pop("distinct", [])), None),
        "metrics": metrics,
        "expect": expect, "verdicts": part(path, line, result, "verdicts", dict),
        "exceptions": exceptions_of(path, line, result),
        "definition": definition}
    made = {key: value for key, value in made.items() if value is not None}
    stored.check(path, line, {"id": "", **made}, stored.CASE)
    return made


def part(path: str, line: int, result: Any, key: str, kind: type) -> Any:
    value = result.get(key, kind())
    if not isinstance(value, kind):
        raise Malformed(path, line, "'%s' cannot be %.60r" % (key, value))
    return value


def without_paths(text: str, folder: str) -> str:
    """Where a run lay is its machine's alone. Only whole paths: 6.1 is no part of 6.12, and the
    same wherever this is called from."""
    own = re.escape(os.path.abspath(folder))
    return re.sub(r"(?<![\w.+~-])%s(?:%s)?(?![\w+~-]|\.\w)" % (own, re.escape(PARTIAL)),
                  "DIR", text)


def kept(folder: str, name: str) -> str | None:
    """Where the folder of a case is; None where it was not kept."""
    for path in (os.path.join(folder, "cases", name), os.path.join(folder, name)):
        if ".." not in name and os.path.isdir(path):
            return path
    return None


def definition_of(folder: str) -> str:
    """What the case was run as."""
    path = os.path.join(folder, "case")
    try:
        return jsonl.read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(path, 0, "is no UTF-8: %s" % error) from error


def processors_of(folder: str) -> Any:
    """On how many processors the case ran."""
    path = os.path.join(folder, "env.json")
    count = jsonl.read_one(path).get("cpus")
    if not stored.is_count(count):
        raise Malformed(path, 1, "'cpus' cannot be %.60r" % (count,))
    return count


def announced(folder: str) -> int:
    """How many cases ktap.txt says there are."""
    path = os.path.join(folder, "ktap.txt")
    plan = re.search(rb"^1\.\.(\d{1,6})$", jsonl.read_bytes(path), re.M)
    if not plan:
        raise Malformed(path, 0, "announces no number of cases")
    return int(plan.group(1))


def load_facts(folder: str) -> dict[str, dict[str, Any]]:
    path = os.path.join(folder, "facts.jsonl")
    found = {}
    for line, record in jsonl.read(path):
        made = {key: record[key] for key in ("fact", "value", "why", "about") if key in record}
        stored.check(path, line, {"id": "", **made}, stored.FACT)
        if made["fact"] in found:
            raise Malformed(path, line, "fact '%s' stands there already" % made["fact"])
        found[made["fact"]] = made
    return found


def load(folder: str) -> stored.Stored:
    """One cell as it would be stored. A lost one has nothing but the reason."""
    path = os.path.join(folder, CELL)
    header = header_of(path, jsonl.read_one(path))
    made = stored.Stored(folder, header, {}, {})
    if header["outcome"] not in stored.WHOLE:
        made.lost = "%s: %s" % (header["outcome"], header.get("reason", "no reason given"))
        return made
    results = os.path.join(folder, "results.jsonl")
    for line, result in jsonl.read(results):
        name = result.get("case")
        if not stored.is_name(name):
            raise Malformed(results, line, "'case' cannot be %.60r" % (name,))
        if name in made.cases:
            raise Malformed(results, line, "case '%s' stands there already" % name)
        own = kept(folder, name)
        if not own:
            raise Malformed(results, line, "case '%s' has no folder" % name)
        made.cases[name] = case_of(results, line, result, processors_of(own), definition_of(own))
    if header["kind"] == "kernel" and os.path.exists(os.path.join(folder, "facts.jsonl")):
        made.facts = load_facts(folder)
    plan = announced(folder)
    if plan != len(made.cases):
        made.lost = "PARTIAL: ktap.txt announces %d cases, results.jsonl has %d" % (
            plan, len(made.cases))
    return made


def load_whole(folder: str) -> stored.Stored:
    made = load(folder)
    if made.lost:
        raise Partial("%s: %s" % (folder, made.lost))
    if made.header["kind"] == "kernel" and not made.facts:
        raise Partial("%s: has no facts.jsonl: its facts were not asked" % folder)
    return made


def sum_metrics(several: Iterator[Any]) -> dict[str, list[int]]:
    """k and n of each metric over all that have it."""
    total: dict[Any, Any] = {}
    for metrics in several:
        for name, value in metrics.items():
            before = total.get(name, [0] * len(value))
            if len(before) != len(value):
                raise Partial("metric %s is a rate with one seed, a count with another" % name)
            total[name] = [one + other for one, other in zip(before, value)]
    return dict(sorted(total.items()))


def sum_counts(several: Iterator[Any]) -> dict[str, int]:
    total: collections.Counter[Any] = collections.Counter()
    for counts in several:
        total.update(counts)
    return dict(sorted(total.items()))


def why_of(seeds: list[int], cases: list[dict[str, Any]], outcome: str) -> str:
    """Of the seeds that came out worst; said once where all say the same."""
    said = [(seed, case["why"]) for seed, case in zip(seeds, cases) if case["outcome"] == outcome]
    if len({text for _, text in said}) == 1:
        return said[0][1]
    return "\n".join("seed %d: %s" % (seed, text) for seed, text in said)


def merge_case(seeds: list[int], cases: list[dict[str, Any]]) -> dict[str, Any]:
    first = cases[0]
    for key in ("control", "smp", "definition"):
        if any(case.get(key) != first.get(key) for case in cases):
            raise Partial("%s: '%s' differs between seeds" % (first["case"], key))
    outcome = max((case["outcome"] for case in cases), key=stored.OUTCOMES.index)
    distinct = [case["distinct"] for case in cases if "distinct" in case]
    exceptions = sum_counts({(one[0], one[1]): one[2] for one in case["exceptions"]}
                            for case in cases)
    # A case that was not judged with one seed has no expectations there.
    expect = dict(collections.ChainMap(*(case["expect"] for case in reversed(cases))))
    made = {
        "case": first["case"], "control": first["control"], "outcome": outcome,
        "outcomes": [case["outcome"] for case in cases], "why": why_of(seeds, cases, outcome),
        "crashed": next((case["crashed"] for case in cases if case.get("crashed")), None),
        "smp": first["smp"], "judged": sum_counts(case["judged"] for case in cases),
        # The same pairs come again with each seed: the least is what every seed has.
        "distinct": min(distinct) if distinct else None,
        "metrics": sum_metrics(case["metrics"] for case in cases),
        "expect": dict(sorted(expect.items())),
        "verdicts": {method: sum_counts(case["verdicts"].get(method, {}) for case in cases)
                     for method in sorted({name for case in cases for name in case["verdicts"]})},
        "exceptions": [[*key, count] for key, count in exceptions.items()],
        "definition": first.get("definition")}
    return {key: value for key, value in made.items() if value is not None}


def merge(several: list[stored.Stored]) -> stored.Stored:
    """The runs of one kernel or tool with different seeds, as one."""
    several = sorted(several, key=lambda made: made.header["seeds"])
    first = several[0]
    seeds = [seed for made in several for seed in made.header["seeds"]]
    if len(set(seeds)) != len(seeds):
        raise Partial("%s: seed %d is there twice" % (
            first.label, next(seed for seed in seeds if seeds.count(seed) > 1)))
    for other in several[1:]:
        for key in SAME:
            if first.header.get(key) != other.header.get(key):
                raise Partial("%s: '%s' differs: %.100r in %s, %.100r in %s" % (
                    first.label, key, first.header.get(key), first.path, other.header.get(key),
                    other.path))
        if first.cases.keys() != other.cases.keys():
            name = sorted(first.cases.keys() ^ other.cases.keys())[0]
            raise Partial("%s: case %s was not run with all seeds" % (first.label, name))
        # What varies with the seed is chance, and no fact of the kernel.
        for name in sorted(first.facts.keys() | other.facts.keys()):
            if first.facts.get(name) != other.facts.get(name):
                raise Partial("%s: fact %s differs between seeds" % (first.label, name))
    # Each shows a part of it again.
    commands = dict.fromkeys(made.header["command"] for made in several)
    header = {**first.header, "seeds": seeds, "command": "; ".join(commands),
              "outcome": max((made.header["outcome"] for made in several),
                             key=stored.WHOLE.index)}
    reasons = [made.header["reason"] for made in several if "reason" in made.header]
    if reasons:
        header["reason"] = "\n".join(dict.fromkeys(reasons))
    cases = {name: merge_case(seeds, [made.cases[name] for made in several])
             for name in sorted(first.cases)}
    return stored.Stored(first.path, header, cases, first.facts)


def by_label(several: Iterable[stored.Stored],
             one: Callable[[list[stored.Stored]], stored.Stored]) -> list[stored.Stored]:
    """The runs of each label as one, in the order of tables."""
    found: dict[str, list[stored.Stored]] = {}
    for made in several:
        found.setdefault(made.label, []).append(made)
    return sorted(map(one, found.values()), key=lambda made: made.order)
