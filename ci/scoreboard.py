#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Asks each profiler that is here every scene, and writes results/PROFILERS.md.

Usage: scoreboard.py [--profiler NAME]... [--keep DIR] [--from DIR] [--against DIR] [-o FILE]
	[SCORE_OPTION...]

Without --profiler: all adapters of the tree, and our own capture. What is missing is listed with
the command that would install it. SCORE_OPTIONs (--samples=N, a scene ...) go to `jitproof score`.
--keep leaves each score in DIR, --from renders those instead of taking new ones, --against says
where another folder of them has other verdicts, and ends with 1 then.
"""

import argparse
import datetime
import fnmatch
import itertools
import json
import os
import platform
import re
import sys
import tomllib
from typing import Any, Iterable, Iterator

sys.path.insert(0, os.path.abspath(__file__ + "/../.."))
from ci.base import files, process

ROOT = os.path.abspath(__file__ + "/../..")
COLUMNS = ("seen", "mapped", "right", "wrong", "whole", "invented", "tasks", "lost")
COUNTS = ("wrong", "invented", "tasks", "lost")
# Those of which an attach shows nothing (docs/profiler-adapters.md), or that always launch.
OPTIONS = {"eu_stackprof": ["--launch"], "codspeed_samply": ["--launch"]}
# Whose exceptions make a column red: how their metrics begin.
METRICS = {"seen": ("cpu.",), "mapped": ("coverage.", "broken."), "whole": ("broken.",),
           "right": ("names.", "load.", "callers."), "wrong": ("names.", "load.", "callers."),
           "invented": ("wrong.", "extra."), "lost": ("lost.",),
           "tasks": ("fork.", "exit.", "comm.", "threads.", "tasks.")}
# What users ask for, and the scene that shows it.
ASKED = (
    ("attach to older code", "anon_exec"), ("the same, RW then RX", "older_flip"),
    ("code in a memfd", "memfd_double"), ("a heap that grows", "coalesced_growth"),
    ("W^X toggled", "wx_toggle"), ("addresses used again", "address_reuse"),
    ("code that moves", "code_move"), ("fork", "prefork"), ("exec", "fork_exec"),
    ("short-lived processes", "short_lived"), ("pids used again", "pid_reuse"),
    ("container, from outside", "namespaces"), ("the same, nested", "nested"),
    ("container, from inside", "inside"), ("main thread gone", "thread_churn"),
    ("target ends first", "ends_first"), ("map written late", "map_late"),
    ("map written in part", "map_partial"), ("map of another owner", "map_owner"),
    ("deep stacks", "deep_stacks"), ("native frames between", "native_holes"),
    ("signals", "signals"), ("coroutines", "coroutines"))
HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-only -->
# Profilers: what does each make of every workload?

Measured by `make scoreboard` (`jitproof score`, docs/score.md), %s, Linux %s, %s. A cell
lists what is wrong; `ok`: nothing is; `-`: not asked; what a profiler cannot tell is not listed
(below). Percentages are of samples in emitted code, or of judged stacks; `wrong`, `invented`,
`tasks` and `lost` are counts.

"""

Score = dict[str, Any]
Row = dict[str, Any]


def adapters() -> list[str]:
    names = [name[:-3] for name in sorted(os.listdir(os.path.join(ROOT, "harness", "profiler")))
             if name.endswith(".py")]
    return ["jitproof"] + names


def take(binary: str, profiler: str, options: list[str]) -> str:
    """The score as JSON; or why there is none."""
    command = [binary, "score", "--profiler", profiler, "--json", "--seconds=15",
               *OPTIONS.get(profiler, []), *options]
    done = process.run(command, timeout=3600)
    return done.stdout if done.returncode == 0 else \
        done.stderr.strip().removeprefix("jitproof score: ")


def figure(column: str, cell: dict[str, Any]) -> str:
    if column in COUNTS:
        return "%s %d" % (column, cell["k"])
    return "%s %.3g %%" % (column, 100 * cell["k"] / cell["n"])


def was_judged(row: Row) -> bool:
    return "whole" in row or "seen" in row


