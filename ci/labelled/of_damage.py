# SPDX-License-Identifier: GPL-2.0-only
"""Captures without stacks or samples, damaged jitdumps, and what a failed inject leaves."""

import glob
import os

from ci.base import files, process
from ci.labelled.bench import Bench, get_chain_options
from ci.labelled.of_workloads import FP, JITDUMP
from ci.labelled.recipe import register


@register("no-call-graph-6.1", "no-call-graph")
def record_addresses(bench: Bench) -> None:
    bench.launch("6.1", ("-F", "999"), [bench.build_chain(), "100"])


@register("no-samples-6.1", "no-samples")
def record_nothing(bench: Bench) -> None:
    bench.launch("6.1", ("-e", "alignment-faults", "-c", "1", "-g"), [bench.build_chain(), "100"])


def record_jitdump(bench: Bench, version: str) -> str:
    """Records a workload with a jitdump. Returns the path of the jitdump."""
    bench.launch(version, get_chain_options(version), bench.workload("anon_exec", FP, JITDUMP))
    return glob.glob(bench.place("jit-*.dump"))[0]


def insert_copy(bench: Bench, dump: str) -> None:
    """Inserts a copy of earlier bytes between two records, as a forked child does that flushes the
    stdio buffer of its parent."""
    raw = files.read_bytes(dump)
    at = 40
    while at < len(raw) // 2:
        at += int.from_bytes(raw[at + 4:at + 8], "little")
    files.write_bytes(dump, raw[:at] + raw[60:160] + raw[at:])
    bench.steps.append("# %s: bytes 60 to 160 again at %d" % (os.path.basename(dump), at))


@register("jitdump-damaged-ours", "damaged-jitdump")
def damage_jitdump(bench: Bench) -> None:
    insert_copy(bench, record_jitdump(bench, "ours"))


@register("jitdump-empty-6.1", "empty-jitdump")
def empty_jitdump(bench: Bench) -> None:
    bench.must(["truncate", "-s", "0", record_jitdump(bench, "6.1")])


@register("inject-failed-6.1", "failed-inject")
def fail_inject(bench: Bench) -> None:
    dump = record_jitdump(bench, "6.1")
    raw = files.read_bytes(dump)
    files.write_bytes(dump, bytes(4) + raw[4:])
    bench.steps.append("# %s: its magic number is 0" % os.path.basename(dump))
    merged = bench.place("injected.data")
    command = [bench.perf("6.1"), "inject", "--jit", "-i", bench.data, "-o", merged]
    bench.add_note(command, "! ")
    if not process.run(command, cwd=bench.folder, env=bench.environment).returncode:
        raise RuntimeError("perf inject did not fail")
    os.replace(merged, bench.data)
