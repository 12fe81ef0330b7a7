# SPDX-License-Identifier: GPL-2.0-only
"""Builds a guest's job: its initramfs with /job, and its kernel's command line."""

import os
from typing import Mapping, Sequence

from ci.base.status import Missing
from ci.matrix.vm import initramfs, profilers, suites

# cryptomgr.notests: the crypto self tests would take half of the CPU for the first ten seconds.
# panic, oops, ...: a broken kernel stops at once and prints the reason on the console.
APPEND = ("console=%s loglevel=5 panic=-1 oops=panic softlockup_panic=1 "
          "hung_task_panic=1 cryptomgr.notests nokaslr mitigations=off jitproof.seed=%d")
SETTINGS = (
    ("/proc/sys/kernel/perf_event_paranoid", "-1"),
    # Set the rate before the percentage: once that is 0, the kernel rejects a new rate.
    ("/proc/sys/kernel/perf_event_max_sample_rate", "100000"),
    ("/proc/sys/kernel/perf_cpu_time_max_percent", "0"),
    ("/proc/sys/kernel/kptr_restrict", "0"),
    ("/proc/sys/vm/nr_hugepages", "16"),
    # khugepaged has the lowest priority and locks address spaces: on one processor an older kernel
    # does not run it again for a second, and jitproof's threads wait. One scan a day never comes.
    ("/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs", "86400000"),
)
RUN = "run.txt"
FACTS = "facts.jsonl"
# A profiler's time with each scene.
OPTIONS = ("--samples=100", "--seconds=15")


def format_job(commands: Mapping[str, str]) -> str:
    """Returns the text of /job. @commands: by the file in /out that stores the output."""
    return "".join(["write %s %s\n" % setting for setting in SETTINGS] +
                   ["run %s %s\n" % command for command in commands.items()])


def make_commands(group: suites.Group, seed: int, facts: bool) -> dict[str, str]:
    """Returns the commands that run a group's cases, or its scenes with its profiler."""
    commands = {FACTS: "/bin/jitproof facts --json"} if facts else {}
    if group.profiler:
        commands[RUN] = " ".join(("/bin/jitproof score --no-judge -o /out/scores --profiler",
                                  group.profiler, *OPTIONS, "--seed", str(seed),
                                  *group.scene_names))
    elif group.cases:
        commands[RUN] = " ".join(("/bin/jitproof run --no-judge -o /out/cases --seed", str(seed),
                                  *group.cases))
    return commands


def build(jitproof: str, init: str, group: suites.Group, seed: int, facts: bool,
          shelf: str, loader: Sequence[str] = (), root: str = "") -> bytes:
    """Returns the guest's initramfs. @shelf: the folder of the profilers of ci/peers. @loader: the
    command that lists the libraries of a program for another machine than this one, which lie below
    @root."""
    for path in (jitproof, init):
        if not os.path.exists(path):
            raise Missing("%s is not built: make all vm-init" % path)
    # Decompressing 100 MB of a profiler would take 10 s of the guest's time.
    content = initramfs.Content({"bin/jitproof": os.path.abspath(jitproof)},
                                plain=bool(group.profiler), loader=loader or ("ldd",),
                                root=root)
    # Commands of ci/peers are shell scripts. Cases only need a file of some other program: if the
    # guest's machine differs from this one, init serves as /bin/sh unless there is a profiler.
    if loader:
        content.files["bin/sh"] = init
    elif os.path.exists("/bin/sh"):
        content.programs["bin/sh"] = os.path.realpath("/bin/sh")
    if group.profiler:
        profilers.add_profiler(content, group.profiler, shelf)
    content.texts["job"] = format_job(make_commands(group, seed, facts))
    return initramfs.build(init, content)
