# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix tools: runs the same cases with several versions of perf, on this kernel."""

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
from ci.perf import perf_tools

DESCRIPTION = """Runs the cases that perf records or injects (docs/profiler-adapters.md) with one
perf after the other, on this machine's kernel and by its wall clock. Like `make perf-versions`,
it fetches and unpacks the perfs without installing them. The results are in DIR/perf-VERSION, for
`ci/matrix store DIR` and `ci/matrix compare`. The exit status is 1 if a run was lost or a perf is
not available, 130 after an interrupt; it does not depend on the outcomes of the cases."""
VERSIONS = ("5.10", "6.1", "6.12", "7.2", "7.3")
# The cases that another profiler records or injects.
CASES = ("peers/*", "process-tree/*.perf")
# Seconds until a run of one perf counts as hung.
TIMEOUT_S = 1800


def make_label(perf: perf_tools.Perf) -> str:
    """Returns "perf-6.12" for perf 6.12.107."""
    return "perf-%d.%d" % perf.number[:2]


def describe_cell(options: argparse.Namespace, perf: perf_tools.Perf, seed: int) -> dict[str, Any]:
    """Returns the content of cell.json without outcome and reason, which the run determines."""
    own = [name for name in perf.packages if name.startswith("linux-perf")]
    command = ["python3", "ci/matrix", "tools", "--perf", ".".join(map(str, perf.number[:2])),
               "--seed", str(seed)]
    command += [word for case in options.cases for word in ("--case", case)]
    return {"kind": "tool", "label": make_label(perf), "version": perf.version,
            "package": " ".join(own) or "as installed", "packages": sorted(perf.packages),
            "kernel": os.uname().release, "accelerator": "wall clock",
            "suite": " ".join(options.cases), "command": shlex.join(command), "seed": seed}


def run_jitproof(options: argparse.Namespace, perf: perf_tools.Perf, seed: int,
                 folder: str) -> tuple[str, str]:
    """Runs the cases with one perf and seed into @folder. Returns outcome and reason."""
    # An absolute path: replace_paths() finds it in the reasons of cases.
    command = [options.jitproof, "run", "--set=full", "--seed", str(seed),
               "-o", os.path.abspath(folder), *options.cases]
    environment = {**perf.environment, "JITPROOF_PERF": perf.path}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env=environment, text=True,
                               errors="replace")
    try:
        output, _ = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return "LOST", "still running after %d s" % TIMEOUT_S
    finally:
        # jitproof ends its children on SIGTERM. A script's background processes ignore SIGINT.
        process.terminate()
        process.communicate()
    if process.returncode not in (0, 1, 4):
        return "LOST", "jitproof run ended with %d: %s" % (
            process.returncode, " | ".join(output.strip().splitlines()[-3:])[:400])
    return "DONE", ""


def run_cell(options: argparse.Namespace, perf: perf_tools.Perf, seed: int, folder: str) -> str:
    """Runs a cell in a .partial folder and renames the complete folder. Returns the outcome."""
    partial = folder + cells.PARTIAL
    shutil.rmtree(partial, ignore_errors=True)
    os.makedirs(options.output, exist_ok=True)
    cell = describe_cell(options, perf, seed)
    try:
        cell["outcome"], cell["reason"] = run_jitproof(options, perf, seed, partial)
        os.makedirs(partial, exist_ok=True)
        files.write(os.path.join(partial, cells.CELL), json.dumps(cell, indent=1) + "\n")
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    os.rename(partial, folder)
    return cell["outcome"]


def summarize_cell(folder: str) -> str:
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


def find_unmatched_glob(options: argparse.Namespace) -> str | None:
    """Returns the first glob that matches no case, or None."""
    for glob in options.cases:
        if process.run([options.jitproof, "list", glob]).returncode:
            return glob
    return None


def find_perfs(options: argparse.Namespace) -> tuple[list[perf_tools.Perf], int]:
    """Finds the wanted perfs. Returns them, and how many are not available."""
    found, missing = [], 0
    for wanted in dict.fromkeys(options.perf):
        try:
            found.append(perf_tools.find(options.perf_dir, wanted))
        except Missing as reason:
            print("perf %s: %s" % (wanted, reason), flush=True)
            missing += 1
    # Two names may mean the same perf.
    return sorted(dict.fromkeys(found), key=lambda perf: perf.number), missing


def plan_cells(options: argparse.Namespace,
               perfs: list[perf_tools.Perf]) -> list[tuple[perf_tools.Perf, int, str]]:
    """Returns (perf, seed, folder) of each cell. Fails before any runs if a folder exists."""
    seeds = list(dict.fromkeys(options.seed or [1]))
    made = [(perf, seed, os.path.join(options.output, make_label(perf) + (
        "" if len(seeds) == 1 else ".seed-%d" % seed))) for perf in perfs for seed in seeds]
    folders = [folder for _, _, folder in made]
    for folder in folders:
        if folders.count(folder) > 1:
            raise status.Refused("two of these perfs would use the folder %s" % folder)
        if os.path.lexists(folder):
            raise FileExistsError(errno.EEXIST, "exists already", folder)
    return made


def run(options: argparse.Namespace) -> int:
    options.jitproof = os.path.abspath(options.jitproof)
    if not os.access(options.jitproof, os.X_OK):
        raise FileNotFoundError(errno.ENOENT, "is not built", options.jitproof)
    options.cases = options.case or list(CASES)
    glob = find_unmatched_glob(options)
    if glob is not None:
        raise status.Refused("no case matches %s" % glob)
    perfs, lost = find_perfs(options)
    for perf, seed, folder in plan_cells(options, perfs):
        lost += run_cell(options, perf, seed, folder) != "DONE"
        print("%s (perf %s): %s" % (os.path.basename(folder), perf.version, summarize_cell(folder)),
              flush=True)
    return 1 if lost else 0


def add(subparsers: Subparsers) -> None:
    build = os.environ.get("O", "build")
    parser = subparsers.add_parser("tools", help="run the same cases with several perfs",
                                   description=DESCRIPTION)
    parser.add_argument("-o", "--output", metavar="DIR",
                        default=os.path.join(build, "matrix-tools"),
                        help="must not hold results of these perfs (default: %(default)s)")
    parser.add_argument("--perf", nargs="+", default=list(VERSIONS), metavar="VERSION",
                        help='versions, suites or "installed" (default: %s)' % " ".join(VERSIONS))
    parser.add_argument("--case", action="append", metavar="GLOB",
                        help="may be repeated; default: %s" % " ".join(CASES))
    parser.add_argument("--seed", action="append", type=option_types.parse_seed, metavar="N",
                        help="may be repeated; default: 1")
    parser.add_argument("--jitproof", default=os.path.join(build, "jitproof"),
                        help="default: build/jitproof")
    parser.add_argument("--perf-dir", default=os.path.join(build, "perf"),
                        help="folder of the unpacked perfs (default: %(default)s)")
    parser.set_defaults(run=status.guard_command("ci/matrix tools", run))
