#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make faults: lets the Nth allocation, open, read, write, mmap, fork or perf_event_open fail.

For every command, tries every N if there are few calls; else one call of each site in the code,
then random other calls up to the limit. Each run must give the result of the undisturbed run, or an
error with a message: never another verdict, a silent death, half a file or a process left behind.
Exits 1 if a run breaks this."""

import argparse
import array
import ctypes
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple, Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, process

ROOT = os.path.abspath(__file__ + "/../../..")
FIXTURES = os.path.join(ROOT, "validators", "fixtures")
SHIM = os.path.join(ROOT, "ci", "faults", "shim.c")
KINDS = ("alloc", "open", "read", "write", "mmap", "fork", "perf_event_open")
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, linux/prctl.h
# A failed call may cost some of jitproof's time-outs; on a busy machine even undisturbed runs take
# long.
SECONDS, TIMES = 60.0, 10


class Done(NamedTuple):
    """The outcome of one run."""
    status: int
    out: str
    err: str
    files: dict[str, bytes]
    left: list[str]  # processes that outlived the run


class Command(NamedTuple):
    """A jitproof command line; DIR in the arguments stands for a new folder in each run."""
    name: str
    arguments: Sequence[str]
    # The part of the outcome that does not vary between runs: "bytes": all bytes; "sizes": output
    # and file sizes (inodes differ); "results": outcomes of cases.
    steady: str = "bytes"


class Measured(NamedTuple):
    """The outcome of all runs of one command and one kind of fault."""
    calls: int
    sites: int
    tried: int
    bad: list[str]  # a line for each run that broke a rule


def make_fixture(*parts: str) -> str:
    return os.path.join(FIXTURES, *parts)


def list_commands(folder: str) -> list[Command]:
    """Returns the commands whose input is available."""
    perf = make_fixture("memfd", "perf.data")
    judge_options = ["judge", "--expected", make_fixture("expected")]
    commands = [
        Command("list", ["list"]),
        Command("judge file", ["judge", "--json", perf]),
        Command("judge file, unwinding",
                ["judge", "--json", "--elf", make_fixture("memfd", "elf"), "--stacks", "DIR/stacks",
                 perf]),
        *(Command(f"judge {name}", ["judge", "--results", "DIR/results", make_fixture(name)])
          for name in ("anon", "growth", "gated")),
        Command("inject", ["inject", "--jitdump-dir", make_fixture("growth"), "-i",
                           make_fixture("growth", "perf.data"), "-o", "DIR/injected.data"],
                "sizes"),
        Command("explain", ["explain", "--json", "--fail-if=lost-samples>100%", "--elf",
                            make_fixture("memfd", "elf"), perf]),
        Command("score", ["score", "--profiler", "jitproof", "--samples=20", "--seconds=2", "-o",
                          "DIR/score", "anon_exec"], "results"),
        Command("lint", ["lint", "--json", make_fixture("growth", "jit-12329.dump")]),
        Command("explain truth", ["explain", "--slack=0", "--truth", make_fixture("memfd", "truth"),
                                  perf]),
        Command("repro",
                ["repro", "fixture/anon", *judge_options[1:], "--from", make_fixture("anon"), "-o",
                          "DIR/case.tar"]),
        Command("workload", ["workload", "anon_exec", "--truth=DIR/truth"],
                "results"),
        Command("record", ["record", "-o", "DIR/perf.data", "--", "true"], "results"),
        Command("run", ["run", "-o", "DIR/run", "exact/anon"], "results"),
    ]
    packed = os.path.join(folder, "packed.data")
    if shutil.which("perf") and process.run(["perf", "record", "-q", "-z", "-e", "cpu-clock", "-o",
                                             packed, "--", "ls", "-R", "/usr/lib/python3"],
                                            stdout=subprocess.DEVNULL).returncode == 0:
        commands.append(Command("judge compressed", ["judge", "--json", packed]))
    return commands


def run(jitproof: str, command: Command, environment: dict[str, str],
        seconds: float) -> Done:
    folder = tempfile.mkdtemp(prefix="jitproof-fault-", dir="/dev/shm")
    try:
        result = process.run(
            [jitproof, *(text.replace("DIR", folder) for text in command.arguments)],
            timeout=seconds, env={**os.environ, **environment})
        status, out, err = result.returncode, result.stdout, result.stderr
        orphans = process.list_children()  # orphans too: this process is a subreaper
    except subprocess.TimeoutExpired:
        status, out, err, orphans = -1000, "", "", []
    outputs = {name: files.read_bytes(os.path.join(folder, name)).replace(folder.encode(), b"DIR")
            for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name))}
    shutil.rmtree(folder, ignore_errors=True)
    return Done(status, out.replace(folder, "DIR"), err.replace(folder, "DIR"), outputs, orphans)


def is_same(command: Command, reference: Done, result: Done) -> bool:
    if command.steady == "bytes":
        return (reference.status, reference.out, reference.files) == (result.status, result.out,
                                                                      result.files)
    if command.steady == "sizes":
        sizes = [{name: len(data) for name, data in result_of_run.files.items()} for result_of_run
                 in (reference, result)]
        return (reference.status, reference.out, sizes[0]) == (result.status, result.out, sizes[1])
    results = [re.findall(r"^(?:not )?ok .*", result_of_run.out, re.M) for result_of_run
               in (reference, result)]
    return reference.status == result.status and results[0] == results[1] \
        and sorted(reference.files) == sorted(result.files)


def find_error(command: Command, reference: Done, result: Done) -> str | None:
    """Returns what is wrong with the run, or None."""
    if result.left:
        return "left running: " + ", ".join(result.left)
    if result.status == -1000:
        return "did not end"
    if result.status < 0:
        return f"died of signal {-result.status}"
    if is_same(command, reference, result):
        return None
    message = result.err.strip() or re.search(
        r"# (ERROR|SKIP) |^Bail out!|^# .*:|^\S+ +ERROR: ", result.out, re.M)
    if not result.status and not re.search(r"# SKIP ", result.out):
        return "status 0 with different results"
    if not message:
        return f"status {result.status} without a message"
    if re.search(r"^not ok (?!.*# (ERROR|TIMEOUT))", result.out, re.M):
        return "another verdict: " + result.out.strip()[-200:]
    extra = [name for name in result.files if name not in reference.files]
    return "left behind: " + ", ".join(extra) if extra else None


def choose_sites(sites: Sequence[int], limit: int, seed: str) -> list[int]:
    """Returns the numbers of the calls that shall fail, from 1: all, or one of each site and others
    up to @most."""
    numbers = list(range(1, len(sites) + 1))
    if len(sites) <= limit:
        return numbers
    random.Random(seed).shuffle(numbers)
    first = {sites[number - 1]: number for number in numbers}
    other_numbers = [number for number in numbers if first[sites[number - 1]] != number]
    return [*first.values(), *other_numbers][:max(limit, len(first))]


def measure_command(options: argparse.Namespace, shim: str, command: Command,
                    kind: str) -> Measured:
    preload = {"LD_PRELOAD": shim, "FAULT_KIND": kind}
    site_file = shim + ".sites"
    start = time.monotonic()
    reference = run(options.jitproof, command, {**preload, "FAULT_SITES": site_file}, 10 * SECONDS)
    seconds = max(SECONDS, TIMES * (time.monotonic() - start))
    if reference.status:
        return Measured(0, 0, 0, [f"{command.name}: exit {reference.status} without a fault: "
                                  + reference.err[-200:]])
    sites = array.array("Q", files.read_bytes(site_file))
    numbers = choose_sites(sites, options.most, f"{options.seed} {command.name} {kind}")
    bad, tried, end = [], 0, time.monotonic() + options.seconds
    for number in numbers:
        if time.monotonic() > end:
            break
        tried += 1
        result = run(options.jitproof, command, {**preload, "FAULT_N": str(number)}, seconds)
        why = find_error(command, reference, result)
        if why:
            bad.append(f"{command.name}: {kind} {number} of {len(sites)}: {why}")
    return Measured(len(sites), len(set(sites)), tried, bad)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jitproof", default="build/jitproof",
                        help="the program to test (default: build/jitproof)")
    parser.add_argument("--most", type=int, default=2000,
                        help="maximum of runs for each command and kind")
    parser.add_argument("--seconds", type=float, default=3600,
                        help="time limit for each command and kind")
    parser.add_argument("--seed", type=int, default=1,
                        help="number that chooses the failing calls (default: 1)")
    parser.add_argument("--command", default="", help="only commands whose name contains this")
    parser.add_argument("--kind", action="append", choices=KINDS,
                        help="only calls of this kind fail; repeatable")
    options = parser.parse_args()
    options.jitproof = os.path.abspath(options.jitproof)
    # Become the parent of processes that a run leaves behind.
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    tried, problems, start = 0, list[str](), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        shim = os.path.join(folder, "shim.so")
        process.run_or_raise(["gcc", "-O1", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", shim, SHIM,
                              "-ldl"])
        for command in list_commands(folder):
            if options.command not in command.name:
                continue
            for kind in options.kind or KINDS:
                got = measure_command(options, shim, command, kind)
                tried += got.tried
                problems += got.bad
                print(f"{command.name}: {kind}: {got.calls} calls from {got.sites} sites, "
                      f"{got.tried} failed, {len(got.bad)} bad", flush=True)
                for line in got.bad:
                    print("  " + line, flush=True)
    print(f"# {tried} faults, {len(problems)} bad, {time.monotonic() - start:.0f} s")
    return 1 if problems or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
