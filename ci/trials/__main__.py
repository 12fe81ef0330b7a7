#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tries what real JITs publish: runs `jitproof trial` on each runtime that it knows, twice, and
writes results/JITS.md (--page).

Skips a runtime that is not installed and prints how to install it. Exit status: 0 tried, 1 a trial
failed, 4 no runtime is installed.
"""

import argparse
import fnmatch
import json
import os
import shlex
import subprocess
import sys
import time
from typing import Mapping, Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import debian_packages, files, process
from ci.base.status import Missing
from ci.trials.page import Cells, Tried, make_page

OPTIONS = ("--json", "--seed", "7", "--bursts", "25", "--steps", "2000")
ROUNDS = 2
TIMEOUT = 600
# Command lines that --install may run, as scripts of runtimes print them.
INSTALLERS = ("npm install ", "python3 -m pip install ")


def install_qemu(runtimes: str) -> None:
    """Installs Debian 13's qemu-user, which can write a map or a jitdump and needs no libraries."""
    root = os.path.join(runtimes, "debian")
    if os.path.exists(os.path.join(root, "usr/bin/qemu-x86_64")):
        return
    os.makedirs(root, exist_ok=True)
    with debian_packages.Archive("trixie", runtimes) as archive:
        version = archive.candidate("qemu-user")
        if version:
            debian_packages.unpack([archive.fetch("qemu-user", version, runtimes)], root)


def install(reason: str) -> bool:
    """Runs the command that @reason ends with, if it is one of INSTALLERS. Returns whether it did.
    """
    command = reason.rpartition(": ")[2]
    if not command.startswith(INSTALLERS):
        return False
    process.run_or_raise(shlex.split(command), timeout=600)
    return True


def try_once(jitproof: str, name: str) -> Cells:
    """Raises Missing if the runtime is not installed."""
    result = subprocess.run([jitproof, "trial", *OPTIONS, name], text=True, capture_output=True,
                            stdin=subprocess.DEVNULL, timeout=TIMEOUT)
    if result.returncode == 4:
        raise Missing(result.stderr.partition("skip: ")[2].strip())
    lines = [line for line in result.stdout.splitlines() if line.startswith('{"seed"')]
    if result.returncode not in (0, 1) or not lines:
        raise RuntimeError("exit %d: %s" % (result.returncode, result.stderr.strip()[-300:]))
    cells: Cells = json.loads(lines[-1])["cells"]
    return cells


def try_runtime(jitproof: str, name: str, may_install: bool) -> Tried:
    start = time.monotonic()
    try:
        first = try_once(jitproof, name)
    except Missing as missing:
        if not may_install or not install(str(missing)):
            raise
        first = try_once(jitproof, name)
    rounds = [first, *(try_once(jitproof, name) for _ in range(ROUNDS - 1))]
    return Tried(name, rounds, time.monotonic() - start)


def print_result(tried: Tried) -> None:
    red = ["%s %d of %d" % (cell, tried.rounds[0][cell]["bad"], tried.rounds[0][cell]["of"])
           for cell in tried.red_cells]
    print("%s: %s%s" % (tried.name, ", ".join(red) or (
        "no red cell" if tried.rounds[0]["published"]["of"] else "no emitted code ran in a burst"),
                        "; differs between rounds: " + ", ".join(tried.unsteady_cells)
                        if tried.unsteady_cells else ""),
          flush=True)


def try_all(jitproof: str, names: Sequence[str], may_install: bool
            ) -> tuple[list[Tried], Mapping[str, str], int]:
    """Returns the tried runtimes; the reasons of those skipped; and the number of failures."""
    results: list[Tried] = []
    skipped: dict[str, str] = {}
    failed = 0
    for name in names:
        try:
            results.append(try_runtime(jitproof, name, may_install))
            print_result(results[-1])
        except Missing as reason:
            skipped[name] = str(reason)
            print("%s: skipped: %s" % (name, reason), flush=True)
        except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
            failed += 1
            print("%s: failed: %s" % (name, error), flush=True)
    return results, skipped, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jitproof", default="build/jitproof", help="default: %(default)s")
    parser.add_argument("--install", action="store_true",
                        help="install missing packages of npm, PyPI and Debian 13 into "
                        "$JITPROOF_RUNTIMES (build/runtimes)")
    parser.add_argument("--page", help="write the table to this file")
    parser.add_argument("globs", nargs="*", default=["*"],
                        help="names of runtimes (default: all)")
    options = parser.parse_args()
    jitproof = os.path.abspath(options.jitproof)
    runtimes = os.path.abspath(os.environ.setdefault("JITPROOF_RUNTIMES", "build/runtimes"))
    os.environ["JITPROOF_RUNTIMES"] = runtimes
    if options.install:
        install_qemu(runtimes)
    names = [name for name in process.run_or_raise([jitproof, "trial", "--list"]).split()
             if any(fnmatch.fnmatch(name, glob) for glob in options.globs)]
    results, skipped, failed = try_all(jitproof, names, options.install)
    if options.page:
        files.write(options.page, make_page(results, skipped))
    if failed:
        return 1
    return 0 if results else 4


if __name__ == "__main__":
    sys.exit(main())
