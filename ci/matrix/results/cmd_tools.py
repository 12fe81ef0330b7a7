# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix tools: the same cases through several versions of perf, on this kernel."""

import argparse
import collections
import errno
import json
import os
import shlex
import shutil
import subprocess
from typing import Any

from ci.base import files, process, status
from ci.base.status import Missing
from ci.matrix import option_types
from ci.matrix.option_types import Subparsers
from ci.matrix.results import cells, stored
from ci.peer import perf_tools

DESCRIPTION = """Runs the cases that perf records or injects (docs/profiler-adapters.md) with each
perf in its turn, on this machine's kernel and by its wall clock. The perfs are fetched and
unpacked, not installed, as `make perf-versions` does it. What came out is in DIR/perf-VERSION, for
`ci/matrix store DIR` and `ci/matrix compare`. The status is 1 where a perf was lost or could not be
had, 130 where it was interrupted; what its cases came to is for compare to judge."""
VERSIONS = ("5.10", "6.1", "6.12", "7.2", "7.3")
# All that another profiler records or injects.
CASES = ("peers/*", "process-tree/*.perf")
# All of it with one perf took 55 s when measured; whoever takes this long hangs.
TIMEOUT_S = 1800


def kernel() -> str:
    return os.uname().release


def label_of(perf: perf_tools.Perf) -> str:
    """perf-6.12 of perf 6.12.107."""
    return "perf-%d.%d" % perf.number[:2]


def cell_of(options: argparse.Namespace, perf: perf_tools.Perf, seed: int) -> dict[str, Any]:
    """What is known before the run; outcome and reason come after it."""
    own = [name for name in perf.packages if name.startswith("linux-perf")]
    command = ["python3", "ci/matrix", "tools", "--perf", ".".join(map(str, perf.number[:2])),
               "--seed", str(seed)]
    command += [word for case in options.cases for word in ("--case", case)]
    return {"kind": "tool", "label": label_of(perf), "version": perf.version,
            "package": " ".join(own) or "as installed", "packages": sorted(perf.packages),
            "kernel": kernel(), "accelerator": "wall clock", "suite": " ".join(options.cases),
            "command": shlex.join(command), "seed": seed}


def run_jitproof(options: argparse.Namespace, perf: perf_tools.Perf, seed: int,
                 folder: str) -> tuple[str, str]:
    """Outcome and reason of one run; its folder holds what it left."""
    # The whole path: from it a reader of the results knows where they lay.
    command = [options.jitproof, "run", "--set=full", "--seed", str(seed),
               "-o", os.path.abspath(folder), *options.cases]
    environment = {**perf.environment, "JITPROOF_PERF": perf.path}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env=environment, text=True,
                               errors="replace")
    try:
        said, _ = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return "LOST", "no end after %d s" % TIMEOUT_S
    finally:
        # Where it did not end: it ends what it started. Not SIGINT, which what a script starts in
        # the background ignores.
        process.terminate()
        process.communicate()
    if process.returncode not in (0, 1, 4):
        return "LOST", "jitproof run ended with %d: %s" % (
            process.returncode, " | ".join(said.strip().splitlines()[-3:])[:400])
    return "DONE", ""


def run_cell(options: argparse.Namespace, perf: perf_tools.Perf, seed: int, folder: str) -> str:
    """Makes the folder of a cell, which has its name once all of it is there; its outcome."""
    partial = folder + cells.PARTIAL
    shutil.rmtree(partial, ignore_errors=True)
    os.makedirs(options.output, exist_ok=True)
    cell = cell_of(options, perf, seed)
    try:
        cell["outcome"], cell["reason"] = run_jitproof(options, perf, seed, partial)
        os.makedirs(partial, exist_ok=True)
        files.write(os.path.join(partial, cells.CELL), json.dumps(cell, indent=1) + "\n")
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    os.rename(partial, folder)
    return cell["outcome"]