def wrong_columns(row: Row) -> list[str]:
    """What is wrong in a scene; its outcome where it was not judged."""
    if not was_judged(row):
        return [row["outcome"]]
    return [column for column in COLUMNS if column in row and not row[column]["good"]]


def cell_of(row: Row | None) -> str:
    if not row or row["outcome"] == "SKIP":
        return "-"
    if not was_judged(row):
        return row["outcome"]
    return ", ".join(figure(column, row[column]) for column in wrong_columns(row)) or "ok"


def rows_of(score: Score) -> dict[str, Row]:
    return {row["workload"]: row for row in score["workloads"]}


def lines_of(scores: list[Score], asked: Iterable[tuple[str, str]], head: str) -> Iterator[str]:
    yield "| %s | %s |" % (head, " | ".join(score["profiler"] for score in scores))
    yield "|---" * (len(scores) + 1) + "|"
    for label, scene in asked:
        cells = [cell_of(rows_of(score).get(scene)) for score in scores]
        if any(cell != "-" for cell in cells):
            yield "| %s | %s |" % (label, " | ".join(cells))


def seen(score: Score) -> str:
    """Samples of all scenes against what the CPU time says."""
    cells = [row["seen"] for row in score["workloads"] if row.get("seen", {}).get("n")]
    return "%.0f %%" % (100 * sum(cell["k"] for cell in cells) / sum(cell["n"] for cell in cells)) \
        if cells else "-"


def cost(score: Score) -> str:
    told = [row for row in score["workloads"] if "cpu_ns" in row and row["watched_ns"]]
    return "%.1f %%" % (100 * sum(row["cpu_ns"] for row in told) /
                        sum(row["watched_ns"] for row in told)) if told else "-"


def tables(scores: list[Score]) -> Iterator[str]:
    yield "## What users ask for"
    yield ""
    yield from lines_of(scores, ASKED, "asked")
    yield "| samples of the CPU time burnt | %s |" % " | ".join(map(seen, scores))
    yield "| CPU time of the profiler | %s |" % " | ".join(map(cost, scores))
    others = sorted({row["workload"] for score in scores for row in score["workloads"]} -
                    {scene for _, scene in ASKED})
    yield from ("", "## The other workloads", "")
    yield from lines_of(scores, [(scene, scene) for scene in others], "workload")
    yield ""


def patterns(pattern: str) -> Iterator[str]:
    """Of `a{b,c}`: ab and ac."""
    before, brace, rest = pattern.partition("{")
    if not brace:
        yield pattern
        return
    inner, _, after = rest.partition("}")
    for one in inner.split(","):
        yield from patterns(before + one + after)


def fits(text: str, pattern: str) -> bool:
    return any(fnmatch.fnmatchcase(text, one) for one in patterns(pattern))


def reason(known: list[dict[str, str]], profiler: str, scene: str, cause: str) -> tuple[str, str]:
    for one in known:
        if fits(profiler, one.get("profiler", "*")) and fits(scene, one.get("scene", "*")) and \
                fits(cause, one["cause"]):
            return one["text"], one.get("thread", "")
    return "", ""


def causes(score: Score, known: list[dict[str, str]]) -> Iterator[str]:
    """Of each scene in which something is wrong: the most frequent causes, and why."""
    for row in score["workloads"]:
        if cell_of(row) in ("ok", "-"):
            continue
        begins = tuple(begin for column in wrong_columns(row) for begin in METRICS.get(column, ()))
        worst = sorted((one for one in row["exceptions"] if one["metric"].startswith(begins)),
                       key=lambda one: -one["count"])[:2]
        told = [("%s: %s" % (one["metric"], one["cause"]), " (%d)" % one["count"]) for one in worst]
        if not was_judged(row) or not told:
            # Where a program lies here is nobody's business.
            words = re.sub(r"/\S+/", "", row["why"].split("\n")[0])
            told = [("%s: %s" % (row["outcome"], words), "")
                    if not was_judged(row) else ("see the figures", "")]
        why = list(dict.fromkeys(reason(known, score["profiler"], row["workload"], cause)
                                 for cause, _ in told))
        yield "| %s | %s | %s | %s |" % (
            row["workload"], "; ".join(cause + count for cause, count in told).replace("|", "\\|"),
            "; ".join(text for text, _ in why if text),
            "; ".join(dict.fromkeys(thread for _, thread in why if thread)))


