# SPDX-License-Identifier: GPL-2.0-only
"""Finds the worst cause of broken stacks and of missing names in the validators' results."""

import collections
import os
import re
import shutil
import tempfile
from typing import Any, Iterator

from ci.base import files, jsonl, process
from ci.causes import words

NOTE = 0.02  # share of the samples below which a cause is only a note
# Metrics that count samples without a symbol.
NAMES = ("names.unnamed", "names.wrong")
# Causes of samples in no mapping; these have no symbol either.
UNMAPPED = ("older-code", "attach-window", "exec-while-disabled", "mremap", "shared-mm")


def judge_by_one_method(jitproof: str, home: str, result: dict[str, Any], definition: str) -> \
        dict[str, Any]:
    """Returns @result, or for captures of dumps alone a new judgement that unwinds by call frame
    information only, as explain and perf do: validators fall back to frame pointers unless the case
    forbids it."""
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
        return next(judgement for _, judgement in jsonl.read(judged))


def get_least_samples(result: dict[str, Any]) -> float:
    """Returns the number of samples from which a cause is more than a note."""
    return max(NOTE * result["books"]["samples"]["code"], 1)


def name_of(exception: dict[str, Any]) -> str:
    """Returns explain's id of a cause, or the validators' word if explain has none."""
    return exception.get("id", exception["cause"])


def count_broken_stacks(result: dict[str, Any], costs: dict[str, str]) -> collections.Counter[str]:
    """Counts the samples with a broken stack by cause: from chains, else from dumps. Causes that
    only show in names, such as those of injecting, are included."""
    counts: collections.Counter[str] = collections.Counter()
    for metric in ("broken.chain", "broken.dump" if "chain" in result["verdicts"] else
                   "broken.dump_cfi"):
        if counts and max(counts.values()) >= get_least_samples(result):
            break
        for exception in result["exceptions"]:
            cause = name_of(exception)
            if exception["metric"] == metric or (
                    exception["metric"] in NAMES and costs.get(cause) == "stacks"):
                counts[cause] = max(counts[cause], exception["count"])
    return counts


def count_nameless_samples(result: dict[str, Any], costs: dict[str, str], definition: str) -> \
        collections.Counter[str]:
    """Counts the samples in emitted code without a name by cause. Samples in files have symbols."""
    counts: collections.Counter[str] = collections.Counter()
    # A chain begins at the sampled address; a dump's walk may end anywhere.
    walk = "broken.chain" if "chain" in result["verdicts"] else "broken.dump"
    unmapped = sum(exception["count"] for exception in result["exceptions"]
                   if exception["metric"] == walk and name_of(exception) in UNMAPPED)
    if "publish=" not in definition or "publish=none" in definition:
        counts["no-name-source"] = result["books"]["samples"]["code"] - unmapped - \
            count_file_samples(result)
    for exception in result["exceptions"]:
        cause = name_of(exception)
        if exception["metric"] not in NAMES or costs.get(cause) == "stacks":
            continue
        if exception["cause"] == "not-published":
            exception = {**exception, "count": exception["count"] - count_file_samples(result)}
        # The jitdump names this code, but was not injected.
        if "publish=jitdump" in definition and "inject=" not in definition:
            cause = "jitdump-not-injected"
        counts[cause] += exception["count"]
    return counts


def count_causes(result: dict[str, Any], definition: str, costs: dict[str, str]) -> tuple[str, str]:
    worst = []
    for counts in (count_broken_stacks(result, costs), count_nameless_samples(result, costs,
                                                                              definition)):
        found = [cause for cause in counts if counts[cause] >= get_least_samples(result)]
        worst.append(max(found, key=lambda cause: counts[cause], default=words.NONE))
    return worst[0], worst[1]


def count_file_samples(result: dict[str, Any]) -> int:
    """Returns the number of samples in those parts of the truth's code that lie in files."""
    return int(result["metrics"].get("files.credited", {}).get("n", 0))


def get_cost(result: dict[str, Any], cause: str) -> int:
    """Returns the number of stacks that @cause broke, by the method that loses most."""
    return max((each["count"] for each in result["exceptions"] if name_of(each) == cause
                and each["metric"] in ("broken.chain", "broken.dump")), default=0)


def does_agree(result: dict[str, Any], truth: tuple[str, str], explained: tuple[str, str]) -> bool:
    """Returns whether explain agrees with the validators. Causes that break the same number of
    samples may be swapped. Validators do not distinguish emitted code without frame pointers from
    such code in a library."""
    if get_cost(result, explained[0]) >= max(get_cost(result, truth[0]), get_least_samples(result)):
        truth = explained[0], truth[1]
    if (truth[0], explained[0]) == ("jit-no-frame-pointer", "library-no-frame-pointer") and \
            count_file_samples(result) >= get_least_samples(result):
        truth = explained[0], truth[1]
    return truth == explained


def list_allowed(definition: str) -> Iterator[tuple[str, str, str]]:
    """Yields (metric, cause, comment) for each "allow" line; a comment "the same" repeats the one
    before."""
    last = ""
    for metric, cause, why in re.findall(r"(\S+) allow (\S+)[^#\n]*#\s*(.*)", definition):
        last = last if why.startswith("the same") else why
        yield metric, cause, last


def find_reason(result: dict[str, Any], truth: tuple[str, str], definition: str,
                unknowable: dict[str, str]) -> str:
    """Returns why a capture cannot show the validators' cause, from the table of causes or from the
    case's expectations; "" if neither states a reason."""
    if truth[0] in unknowable:
        return unknowable[truth[0]]
    found = {(each["metric"], each["cause"]) for each in result["exceptions"]
             if name_of(each) in truth}
    reasons = [why for metric, cause, why in list_allowed(definition) if (metric, cause) in found]
    return reasons[0] if reasons else ""
