# SPDX-License-Identifier: GPL-2.0-only
"""Which cases run in which VM: a suite's groups, as names."""

import dataclasses
import fnmatch
import os

import debian_packages
from debian_packages import Missing


@dataclasses.dataclass(frozen=True)
class Group:
    """Cases that one VM runs."""
    name: str
    smp: int
    cases: tuple  # names, in the order in which they run


def known(jitproof, globs=()):
    """Names of the cases that match, all where there is no glob."""
    listed = debian_packages.run([os.path.abspath(jitproof), "list", *globs])
    if listed.returncode:
        raise Missing("%s list: %s" % (jitproof, listed.stderr.strip()))
    return [line.split()[0] for line in listed.stdout.splitlines() if "/" in line.split()[0]]


def groups(config, names, suite, globs, smp=None):
    """The groups of a suite that have a case, of cases that match one of the globs where there
    are any. A case is in the first group that has a glob for it. Missing where a glob of the suite
    or of ours matches nothing: less would run than was asked for."""
    if suite not in config["suites"]:
        raise Missing("no suite %s: %s" % (suite, ", ".join(config["suites"])))
    wanted = [name for name in names
              if not globs or any(fnmatch.fnmatchcase(name, glob) for glob in globs)]
    taken, found = set(), []
    for group in config["suites"][suite]["groups"]:
        for glob in group["cases"]:
            if not fnmatch.filter(names, glob):
                raise Missing("suite %s, group %s: no case matches %s"
                              % (suite, group["name"], glob))
        cases = [name for name in wanted if name not in taken
                 and any(fnmatch.fnmatchcase(name, glob) for glob in group["cases"])]
        taken.update(cases)
        if cases:
            found.append(Group(group["name"], smp or group["smp"], tuple(cases)))
    for glob in globs:
        if not fnmatch.filter(taken, glob):
            raise Missing("suite %s has no case that matches %s" % (suite, glob))
    return found