def skipped(score: Score) -> str:
    """What it declares to lack, by what was not judged for it."""
    lacks: dict[str, set[str]] = {}
    for row in score["workloads"]:
        for validator, lack in row["skipped"].items():
            lacks.setdefault(lack, set()).add(validator)
    return "; ".join("%s: %s" % (lack, ", ".join(sorted(names)))
                     for lack, names in sorted(lacks.items())) or "nothing"


def render(scores: list[Score], missing: dict[str, str], options: list[str], day: str,
           kernel: str, machine: str) -> str:
    known = tomllib.loads(files.read(os.path.join(ROOT, "results", "profilers.toml")))["known"]
    lines = [HEAD % (day, kernel, machine), *tables(scores)]
    for score in scores:
        command = " ".join(["jitproof score --profiler", score["profiler"],
                            *OPTIONS.get(score["profiler"], []), *options])
        lines += ["## %s %s" % (score["profiler"], score["version"]), "", "`%s`: %s." % (
            command, score["verdict"].split(": ", 1)[1]), "", "Not judged: %s." % skipped(score),
                  ""]
        found = list(causes(score, known))
        if found:
            lines += ["| workload | causes | why | threads |", "|---|---|---|---|", *found, ""]
    if missing:
        lines += ["## Not here", ""]
        lines += ["* %s: %s" % (name, why) for name, why in sorted(missing.items())]
    return "\n".join(lines).rstrip("\n") + "\n"


def collect(options: argparse.Namespace, more: list[str]) -> tuple[list[Score], dict[str, str]]:
    binary = os.path.join(os.path.abspath(os.environ.get("O", os.path.join(ROOT, "build"))),
                          "jitproof")
    scores, missing = [], {}
    for name in options.profiler or adapters():
        if options.kept:
            path = os.path.join(options.kept, name + ".json")
            said = files.read(path) if os.path.exists(path) else "not measured this time"
        else:
            print("%s ..." % name, flush=True)
            said = take(binary, name, more)
        if not said.startswith("{"):
            missing[name] = said
            continue
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
            files.write(os.path.join(options.keep, name + ".json"), said)
        scores.append(json.loads(said))
        print("  " + scores[-1]["verdict"], flush=True)
    return scores, missing


def differences(scores: list[Score], folder: str) -> Iterator[str]:
    """Where a score in @folder has other verdicts: of a scene, what is wrong in it."""
    for score in scores:
        path = os.path.join(folder, score["profiler"] + ".json")
        if not os.path.exists(path):
            continue
        ours, theirs = rows_of(score), rows_of(json.loads(files.read(path)))
        for scene in sorted(ours.keys() & theirs.keys()):
            cells = [wrong_columns(rows[scene]) for rows in (ours, theirs)]
            if cells[0] != cells[1]:
                yield "%s %s: %s, there %s" % (score["profiler"], scene, *(
                    ", ".join(cell) or "ok" for cell in cells))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profiler", action="append", default=[])
    parser.add_argument("--keep", metavar="DIR")
    parser.add_argument("--from", dest="kept", metavar="DIR")
    parser.add_argument("--against", metavar="DIR")
    parser.add_argument("-o", default=os.path.join(ROOT, "results", "PROFILERS.md"))
    parser.add_argument("--day", default=datetime.date.today().isoformat())
    options, more = parser.parse_known_args()
    scores, missing = collect(options, more)
    if not scores:
        print("no profiler is here")
        return 4
    files.write(options.o, render(scores, missing, more, options.day,
                                  platform.release().split("-")[0], platform.machine()))
    other = list(differences(scores, options.against)) if options.against else []
    for line in itertools.chain(other, ["%d verdicts differ" % len(other)] if options.against
                                else []):
        print(line)
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
