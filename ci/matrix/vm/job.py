# SPDX-License-Identifier: GPL-2.0-only
"""What a guest shall do: its files, its /job and its kernel's command line."""

import os
from typing import Mapping

from ci.base import process
from ci.base.status import Missing
from ci.matrix.vm import initramfs, profilers, suites

# cryptomgr.notests: the crypto self tests would take half of the guest's time for ten seconds.
# A lost kernel stops at once, and says why on the console.
APPEND = ("console=ttyS0,115200 loglevel=5 panic=-1 oops=panic softlockup_panic=1 "
          "hung_task_panic=1 cryptomgr.notests nokaslr mitigations=off jitproof.seed=%d")
SETTINGS = (
    ("/proc/sys/kernel/perf_event_paranoid", "-1"),
    # Once throttling is off the kernel takes no new rate.
    ("/proc/sys/kernel/perf_event_max_sample_rate", "100000"),
    ("/proc/sys/kernel/perf_cpu_time_max_percent", "0"),
    ("/proc/sys/kernel/kptr_restrict", "0"),
    ("/proc/sys/vm/nr_hugepages", "16"),
)
RUN = "run.txt"
FACTS = "facts.jsonl"
# Of each scene: how much of it a profiler is shown.
OPTIONS = ("--samples=100", "--seconds=15")


def append(seed: int) -> str:
    """The kernel's command line."""
    return APPEND % seed


def has_facts(jitproof: str) -> bool:
    said = process.run([os.path.abspath(jitproof), "--help"]).stdout
    return any(line.split()[:1] == ["facts"] for line in said.splitlines())


def lines_of(commands: Mapping[str, str]) -> str:
    """The lines of /job. @commands: what runs, by the file in /out for what it prints."""
    return "".join(["write %s %s\n" % setting for setting in SETTINGS] +
                   ["run %s %s\n" % command for command in commands.items()])


def cases(group: suites.Group, seed: int, facts: bool) -> dict[str, str]:
    """The commands that run a group's cases; or its scenes, under its profiler."""
    commands = {FACTS: "/bin/jitproof facts --json"} if facts else {}
    if group.profiler:
        commands[RUN] = " ".join(("/bin/jitproof score --no-judge -o /out/scores --profiler",
                                  group.profiler, *OPTIONS, "--seed", str(seed), *group.scenes))
    elif group.cases:
        commands[RUN] = " ".join(("/bin/jitproof run --no-judge -o /out/cases --seed", str(seed),
                                  *group.cases))
    return commands


def build(jitproof: str, init: str, group: suites.Group, seed: int, facts: bool,
          shelf: str) -> bytes:
    """The guest's initramfs. @shelf: where ci/peers installs."""
    for path in (jitproof, init):
        if not os.path.exists(path):
            raise Missing("%s is not built: make all vm-init" % path)
    # A guest would take 10 s of its time to decompress 100 MB of a profiler.
    content = initramfs.Content({"bin/jitproof": os.path.abspath(jitproof)},
                                plain=bool(group.profiler))
    # A case replaces a program by it; commands of peers are its scripts.
    if os.path.exists("/bin/sh"):
        content.programs["bin/sh"] = os.path.realpath("/bin/sh")
    if group.profiler:
        profilers.put(content, group.profiler, shelf)
    content.texts["job"] = lines_of(cases(group, seed, facts))
    return initramfs.build(init, content)
