# SPDX-License-Identifier: GPL-2.0-only
"""What a guest shall do: its files, its /job and its kernel's command line."""

import os
from typing import Sequence

from ci.base import process
from ci.base.status import Missing
from ci.matrix.vm import initramfs

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


def append(seed: int) -> str:
    """The kernel's command line."""
    return APPEND % seed


def has_facts(jitproof: str) -> bool:
    said = process.run([os.path.abspath(jitproof), "--help"]).stdout
    return any(line.split()[:1] == ["facts"] for line in said.splitlines())


def text(cases: Sequence[str], seed: int, facts: bool) -> str:
    """The lines of /job."""
    lines = ["write %s %s" % setting for setting in SETTINGS]
    if facts:
        lines.append("run %s /bin/jitproof facts --json" % FACTS)
    if cases:
        lines.append(" ".join(("run", RUN, "/bin/jitproof run --no-judge -o /out/cases --seed",
                               str(seed), *cases)))
    return "\n".join(lines) + "\n"


def build(jitproof: str, init: str, cases: Sequence[str], seed: int, facts: bool) -> bytes:
    """The guest's initramfs."""
    for path in (jitproof, init):
        if not os.path.exists(path):
            raise Missing("%s is not built: make all vm-init" % path)
    programs = {"bin/jitproof": os.path.abspath(jitproof)}
    # A case replaces a program by it.
    if os.path.exists("/bin/sh"):
        programs["bin/sh"] = os.path.realpath("/bin/sh")
    return initramfs.build(init, programs, {"job": text(cases, seed, facts)})
