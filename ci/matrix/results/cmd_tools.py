# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix tools: runs the same cases with several versions of perf, on this kernel."""

import argparse
import collections
import json
import os
import shlex
import shutil
import subprocess
from typing import Any

from ci.base import files, status
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


def describe_cell(options: argparse.Namespace, perf: perf_tools.Perf) -> dict[str, Any]:
    """Returns the content of cell.json without outcome and reason, which the run determines."""
    own_packages = [name for name in perf.packages if name.startswith("linux-perf")]
    number = "%d.%d" % perf.number[:2]
    command = ["python3", "ci/matrix", "tools", "--perf", number, "--seed", str(options.seed)]
    command += [word for case in options.case for word in ("--case", case)]
    return {"kind": "tool", "label": "perf-" + number, "version": perf.version,
            "package": " ".join(own_packages) or "as installed", "packages": sorted(perf.packages),
            "kernel": os.uname().release, "accelerator": "wall clock",
            "suite": " ".join(options.case), "command": shlex.join(command), "seed": options.seed}


def run_jitproof(options: argparse.Namespace, perf: perf_tools.Perf, folder: str) -> str:
    """Runs the cases with one perf into @folder. Returns why the run is lost, or ""."""
    running = None
    try:
        with status.delay_stop():
            running = subprocess.Popen(
                [options.jitproof, "run", "--set=full", "--seed", str(options.seed), "-o", folder,
                 *options.case], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="replace",
                env={**perf.environment, "JITPROOF_PERF": perf.path})
        output, _ = running.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return "still running after %d s" % TIMEOUT_S
    finally:
        # jitproof ends its children on SIGTERM. A script's background processes ignore SIGINT.
        if running:
            running.terminate()
            running.communicate()
    if running.returncode in (0, 1, 4):
        return ""
    return "jitproof run ended with %d: %s" % (
        running.returncode, " | ".join(output.strip().splitlines()[-3:])[:400])


def run_cell(options: argparse.Namespace, perf: perf_tools.Perf, folder: str) -> None:
    """Makes the new folder of a cell, which an interrupt removes."""
    cell = describe_cell(options, perf)
    try:
        cell["reason"] = run_jitproof(options, perf, folder)
        cell["outcome"] = "LOST" if cell["reason"] else "DONE"
        os.makedirs(folder, exist_ok=True)
        files.write(os.path.join(folder, cells.CELL), json.dumps(cell, indent=1) + "\n")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def summarize_cell(cell: stored.Stored) -> str:
    if cell.lost:
        return cell.lost
    counts = collections.Counter(case["outcome"] for case in cell.cases.values())
    lines = ["%s (%d cases)" % (" ".join("%s:%d" % (name, counts[name])
                                         for name in stored.OUTCOMES if name in counts),
                                len(cell.cases))]
    for name, case in sorted(cell.cases.items()):
        if case["outcome"] in stored.BAD or case.get("crashed"):
            lines.append("  %s %s %s: %s" % (case["outcome"], case.get("crashed", ""), name,
                                             case["why"].split("\n", 1)[0][:160]))
    return "\n".join(lines)


def run(options: argparse.Namespace) -> int:
    options.case = options.case or list(CASES)
    nr_lost = 0
    for version in options.perf:
        try:
            perf = perf_tools.find(options.perf_dir, version)
        except Missing as reason:
            print("perf %s: %s" % (version, reason), flush=True)
            nr_lost += 1
            continue
        # An absolute path: replace_paths() finds it in the reasons of cases.
        folder = os.path.abspath(os.path.join(options.output, "perf-%d.%d" % perf.number[:2]))
        os.makedirs(options.output, exist_ok=True)
        if os.path.lexists(folder):
            raise status.Unusable("%s: exists already" % folder)
        run_cell(options, perf, folder)
        cell = cells.load(folder)
        nr_lost += bool(cell.lost)
        print("perf %s: %s" % (perf.version, summarize_cell(cell)), flush=True)
    return 1 if nr_lost else 0


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
    parser.add_argument("--seed", type=option_types.parse_seed, default=1, help="default: 1")
    parser.add_argument("--jitproof", default=os.path.join(build, "jitproof"),
                        help="default: build/jitproof")
    parser.add_argument("--perf-dir", default=os.path.join(build, "perf"),
                        help="folder of the unpacked perfs (default: %(default)s)")
    parser.set_defaults(run=status.guard_command("ci/matrix tools", run))
