# SPDX-License-Identifier: GPL-2.0-only
"""Reads the folders of cells of matrix runs, and merges the runs of one cell with several seeds."""

import collections
import os
import re
from typing import Any, Callable, Iterable, Iterator

from ci.base import jsonl
from ci.base.status import Malformed, Unusable
from ci.matrix.results import stored

CELL = "cell.json"
PARTIAL = ".partial"  # suffix of a cell's folder until the folder is complete
# Optional keys of cell.json that the header copies.
COPIED = ("package_sha256", "packages", "sha256", "qemu", "qemu_package")
# Keys of the header that must have the same value for all seeds.
COMMON = ("kind", "label", "version", "kernel", "package", *COPIED, "accelerator", "suite", "exact")


class Partial(Unusable):
    """A run that must not be stored: it was lost or is incomplete."""


def find_cells(folder: str) -> list[str]:
    """Returns the folders of cells at or one level below @folder, sorted."""
    folder = folder.rstrip("/") or "/"
    if os.path.isfile(os.path.join(folder, CELL)):
        return [folder]
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise Malformed(folder, 0, error.strerror) from error
    for name in names:
        if name.endswith(PARTIAL):
            raise Partial("%s: the run is not finished" % os.path.join(folder, name))
    return [os.path.join(folder, name) for name in names
            if os.path.isfile(os.path.join(folder, name, CELL))]


def find_cells_of_runs(folders: list[str]) -> Iterator[str]:
    """Yields the folders of cells of each run; each must have a cell."""
    for folder in folders:
        cells = find_cells(folder)
        if not cells:
            raise Partial("%s: no %s is in it or one level below" % (folder, CELL))
        yield from cells


def make_header(cell: dict[str, Any]) -> dict[str, Any]:
    """Makes the header of a stored file from the content of cell.json."""
    kind = cell.get("kind", "kernel")
    accelerator, command = cell.get("accelerator", ""), cell.get("command", "")
    header = {
        "format": stored.FORMAT, "kind": kind,
        "label": cell["label" if kind == "tool" else "kernel"], "version": cell["version"],
        "kernel": cell.get("kernel", "") if kind == "tool" else cell["version"],
        # A kernel given by its path has no package.
        "package": cell.get("package") or "", **{key: cell.get(key) for key in COPIED},
        "accelerator": accelerator,
        # With TCG, ci/matrix run counts instructions: the same run gives the same figures.
        "exact": str(accelerator).startswith("tcg"),
        "command": command if isinstance(command, str) else " ".join(command),
        "suite": cell["suite"],
        "seeds": [cell["seed"]], "outcome": cell["outcome"], "reason": join_reasons(cell),
        "cases": 0, "facts": 0}
    return {key: value for key, value in header.items() if value is not None}


def join_reasons(cell: dict[str, Any]) -> str | None:
    reasons = [part.get("reason") for part in (cell, *cell.get("groups", ()))]
    return "\n".join(text for text in reasons if text) or None


def convert_case(path: str, result: dict[str, Any], smp: int, definition: str) -> dict[str, Any]:
    """Converts a line of results.jsonl to a stored case: metrics as [k] or [k, n], expected ranges
    as [least, most, unit], exceptions as [metric, cause, count]. @smp: number of processors."""
    metrics, expect = {}, {}
    for name, value in sorted(result.get("metrics", {}).items()):
        metrics[name] = [value[key] for key in ("k", "n") if key in value]
        if "expect" in value:
            expect[name] = [*value["expect"], value["unit"]]
    judged = {name.removeprefix("judged."): metrics.pop(name)[0]
              for name in list(metrics) if name.startswith("judged.")}
    converted = {
        "case": result["case"], "control": result["control"],
        "outcome": result["outcome"], "outcomes": [result["outcome"]],
        "why": replace_paths(result.get("why", ""), os.path.dirname(path)),
        "crashed": result.get("crashed"), "smp": smp,
        "judged": judged, "distinct": next(iter(metrics.pop("distinct", [])), None),
        "metrics": metrics, "expect": expect, "verdicts": result.get("verdicts", {}),
        "exceptions": sorted([exception["metric"], exception["cause"], exception["count"]]
                             for exception in result.get("exceptions", ())),
        "definition": definition}
    return {key: value for key, value in converted.items() if value is not None}