def tell(folder: str) -> str:
    made = cells.load(folder)
    if made.lost:
        return made.lost
    counts = collections.Counter(case["outcome"] for case in made.cases.values())
    lines = ["%s (%d cases)" % (" ".join("%s:%d" % (name, counts[name])
                                         for name in stored.OUTCOMES if name in counts),
                                len(made.cases))]
    for name, case in sorted(made.cases.items()):
        if case["outcome"] in stored.BAD or case.get("crashed"):
            lines.append("  %s %s %s: %s" % (case["outcome"], case.get("crashed", ""), name,
                                             case["why"].split("\n", 1)[0][:160]))
    return "\n".join(lines)


def unmatched(options: argparse.Namespace) -> str | None:
    """The first glob that matches no case, or None: less would run than was asked for."""
    for glob in options.cases:
        if process.run([options.jitproof, "list", glob]).returncode:
            return glob
    return None


def find(options: argparse.Namespace) -> tuple[list[perf_tools.Perf], int]:
    """The perfs that are wanted, and how many cannot be had."""
    found, missing = [], 0
    for wanted in dict.fromkeys(options.perf):
        try:
            found.append(perf_tools.find(options.perf_dir, wanted))
        except Missing as reason:
            print("perf %s: %s" % (wanted, reason), flush=True)
            missing += 1
    # One may be wanted by two names.
    return sorted(dict.fromkeys(found), key=lambda perf: perf.number), missing


def plan(options: argparse.Namespace,
         perfs: list[perf_tools.Perf]) -> list[tuple[perf_tools.Perf, int, str]]:
    """(perf, seed, folder) of each cell, none of which is there; before any is run."""
    seeds = list(dict.fromkeys(options.seed or [1]))
    made = [(perf, seed, os.path.join(options.output, label_of(perf) + (
        "" if len(seeds) == 1 else ".seed-%d" % seed))) for perf in perfs for seed in seeds]
    folders = [folder for _, _, folder in made]
    for folder in folders:
        if folders.count(folder) > 1:
            raise status.Refused("two of these perfs would be %s" % folder)
        if os.path.lexists(folder):
            raise FileExistsError(errno.EEXIST, "is there already", folder)
    return made


def run(options: argparse.Namespace) -> int:
    options.jitproof = os.path.abspath(options.jitproof)
    if not os.access(options.jitproof, os.X_OK):
        raise FileNotFoundError(errno.ENOENT, "is not built", options.jitproof)
    options.cases = options.case or list(CASES)
    glob = unmatched(options)
    if glob is not None:
        raise status.Refused("no case matches %s" % glob)
    perfs, lost = find(options)
    for perf, seed, folder in plan(options, perfs):
        lost += run_cell(options, perf, seed, folder) != "DONE"
        print("%s (perf %s): %s" % (os.path.basename(folder), perf.version, tell(folder)),
              flush=True)
    return 1 if lost else 0


def add(subparsers: Subparsers) -> None:
    build = os.environ.get("O", "build")
    parser = subparsers.add_parser("tools", help="the same cases through several perfs",
                                   description=DESCRIPTION)
    parser.add_argument("-o", "--output", metavar="DIR",
                        default=os.path.join(build, "matrix-tools"),
                        help="must not have these perfs yet (default: %(default)s)")
    parser.add_argument("--perf", nargs="+", default=list(VERSIONS), metavar="VERSION",
                        help='versions, suites or "installed" (default: %s)' % " ".join(VERSIONS))
    parser.add_argument("--case", action="append", metavar="GLOB",
                        help="again and again; default: %s" % " ".join(CASES))
    parser.add_argument("--seed", action="append", type=option_types.seed, metavar="N",
                        help="again and again; default: 1")
    parser.add_argument("--jitproof", default=os.path.join(build, "jitproof"),
                        help="default: build/jitproof")
    parser.add_argument("--perf-dir", default=os.path.join(build, "perf"),
                        help="where the perfs are kept (default: %(default)s)")
    parser.set_defaults(run=status.of("ci/matrix tools", run))
