# SPDX-License-Identifier: GPL-2.0-only
"""What the validators, who know the truth, found: the worst cause of broken stacks, and that of
missing names."""

import collections
import os
import re
import shutil
import tempfile
from typing import Any, Iterator

from ci.base import files, jsonl, process
from ci.causes import words

NOTE = 0.02  # of the samples: below it a cause is a note
# Metrics of exceptions that are samples without their name.
NAMES = ("names.unnamed", "names.wrong")
# Why a sample lies in no mapping: such have no name either.
UNMAPPED = ("older-code", "attach-window", "exec-while-disabled", "mremap", "shared-mm")


def by_one_method(jitproof: str, home: str, result: dict[str, Any], definition: str) -> \
        dict[str, Any]:
    """The same result; of dumps alone by call frame information alone, as explain and perf walk
    them: validators follow frame pointers where there is none, unless the case says otherwise."""
    verdicts = result["verdicts"]
    if "chain" in verdicts or "dump" not in verdicts or "dump_cfi" in verdicts:
        return result
    with tempfile.TemporaryDirectory(prefix="jitproof-causes-") as scratch:
        copied = os.path.join(scratch, "case")
        shutil.copytree(home, copied)
        files.write(os.path.join(copied, "case"),
                    re.sub(r" samples=", " methods=dump,dump_cfi samples=", definition, count=1))
        judged = os.path.join(scratch, "results.jsonl")
        process.run([jitproof, "judge", "--results", judged, copied], timeout=120)
        return next(one for _, one in jsonl.read(judged))


def least(result: dict[str, Any]) -> float:
    """So many samples are no mere note."""
    return max(NOTE * result["books"]["samples"]["code"], 1)


def name_of(exception: dict[str, Any]) -> str:
    """The id of what validators found; their own word where explain has none."""
    return exception.get("id", exception["cause"])


def stacks(result: dict[str, Any], costs: dict[str, str]) -> collections.Counter[str]:
    """Samples that lost their stack, by cause: by their chains, else by their dumps. What injecting
    cost is known by the names alone."""
    counts: collections.Counter[str] = collections.Counter()
    for metric in ("broken.chain", "broken.dump" if "chain" in result["verdicts"] else
                   "broken.dump_cfi"):
        if counts and max(counts.values()) >= least(result):
            break
        for one in result["exceptions"]:
            cause = name_of(one)
            if one["metric"] == metric or (one["metric"] in NAMES and costs.get(cause) == "stacks"):
                counts[cause] = max(counts[cause], one["count"])
    return counts


def names(result: dict[str, Any], costs: dict[str, str], definition: str) -> \
        collections.Counter[str]:
    """Samples in emitted code that lost their name, by cause: those in files have their symbols."""
    counts: collections.Counter[str] = collections.Counter()
    # A chain begins with the sampled address, a dump's walk ends at any.
    walk = "broken.chain" if "chain" in result["verdicts"] else "broken.dump"
    unmapped = sum(one["count"] for one in result["exceptions"]
                   if one["metric"] == walk and name_of(one) in UNMAPPED)
    if "publish=" not in definition or "publish=none" in definition:
        counts["no-name-source"] = result["books"]["samples"]["code"] - in_files(result) - unmapped
    for one in result["exceptions"]:
        cause = name_of(one)
        if one["metric"] not in NAMES or costs.get(cause) == "stacks":
            continue
        if one["cause"] == "not-published":
            one = {**one, "count": one["count"] - in_files(result)}
        # What gives no name without the jitdump is there, and not asked.
        if "publish=jitdump" in definition and "inject=" not in definition:
            cause = "jitdump-not-injected"
        counts[cause] += one["count"]
    return counts


def causes(result: dict[str, Any], definition: str, costs: dict[str, str]) -> tuple[str, str]:
    worst = []
    for counts in (stacks(result, costs), names(result, costs, definition)):
        found = [cause for cause in counts if counts[cause] >= least(result)]
        worst.append(max(found, key=lambda cause: counts[cause], default=words.NONE))
    return worst[0], worst[1]


def in_files(result: dict[str, Any]) -> int:
    """Samples of the truth's code that lies in files."""
    return int(result["metrics"].get("files.credited", {}).get("n", 0))


def cost(result: dict[str, Any], cause: str) -> int:
    """Samples that lost their stack to it, by whatever walk loses most."""
    return max((one["count"] for one in result["exceptions"] if name_of(one) == cause
                and one["metric"] in ("broken.chain", "broken.dump")), default=0)


def same(result: dict[str, Any], truth: tuple[str, str], said: tuple[str, str]) -> bool:
    """Whether explain says what the truth is. Of causes that cost as many samples either may come
    first. Whose code, emitted or a file's, does not keep the frame pointer, validators do not
    tell."""
    if cost(result, said[0]) >= max(cost(result, truth[0]), least(result)):
        truth = said[0], truth[1]
    if (truth[0], said[0]) == ("jit-no-frame-pointer", "library-no-frame-pointer") and \
            in_files(result) >= least(result):
        truth = said[0], truth[1]
    return truth == said


def allowed(definition: str) -> Iterator[tuple[str, str, str]]:
    """The metric, cause and comment of each "allow" line; "the same" stands for the one before."""
    last = ""
    for metric, cause, why in re.findall(r"(\S+) allow (\S+)[^#\n]*#\s*(.*)", definition):
        last = last if why.startswith("the same") else why
        yield metric, cause, last


def reason(result: dict[str, Any], truth: tuple[str, str], definition: str,
           unknowable: dict[str, str]) -> str:
    """Why a capture alone tells something else: the word is one of those, or as the case says."""
    if truth[0] in unknowable:
        return unknowable[truth[0]]
    found = {(one["metric"], one["cause"]) for one in result["exceptions"] if name_of(one) in truth}
    told = [why for metric, cause, why in allowed(definition) if (metric, cause) in found]
    return told[0] if told else ""