def replace_paths(text: str, folder: str) -> str:
    """Replaces the path of a run, which differs between machines, by DIR. Replaces whole paths
    only: 6.1 is no part of 6.12. The result does not depend on the current directory."""
    own_path = re.escape(os.path.abspath(folder))
    return re.sub(r"(?<![\w.+~-])%s(?:%s)?(?![\w+~-]|\.\w)" % (own_path, re.escape(PARTIAL)),
                  "DIR", text)


def find_case_folder(folder: str, name: str) -> str | None:
    """Returns the path of a case's folder, or None if it was not kept."""
    for path in (os.path.join(folder, "cases", name), os.path.join(folder, name)):
        if ".." not in name and os.path.isdir(path):
            return path
    return None


def read_plan(folder: str) -> int:
    """Reads the number of cases that ktap.txt announces."""
    path = os.path.join(folder, "ktap.txt")
    plan = re.search(rb"^1\.\.(\d{1,6})$", jsonl.read_bytes(path), re.M)
    if not plan:
        raise Malformed(path, 0, "announces no number of cases")
    return int(plan.group(1))


def load_facts(folder: str) -> dict[str, dict[str, Any]]:
    return {record["fact"]: {key: record[key] for key in ("fact", "value", "why", "about")
                             if key in record}
            for _, record in jsonl.read(os.path.join(folder, "facts.jsonl"))}


def load(folder: str) -> stored.Stored:
    """Loads a cell as it would be stored. If the run was lost, the result has only the reason."""
    path = os.path.join(folder, CELL)
    try:
        return load_results(folder, make_header(jsonl.read_one(path)))
    except KeyError as error:
        raise Malformed(folder, 0, "a file lacks %s" % error) from error


def load_results(folder: str, header: dict[str, Any]) -> stored.Stored:
    stored_cell = stored.Stored(folder, header, {}, {})
    if header["outcome"] not in stored.COMPLETE:
        stored_cell.lost = "%s: %s" % (header["outcome"], header.get("reason", "no reason given"))
        return stored_cell
    results = os.path.join(folder, "results.jsonl")
    for line, result in jsonl.read(results):
        name = result["case"]
        case_folder = find_case_folder(folder, name)
        if not case_folder:
            raise Malformed(results, line, "case '%s' has no folder" % name)
        stored_cell.cases[name] = convert_case(
            results, result, jsonl.read_one(os.path.join(case_folder, "env.json"))["cpus"],
            jsonl.read_bytes(os.path.join(case_folder, "case")).decode())
    if header["kind"] == "kernel" and os.path.exists(os.path.join(folder, "facts.jsonl")):
        stored_cell.facts = load_facts(folder)
    plan = read_plan(folder)
    if plan != len(stored_cell.cases):
        stored_cell.lost = "PARTIAL: ktap.txt announces %d cases, results.jsonl has %d" % (
            plan, len(stored_cell.cases))
    return stored_cell


def load_whole(folder: str) -> stored.Stored:
    result = load(folder)
    if result.lost:
        raise Partial("%s: %s" % (folder, result.lost))
    if result.header["kind"] == "kernel" and not result.facts:
        raise Partial("%s: has no facts.jsonl: `jitproof facts` did not run" % folder)
    return result


def sum_metrics(figures: Iterator[Any]) -> dict[str, list[int]]:
    total: dict[Any, Any] = {}
    for metrics in figures:
        for name, value in metrics.items():
            before = total.get(name, [0] * len(value))
            if len(before) != len(value):
                raise Partial("metric %s is a rate with one seed, a count with another" % name)
            total[name] = [first + second for first, second in zip(before, value)]
    return dict(sorted(total.items()))


def sum_counts(figures: Iterator[Any]) -> dict[str, int]:
    total: collections.Counter[Any] = collections.Counter()
    for counts in figures:
        total.update(counts)
    return dict(sorted(total.items()))


def merge_reasons(seeds: list[int], cases: list[dict[str, Any]], outcome: str) -> str:
    """Returns the reasons of the seeds that have the outcome; a common reason only once."""
    reasons = [(seed, case["why"]) for seed, case in zip(seeds, cases)
               if case["outcome"] == outcome]
    if len({text for _, text in reasons}) == 1:
        return reasons[0][1]
    return "\n".join("seed %d: %s" % reason for reason in reasons)


