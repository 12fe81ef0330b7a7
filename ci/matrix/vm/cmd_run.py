# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix run: runs the suite on kernels, each in its own virtual machines.

With TCG (the default) a run is a function of kernel, suite and seed: a repetition gives the same
results bit by bit, however busy this machine is. With --accel=kvm or --accel=wall a run is a
measurement.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import resource
import shlex
import sys
import threading
import time
from typing import Any

from ci.base import status
from ci.base.status import Missing
from ci.matrix import option_types
from ci.matrix.option_types import Subparsers
from ci.matrix.vm import accelerator, configuration, job, qemu, suites
from ci.matrix.vm.cell import Cell, Plan
from ci.matrix.vm.score_cell import ScoreCell
from ci.matrix.vm.kernels import Kernel, Kernels
from ci.matrix.vm.progress import Progress

GOOD = {"PASS", "SKIP", "XFAIL"}


def add(subparsers: Subparsers) -> None:
    build = os.environ.get("O", "build")
    parser = subparsers.add_parser("run", help="run the suite on kernels", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    configuration.add_options(parser)
    parser.add_argument("--kernel", action="append", metavar="VERSION|PATH",
                        help="6.12, 6.12.107, a vmlinuz, a kernel's build tree; may be repeated "
                        "(default: all of the configuration)")
    parser.add_argument("--case", action="append", default=[], metavar="GLOB",
                        help="only these cases; may be repeated (default suite: full)")
    parser.add_argument("--suite", help="short (default), full, profilers or profilers-full")
    parser.add_argument("--seed", type=option_types.parse_seed, default=1, help="default: 1")
    parser.add_argument("-j", "--jobs", type=option_types.parse_positive,
                        default=os.cpu_count() or 1,
                        help="VMs at a time (default: %(default)s)")
    parser.add_argument("-o", "--output", default=os.path.join(build, "matrix"), metavar="DIR",
                        help="gets a folder for each kernel (default: %(default)s)")
    parser.add_argument("--accel", choices=("tcg", "wall", "kvm", "auto"), default="tcg",
                        help="wall: TCG by this machine's clock; auto: KVM if a short boot "
                        "shows that it works")
    parser.add_argument("--no-facts", action="store_true", help="do not run jitproof facts")
    parser.add_argument("--jitproof", default=os.path.join(build, "jitproof"))
    parser.add_argument("--guest", metavar="FILE",
                        help="the guest's jitproof (default: that of --jitproof; with --arch that "
                        "of O=%s/ARCH)" % build)
    parser.add_argument("--init", metavar="FILE",
                        help="the guest's first process (default: vm/init beside its jitproof)")
    parser.add_argument("--clock", default=os.path.join(build, "vm/clock.so"),
                        help="library that replaces QEMU's time of day")
    parser.add_argument("--peers", metavar="DIR",
                        help="folder of the profilers of ci/peers (default: $JITPROOF_PEERS or "
                        "%s/peers; with --arch the one of O=%s/ARCH)" % (build, build))
    parser.set_defaults(run=status.guard_command("ci/matrix run", run))


def make_command(kernel: Kernel, suite: str, options: argparse.Namespace, accel: str) -> str:
    """Returns the command that makes a cell again, without a path of this machine."""
    version = kernel.label.partition("-")[0] if kernel.package else "PATH"
    words = ["python3", "ci/matrix", "run", "--kernel", version, "--suite", suite, "--seed",
             str(options.seed)]
    words += ["--arch", options.arch] if options.arch != configuration.NATIVE else []
    words += [word for glob in options.case for word in ("--case", glob)]
    if options.no_facts:
        words += ["--no-facts"]
    if accel != "tcg":
        words += ["--accel", accel]
    return shlex.join(words)


def build_initrds(options: argparse.Namespace, groups: list[suites.Group], config: dict[str, Any],
                  missing: dict[str, str]) -> dict[str, bytes]:
    """Builds the initramfs of each group. If a group's profiler is not installed, stores the reason
    in @missing. @config: the table [qemu]."""
    initrds = dict[str, bytes]()
    for group in groups:
        try:
            # The facts depend on the kernel only: one group collects them.
            initrds[group.name] = job.build(options.guest, options.init, group, options.seed,
                                         not options.no_facts and group is groups[0]
                                         and not group.profiler,
                                         options.peers, config.get("loader", []),
                                         config.get("root", ""))
        except Missing as reason:
            missing[group.name] = str(reason)
    return initrds


def choose_programs(options: argparse.Namespace) -> None:
    """Sets the programs of the guest that the options do not name."""
    build = os.environ.get("O", "build")
    if options.arch == configuration.NATIVE:
        options.guest = options.guest or options.jitproof
        options.peers = options.peers or os.environ.get("JITPROOF_PEERS") or build + "/peers"
    else:
        build = os.path.join(build, options.arch)
        options.guest = options.guest or build + "/jitproof"
        options.peers = options.peers or build + "/peers"
    options.init = options.init or os.path.join(os.path.dirname(options.guest), "vm/init")


def plan_cells(options: argparse.Namespace,
               config: dict[str, Any]) -> tuple[list[Plan], dict[str, str]]:
    """Returns a plan for each kernel, and {kernel or group: the reason why it is missing}."""
    choose_programs(options)
    for name in ("jitproof", "guest", "init", "clock"):
        if not os.path.exists(getattr(options, name)):
            raise FileNotFoundError("%s is not built: make all vm-init" % getattr(options, name))
    suite = options.suite or ("full" if options.case else "short")
    groups = suites.make_groups(config, suites.list_names(config, suite, options.jitproof), suite,
                                options.case)
    position = qemu.find(config["qemu"], options.cache)
    kernels = Kernels(config["kernels"], options.cache)
    plans, missing = list[Plan](), dict[str, str]()
    initrds = build_initrds(options, groups, config["qemu"], missing)
    groups = [group for group in groups if group.name in initrds]
    if not groups:
        return plans, missing
    accel = options.accel
    for version in dict.fromkeys(options.kernel or config["kernels"]["versions"]):
        try:
            kernel = kernels.find(version)
            if options.arch != configuration.NATIVE:
                # The folder of the same kernel for this machine has the label without the
                # architecture.
                kernel = dataclasses.replace(kernel, label=kernel.label + "-" + options.arch)
        except Missing as reason:
            missing[version] = str(reason)
            continue
        if accel == "auto":
            works, explanation = accelerator.try_kvm(position, kernel, options.init)
            accel = "kvm" if works else "tcg"
            print("accelerator: %s%s" % (accel, "" if works else ", because KVM: " + explanation),
                  file=sys.stderr)
        plans.append(Plan(kernel, position, tuple(groups), config, initrds, options.jitproof, suite,
                         options.seed, accel, os.path.abspath(options.clock),
                         make_command(kernel, suite, options, accel)))
    labels = [plan.kernel.label for plan in plans]
    for label in labels:
        if labels.count(label) > 1:
            raise Missing("two of these kernels have the label %s; run one of them" % label)
    return plans, missing


def summarize(cell: dict[str, Any]) -> str:
    cases = ", ".join("%d %s" % (count, name) for name, count in cell.get("cases", {}).items())
    reasons = [group["reason"] for group in cell["groups"] if group["reason"]]
    reasons += [cell["reason"]] if cell.get("reason") else []
    reasons += ["SKIP that is not on the list: " + skip for skip in cell.get("unlisted_skips", [])]
    return "  ".join(filter(None, (cell["outcome"], cases, "; ".join(reasons))))


def is_good(cell: dict[str, Any]) -> bool:
    return cell["outcome"] == "DONE" and set(cell.get("cases", {})) <= GOOD \
        and not cell.get("unlisted_skips")


def run_all(plans: list[Plan], options: argparse.Namespace, progress: Progress,
            stopped: threading.Event) -> list[dict[str, Any]]:
    """Runs all plans. Returns the cells in the order of their plans."""
    def run_one(plan: Plan) -> dict[str, Any]:
        label = plan.kernel.label
        kind = ScoreCell if plan.groups[0].profiler else Cell
        cell = kind(plan, options.output, stopped, lambda text: progress.show(label, text)).run()
        progress.end(label, summarize(cell))
        return cell

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(run_one, plan) for plan in plans]
        try:
            return [future.result() for future in futures]
        except BaseException:
            # Each thread ends its VM and removes its partial results.
            stopped.set()
            for future in futures:
                future.cancel()
            raise


def run(options: argparse.Namespace) -> int:
    stopped, started = threading.Event(), time.monotonic()
    plans, missing = plan_cells(options, configuration.load(options.config, options.arch))
    os.makedirs(options.output, exist_ok=True)
    progress = Progress(len(plans))
    try:
        cells = run_all(plans, options, progress, stopped)
    finally:
        progress.close()
    for version, reason in missing.items():
        print("SKIP %s: %s" % (version, reason))
    for cell in cells:
        print("%s (%s): %s" % (cell["kernel"], cell["version"], summarize(cell)))
    if not cells:
        return 4
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print("%d of %d kernels complete, %.0f s, %.0f s of CPU time" % (
        sum(cell["outcome"] in ("DONE", "SPLAT") for cell in cells), len(cells),
        time.monotonic() - started, used.ru_utime + used.ru_stime))
    return 0 if all(map(is_good, cells)) else 1
