#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Shows the findings of results/FINDINGS.md on this machine: kernel, perf, elfutils and others.

Prints a line each: "shown" or "not here", the finding's name, the version that it was measured
with, and the figures. Measures findings about perf once for each perf. Exit status: 0 if all were
measured, 1 if one failed, 4 if none could be measured."""

import argparse
import os
import sys
import tempfile

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base.status import Missing
from ci.findings import byte_order, elfutils, files, inject, kernel, perf, shown, unwind
from ci.findings.context import FINDINGS, Context
from ci.perf import perf_tools, perf_versions

# These modules register their findings.
MODULES = (kernel, perf, inject, files, shown, unwind, elfutils, byte_order)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     epilog="findings: " + " ".join(FINDINGS))
    parser.add_argument("--jitproof", default="build/jitproof", help="default: %(default)s")
    parser.add_argument("--perf-dir", default="build/perf",
                        help="folder of the suites' perfs (default: %(default)s)")
    parser.add_argument("--perf", action="append", metavar="WANTED",
                        help='a suite, a version, "all" or "installed" (the default); '
                             'may be repeated')
    parser.add_argument("name", nargs="*", help="default: all findings")
    options = parser.parse_args()
    unknown = set(options.name) - set(FINDINGS)
    if unknown:
        parser.error("unknown finding: " + ", ".join(sorted(unknown)))
    if options.perf and "all" in options.perf:
        options.perf = list(perf_tools.SUITES)
    failed = measured = 0
    with tempfile.TemporaryDirectory(prefix="jitproof-findings-") as folder:
        os.chmod(folder, 0o755)
        context = Context(options, folder)
        perf_versions.build_program(context.program)
        for name in options.name or FINDINGS:
            try:
                for version, shows, figures in FINDINGS[name](context):
                    measured += 1
                    print("%-8s %-20s %-10s %s" % ("shown" if shows else "not here", name, version,
                                                   figures), flush=True)
            except Missing as reason:
                print("%-8s %-20s %-10s %s" % ("SKIP", name, "", reason), flush=True)
            except (OSError, RuntimeError, ValueError) as error:
                failed += 1
                print("%-8s %-20s %-10s %s" % ("ERROR", name, "", error), flush=True)
    if failed:
        return 1
    return 0 if measured else 4


if __name__ == "__main__":
    sys.exit(main())
