#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make faults: the Nth allocation, open, read, write, mmap, fork, perf_event_open fails.

For every command, every N where there are few; else one of each place in the code that makes such
a call, and of the rest as many as asked for, by seed. Each run must give what the undisturbed one
gives, or an error with a message: never another verdict, never a death without a word, never half a
file or a process left behind. Ends with 1 where one does.
"""

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
# A failed call may cost some time-outs of ours; a busy machine takes its time undisturbed, too.
SECONDS, TIMES = 60.0, 10


class Done(NamedTuple):
    """What one run left."""
    status: int
    out: str
    err: str
    files: dict[str, bytes]
    left: list[str]  # processes that outlived it


class Command(NamedTuple):
    """One way to call jitproof; DIR in the arguments is a new folder for each run."""
    name: str
    arguments: Sequence[str]
    # What is the same each time: all bytes; words and sizes (inodes are in the files); results.
    steady: str = "bytes"


class Measured(NamedTuple):
    """What came of one command and kind."""
    calls: int
    sites: int
    tried: int
    bad: list[str]  # a line for each


def fixture(*parts: str) -> str:
    return os.path.join(FIXTURES, *parts)


def commands(folder: str) -> list[Command]:
    """Those whose input is there."""
    perf = fixture("memfd", "perf.data")
    known = ["judge", "--expected", fixture("expected")]
    found = [
        Command("list", ["list"]),
        Command("judge file", ["judge", "--json", perf]),
        Command("judge file, unwinding",
                ["judge", "--json", "--elf", fixture("memfd", "elf"), "--stacks", "DIR/stacks",
                 perf]),
        *(Command(f"judge {name}", ["judge", "--results", "DIR/results", fixture(name)])
          for name in ("anon", "growth", "gated")),
        Command("inject", ["inject", "--jitdump-dir", fixture("growth"), "-i",
                           fixture("growth", "perf.data"), "-o", "DIR/injected.data"], "sizes"),
        Command("explain", ["explain", "--json", "--fail-if=lost-samples>100%", "--elf",
                            fixture("memfd", "elf"), perf]),
        Command("score", ["score", "--profiler", "jitproof", "--samples=20", "--seconds=2", "-o",
                          "DIR/score", "anon_exec"], "results"),
        Command("lint", ["lint", "--json", fixture("growth", "jit-12329.dump")]),
        Command("explain truth", ["explain", "--slack=0", "--truth", fixture("memfd", "truth"),
                                  perf]),
        Command("repro", ["repro", "fixture/anon", *known[1:], "--from", fixture("anon"), "-o",
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
        found.append(Command("judge compressed", ["judge", "--json", packed]))
    return found


def living() -> list[str]:
    """What outlived a run, and is our child since."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return []
    return process.children()


def run(jitproof: str, command: Command, environment: dict[str, str],
        seconds: float) -> Done:
    folder = tempfile.mkdtemp(prefix="jitproof-fault-", dir="/dev/shm")
    try:
        done = process.run(
            [jitproof, *(text.replace("DIR", folder) for text in command.arguments)],
            timeout=seconds, env={**os.environ, **environment})
        status, out, err = done.returncode, done.stdout, done.stderr
        left = living()
    except subprocess.TimeoutExpired:
        status, out, err, left = -1000, "", "", []
    kept = {name: files.read_bytes(os.path.join(folder, name)).replace(folder.encode(), b"DIR")
            for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name))}
    shutil.rmtree(folder, ignore_errors=True)
    return Done(status, out.replace(folder, "DIR"), err.replace(folder, "DIR"), kept, left)


def same(command: Command, good: Done, done: Done) -> bool:
    if command.steady == "bytes":
        return (good.status, good.out, good.files) == (done.status, done.out, done.files)
    if command.steady == "sizes":
        sizes = [{name: len(data) for name, data in each.files.items()} for each in (good, done)]
        return (good.status, good.out, sizes[0]) == (done.status, done.out, sizes[1])
    results = [re.findall(r"^(?:not )?ok .*", each.out, re.M) for each in (good, done)]
    return good.status == done.status and results[0] == results[1] \
        and sorted(good.files) == sorted(done.files)