def merge_case(seeds: list[int], cases: list[dict[str, Any]]) -> dict[str, Any]:
    first = cases[0]
    for key in ("control", "smp", "definition"):
        if any(case.get(key) != first.get(key) for case in cases):
            raise Partial("%s: '%s' differs between seeds" % (first["case"], key))
    outcome = max((case["outcome"] for case in cases), key=stored.OUTCOMES.index)
    distinct = [case["distinct"] for case in cases if "distinct" in case]
    exceptions = sum_counts({(exception[0], exception[1]): exception[2] for exception
                             in case["exceptions"]}
                            for case in cases)
    # A case that was not judged with a seed has no expectations for that seed.
    expect = dict(collections.ChainMap(*(case["expect"] for case in reversed(cases))))
    merged = {
        "case": first["case"], "control": first["control"], "outcome": outcome,
        "outcomes": [case["outcome"] for case in cases],
        "why": merge_reasons(seeds, cases, outcome),
        "crashed": next((case["crashed"] for case in cases if case.get("crashed")), None),
        "smp": first["smp"], "judged": sum_counts(case["judged"] for case in cases),
        # Seeds share pairs, and a sum would count these twice: take the minimum, which every seed
        # has.
        "distinct": min(distinct) if distinct else None,
        "metrics": sum_metrics(case["metrics"] for case in cases),
        "expect": dict(sorted(expect.items())),
        "verdicts": {method: sum_counts(case["verdicts"].get(method, {}) for case in cases)
                     for method in sorted({name for case in cases for name in case["verdicts"]})},
        "exceptions": [[*key, count] for key, count in exceptions.items()],
        "definition": first.get("definition")}
    return {key: value for key, value in merged.items() if value is not None}


def merge_seeds(several: list[stored.Stored]) -> stored.Stored:
    """Merges the runs of one kernel or tool with different seeds."""
    several = sorted(several, key=lambda cell: cell.header["seeds"])
    first = several[0]
    seeds = [seed for cell in several for seed in cell.header["seeds"]]
    if len(set(seeds)) != len(seeds):
        raise Partial("%s: seed %d is there twice" % (
            first.label, next(seed for seed in seeds if seeds.count(seed) > 1)))
    for other_cell in several[1:]:
        for key in COMMON:
            if first.header.get(key) != other_cell.header.get(key):
                raise Partial("%s: '%s' differs: %.100r in %s, %.100r in %s" % (
                    first.label, key, first.header.get(key), first.path, other_cell.header.get(key),
                    other_cell.path))
        if first.cases.keys() != other_cell.cases.keys():
            name = sorted(first.cases.keys() ^ other_cell.cases.keys())[0]
            raise Partial("%s: case %s was not run with all seeds" % (first.label, name))
        # If a fact varies with the seed, it is not a property of the kernel.
        for name in sorted(first.facts.keys() | other_cell.facts.keys()):
            if first.facts.get(name) != other_cell.facts.get(name):
                raise Partial("%s: fact %s differs between seeds" % (first.label, name))
    # The command of each seed repeats the runs of that seed.
    commands = dict.fromkeys(cell.header["command"] for cell in several)
    header = {**first.header, "seeds": seeds, "command": "; ".join(commands),
              "outcome": max((cell.header["outcome"] for cell in several),
                             key=stored.COMPLETE.index)}
    reasons = [cell.header["reason"] for cell in several if "reason" in cell.header]
    if reasons:
        header["reason"] = "\n".join(dict.fromkeys(reasons))
    cases = {name: merge_case(seeds, [cell.cases[name] for cell in several])
             for name in sorted(first.cases)}
    return stored.Stored(first.path, header, cases, first.facts)


def group_by_label(figures: Iterable[stored.Stored],
                   merge: Callable[[list[stored.Stored]], stored.Stored]) -> list[stored.Stored]:
    """Merges the runs of each label with @merge. Returns them in the order of tables."""
    groups: dict[str, list[stored.Stored]] = {}
    for cell in figures:
        groups.setdefault(cell.label, []).append(cell)
    return sorted(map(merge, groups.values()), key=lambda cell: cell.sort_key)
