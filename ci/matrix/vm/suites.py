# SPDX-License-Identifier: GPL-2.0-only
"""Which cases run in which VM: a suite's groups, as names.

Those of a group with a profiler are PROFILER/SCENE: `jitproof score` of that profiler.
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
    """Cases that one VM runs."""
    name: str
    smp: int
    cases: tuple  # names, in the order in which they run
    profiler: str = ""  # the adapter that watches; "": our own capture, as each case has it

    @property
    def scenes(self) -> list[str]:
        return [name.partition("/")[2] for name in self.cases]


def known(jitproof: str, globs: tuple[Any, ...] = ()) -> list[str]:
    """Names of the cases that match, all where there is no glob."""
    listed = process.run([os.path.abspath(jitproof), "list", *globs])
    if listed.returncode:
        raise Missing("%s list: %s" % (jitproof, listed.stderr.strip()))
    return [line.split()[0] for line in listed.stdout.splitlines() if "/" in line.split()[0]]


def names(config: dict[str, Any], suite: str, jitproof: str) -> list[str]:
    """Names of all that a suite could run."""
    profilers = [group["profiler"] for group in config["suites"].get(suite, {}).get("groups", ())
                 if "profiler" in group]
    if not profilers:
        return known(jitproof)
    scenes = process.must([os.path.abspath(jitproof), "score", "--list"]).split()
    return ["%s/%s" % (profiler, scene) for profiler in profilers for scene in scenes]


def parts(group: Group, at_most: int) -> list[Group]:
    """A group's cases, no more than so many in a VM: their evidence stays in its memory."""
    if len(group.cases) <= at_most:
        return [group]
    return [dataclasses.replace(group, name="%s-%d" % (group.name, start // at_most + 1),
                                cases=group.cases[start:start + at_most])
            for start in range(0, len(group.cases), at_most)]


def groups(config: dict[str, Any], names: list[str], suite: str, globs: list[str],
           smp: int | None = None) -> list[Group]:
    """The groups of a suite that have a case, of cases that match one of the globs where there
    are any. A case is in the first group that has a glob for it. Refused where a glob of the suite
    or of ours matches nothing."""
    if suite not in config["suites"]:
        raise Refused("no suite %s: %s" % (suite, ", ".join(config["suites"])))
    wanted = [name for name in names
              if not globs or any(fnmatch.fnmatchcase(name, glob) for glob in globs)]
    taken, found = set(), []
    for group in config["suites"][suite]["groups"]:
        profiler = group.get("profiler", "")
        own = [profiler + "/" + glob if profiler else glob for glob in group["cases"]]
        for glob in own:
            if not fnmatch.filter(names, glob):
                raise Refused("suite %s, group %s: no case matches %s"
                              % (suite, group["name"], glob))
        cases = [name for name in wanted if name not in taken
                 and any(fnmatch.fnmatchcase(name, glob) for glob in own)]
        taken.update(cases)
        if cases:
            found += parts(Group(group["name"], smp or group["smp"], tuple(cases), profiler),
                           config["suites"][suite]["at_most"])
    for glob in globs:
        if not fnmatch.filter(taken, glob):
            raise Refused("suite %s has no case that matches %s" % (suite, glob))
    return found


def unlisted(results: list[dict[str, Any]], skips: list[dict[str, str]], release: str) -> list[str]:
    """"CASE: WHY" of each result that is a SKIP and that nothing in the configuration's list
    expects of this kernel: a skip must not hide what broke."""
    return ["%s: %s" % (result["case"], result["why"]) for result in results
            if result["outcome"] == "SKIP" and not any(
                fnmatch.fnmatchcase(result["case"], entry["case"])
                and re.search(entry["why"], result["why"])
                and re.match(entry.get("kernels", ""), release) for entry in skips)]
