# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix run: the suite on kernels, each in virtual machines of its own.

With TCG (the default) a run is a function of kernel, suite and seed: the same again gives the same
results, bit by bit, however busy this machine is. With --accel=kvm or
--accel=wall it is a measurement.
"""

import argparse
import concurrent.futures
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
                        help="only these cases; of all cases where --suite is not given")
    parser.add_argument("--suite", help="short (default), full, profilers or profilers-full")
    parser.add_argument("--seed", type=option_types.seed, default=1, help="default: 1")
    parser.add_argument("--smp", type=option_types.positive,
                        help="processors, instead of each group's own")
    parser.add_argument("-j", "--jobs", type=option_types.positive, default=os.cpu_count() or 1,
                        help="VMs at a time (default: %(default)s)")
    parser.add_argument("-o", "--output", default=os.path.join(build, "matrix"), metavar="DIR",
                        help="a folder for each kernel goes there (default: %(default)s)")
    parser.add_argument("--accel", choices=("tcg", "wall", "kvm", "auto"), default="tcg",
                        help="wall: TCG by this machine's clock; auto: KVM where a short boot "
                        "shows that it works")
    parser.add_argument("--no-facts", action="store_true", help="leave out jitproof facts")
    parser.add_argument("--timeout", type=option_types.positive, metavar="SECONDS",
                        help="of this machine, for a case; instead of the configuration's")
    parser.add_argument("--jitproof", default=os.path.join(build, "jitproof"))
    parser.add_argument("--init", default=os.path.join(build, "vm/init"),
                        help="the guest's first process")
    parser.add_argument("--clock", default=os.path.join(build, "vm/clock.so"),
                        help="what QEMU takes for its clock of the day")
    parser.add_argument("--peers", metavar="DIR",
                        default=os.environ.get("JITPROOF_PEERS") or os.path.join(build, "peers"),
                        help="where ci/peers installed profilers (default: %(default)s)")
    parser.set_defaults(run=status.of("ci/matrix run", run))


def again(kernel: Kernel, suite: str, options: argparse.Namespace, accel: str) -> str:
    """The command that makes a cell again, without a path of this machine."""
    words = ["python3", "ci/matrix", "run", "--kernel", kernel.label if kernel.package else "PATH",
             "--suite", suite, "--seed", str(options.seed)]
    words += [word for glob in options.case for word in ("--case", glob)]
    if options.no_facts:
        words += ["--no-facts"]
    if options.smp:
        words += ["--smp", str(options.smp)]
    if accel != "tcg":
        words += ["--accel", accel]
    return shlex.join(words)


def furnish(options: argparse.Namespace, groups: list[suites.Group],
            missing: dict[str, str]) -> dict[str, bytes]:
    """The initramfs of each group whose profiler is here; why not of the others into @missing."""
    facts, made = not options.no_facts and job.has_facts(options.jitproof), dict[str, bytes]()
    for group in groups:
        try:
            # The facts are the kernel's, not the group's: once is enough.
            made[group.name] = job.build(options.jitproof, options.init, group, options.seed,
                                         facts and group is groups[0] and not group.profiler,
                                         options.peers)
        except Missing as reason:
            missing[group.name] = str(reason)
    return made


def plans(options: argparse.Namespace, config: dict[str, Any]) -> tuple[list[Plan], dict[str, str]]:
    """A Plan for each kernel, and {kernel: why there is none}."""
    for name in ("jitproof", "init", "clock"):
        if not os.path.exists(getattr(options, name)):
            raise FileNotFoundError("%s is not built: make all vm-init" % getattr(options, name))
    if options.timeout:
        config["limits"]["case"] = options.timeout
    suite = options.suite or ("full" if options.case else "short")
    groups = suites.groups(config, suites.names(config, suite, options.jitproof), suite,
                           options.case, options.smp)
    found = qemu.find(config["qemu"], options.cache)
    kernels = Kernels(config["kernels"], options.cache)
    made, missing = list[Plan](), dict[str, str]()
    initrds = furnish(options, groups, missing)
    groups = [group for group in groups if group.name in initrds]
    if not groups:
        return made, missing
    accel = options.accel
    for wanted in dict.fromkeys(options.kernel or config["kernels"]["versions"]):
        try:
            kernel = kernels.find(wanted)
        except Missing as reason:
            missing[wanted] = str(reason)
            continue
        if accel == "auto":
            works, why = accelerator.kvm_works(found, kernel, options.init)
            accel = "kvm" if works else "tcg"
            print("accelerator: %s%s" % (accel, "" if works else ", because KVM: " + why),
                  file=sys.stderr)
        made.append(Plan(kernel, found, tuple(groups), config, initrds, options.jitproof, suite,
                         options.seed, accel, os.path.abspath(options.clock),
                         again(kernel, suite, options, accel)))
    labels = [plan.kernel.label for plan in made]
    for label in labels:
        if labels.count(label) > 1:
            raise Missing("two of these kernels are called %s, and so would be their results"
                          % label)
    return made, missing


def summary(cell: dict[str, Any]) -> str:
    cases = ", ".join("%d %s" % (count, name) for name, count in cell.get("cases", {}).items())
    reasons = [group["reason"] for group in cell["groups"] if group["reason"]]
    reasons += [cell["reason"]] if cell.get("reason") else []
    reasons += ["SKIP that is not on the list: " + skip for skip in cell.get("unlisted_skips", [])]
    return "  ".join(filter(None, (cell["outcome"], cases, "; ".join(reasons))))


def good(cell: dict[str, Any]) -> bool:
    return cell["outcome"] == "DONE" and set(cell.get("cases", {})) <= GOOD \
        and not cell.get("unlisted_skips")


def run_all(made: list[Plan], options: argparse.Namespace, progress: Progress,
            stopped: threading.Event) -> list[dict[str, Any]]:
    """The cells, in the order of their plans."""
    def one(plan: Plan) -> dict[str, Any]:
        label = plan.kernel.label
        kind = ScoreCell if plan.groups[0].profiler else Cell
        cell = kind(plan, options.output, stopped, lambda text: progress.at(label, text)).run()
        progress.end(label, summary(cell))
        return cell

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(one, plan) for plan in made]
        try:
            return [future.result() for future in futures]
        except BaseException:
            # Each thread ends its machine, and removes what it has so far.
            stopped.set()
            for future in futures:
                future.cancel()
            raise


def run(options: argparse.Namespace) -> int:
    stopped, started = threading.Event(), time.monotonic()
    made, missing = plans(options, configuration.load(options.config))
    os.makedirs(options.output, exist_ok=True)
    progress = Progress(len(made))
    try:
        cells = run_all(made, options, progress, stopped)
    finally:
        progress.close()
    for wanted, reason in missing.items():
        print("SKIP %s: %s" % (wanted, reason))
    for cell in cells:
        print("%s (%s): %s" % (cell["kernel"], cell["version"], summary(cell)))
    if not cells:
        return 4
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print("%d of %d kernels whole, %.0f s, %.0f s of processors" % (
        sum(cell["outcome"] in ("DONE", "SPLAT") for cell in cells), len(cells),
        time.monotonic() - started, used.ru_utime + used.ru_stime))
    return 0 if all(good(cell) for cell in cells) else 1
