# SPDX-License-Identifier: GPL-2.0-only
"""Distributes the cases of a suite to VMs, by the suite's groups.

The cases of a group with a profiler are called PROFILER/SCENE: `jitproof score` of that profiler.
"""

import dataclasses
import fnmatch
import os
import re
from typing import Any

from ci.base import process
from ci.base.status import Missing, Refused


@dataclasses.dataclass(frozen=True)
class Group:
    """The cases of one VM."""
    name: str
    smp: int
    cases: tuple  # names, in the order in which they run
    profiler: str = ""  # name of the adapter; "": the capture that each case declares

    @property
    def scene_names(self) -> list[str]:
        return [name.partition("/")[2] for name in self.cases]


def list_cases(jitproof: str, globs: tuple[str, ...] = ()) -> list[str]:
    """Returns the names of the cases that match a glob, or of all cases if there is no glob."""
    cases = process.run([os.path.abspath(jitproof), "list", *globs])
    if cases.returncode:
        raise Missing("%s list: %s" % (jitproof, cases.stderr.strip()))
    return [line.split()[0] for line in cases.stdout.splitlines() if "/" in line.split()[0]]


def list_names(config: dict[str, Any], suite: str, jitproof: str) -> list[str]:
    """Returns the names of all cases or scenes that a suite may select."""
    profilers = [group["profiler"] for group in config["suites"].get(suite, {}).get("groups", ())
                 if "profiler" in group]
    if not profilers:
        return list_cases(jitproof)
    scenes = process.run_or_raise([os.path.abspath(jitproof), "score", "--list"]).split()
    return ["%s/%s" % (profiler, scene) for profiler in profilers for scene in scenes]


def split_group(group: Group, at_most: int) -> list[Group]:
    """Splits a group into groups of @at_most cases, whose results fit into the VM's memory."""
    if len(group.cases) <= at_most:
        return [group]
    return [dataclasses.replace(group, name="%s-%d" % (group.name, start // at_most + 1),
                                cases=group.cases[start:start + at_most])
            for start in range(0, len(group.cases), at_most)]


def make_groups(config: dict[str, Any], names: list[str], suite: str, globs: list[str]
                ) -> list[Group]:
    """Returns the groups of a suite that have a case. @names: of list_names(). @globs: if not
    empty, only cases that match one of them. A case is in the first group with a glob for it.
    Raises Refused if a glob matches nothing."""
    if suite not in config["suites"]:
        raise Refused("no suite %s: %s" % (suite, ", ".join(config["suites"])))
    chosen = [name for name in names
              if not globs or any(fnmatch.fnmatchcase(name, glob) for glob in globs)]
    grouped, groups = set(), []
    for group in config["suites"][suite]["groups"]:
        profiler = group.get("profiler", "")
        own_globs = [profiler + "/" + glob if profiler else glob for glob in group["cases"]]
        for glob in own_globs:
            if not fnmatch.filter(names, glob):
                raise Refused("suite %s, group %s: no case matches %s"
                              % (suite, group["name"], glob))
        cases = [name for name in chosen if name not in grouped
                 and any(fnmatch.fnmatchcase(name, glob) for glob in own_globs)]
        grouped.update(cases)
        if cases:
            groups += split_group(Group(group["name"], group["smp"], tuple(cases), profiler),
                                 config["suites"][suite]["at_most"])
    for glob in globs:
        if not fnmatch.filter(grouped, glob):
            raise Refused("suite %s has no case that matches %s" % (suite, glob))
    return groups


def find_unlisted_skips(results: list[dict[str, Any]], skips: list[dict[str, str]],
                        release: str) -> list[str]:
    """Returns "CASE: WHY" of each SKIP that the configuration's list @skips does not expect on this
    kernel, so that a skip does not hide a defect."""
    return ["%s: %s" % (result["case"], result["why"]) for result in results
            if result["outcome"] == "SKIP" and not any(
                fnmatch.fnmatchcase(result["case"], entry["case"])
                and re.search(entry["why"], result["why"])
                and re.match(entry.get("kernels", ""), release) for entry in skips)]