def wrong(command: Command, good: Done, done: Done) -> str | None:
    """What is bad about the run; None: it is as it must be."""
    if done.left:
        return "left running: " + ", ".join(done.left)
    if done.status == -1000:
        return "did not end"
    if done.status < 0:
        return f"died of signal {-done.status}"
    if same(command, good, done):
        return None
    told = done.err.strip() or re.search(
        r"# (ERROR|SKIP) |^Bail out!|^# .*:|^\S+ +ERROR: ", done.out, re.M)
    if not done.status and not re.search(r"# SKIP ", done.out):
        return "status 0, and other results"
    if not told:
        return f"status {done.status} without a word"
    if re.search(r"^not ok (?!.*# (ERROR|TIMEOUT))", done.out, re.M):
        return "a verdict: " + done.out.strip()[-200:]
    extra = [name for name in done.files if name not in good.files]
    return "left behind: " + ", ".join(extra) if extra else None


def chosen(sites: Sequence[int], most: int, seed: str) -> list[int]:
    """Which calls are to fail, from 1 on: all, or one of each site, then any up to @most."""
    numbers = list(range(1, len(sites) + 1))
    if len(sites) <= most:
        return numbers
    random.Random(seed).shuffle(numbers)
    first = {sites[number - 1]: number for number in numbers}
    rest = [number for number in numbers if first[sites[number - 1]] != number]
    return [*first.values(), *rest][:max(most, len(first))]


def measure(options: argparse.Namespace, shim: str, command: Command, kind: str) -> Measured:
    preload = {"LD_PRELOAD": shim, "FAULT_KIND": kind}
    counted = shim + ".sites"
    start = time.monotonic()
    good = run(options.jitproof, command, {**preload, "FAULT_SITES": counted}, 10 * SECONDS)
    seconds = max(SECONDS, TIMES * (time.monotonic() - start))
    if good.status:
        return Measured(0, 0, 0, [f"{command.name}: ends with {good.status} undisturbed: "
                                  + good.err[-200:]])
    sites = array.array("Q", files.read_bytes(counted))
    numbers = chosen(sites, options.most, f"{options.seed} {command.name} {kind}")
    bad, tried, end = [], 0, time.monotonic() + options.seconds
    for number in numbers:
        if time.monotonic() > end:
            break
        tried += 1
        done = run(options.jitproof, command, {**preload, "FAULT_N": str(number)}, seconds)
        why = wrong(command, good, done)
        if why:
            bad.append(f"{command.name}: {kind} {number} of {len(sites)}: {why}")
    return Measured(len(sites), len(set(sites)), tried, bad)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jitproof", default="build/jitproof")
    parser.add_argument("--most", type=int, default=2000, help="tries of a command and kind")
    parser.add_argument("--seconds", type=float, default=3600,
                        help="at most for a command and kind, sites first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", default="", help="only commands whose name has this")
    parser.add_argument("--kind", action="append", choices=KINDS)
    options = parser.parse_args()
    options.jitproof = os.path.abspath(options.jitproof)
    # What a run leaves behind becomes our child, and is seen.
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    tried, bad, start = 0, list[str](), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        shim = os.path.join(folder, "shim.so")
        process.must(["gcc", "-O1", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", shim, SHIM, "-ldl"])
        for command in commands(folder):
            if options.command not in command.name:
                continue
            for kind in options.kind or KINDS:
                got = measure(options, shim, command, kind)
                tried += got.tried
                bad += got.bad
                print(f"{command.name}: {kind}: {got.calls} calls from {got.sites} sites, "
                      f"{got.tried} failed, {len(got.bad)} bad", flush=True)
                for line in got.bad:
                    print("  " + line, flush=True)
    print(f"# {tried} faults, {len(bad)} bad, {time.monotonic() - start:.0f} s")
    return 1 if bad or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
