#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes captures with a known cause for harness/selftest/labelled.

Records each recipe into FOLDER/NAME: perf.data, root/ (the files that it names), label (the cause,
then causes that may come first as well) and how (the commands). --pack makes the archives of the
tree from them. Captures of large runtimes stay outside the tree if it has a similar one.

Needs the right to profile, and the perfs of five Debian suites (ci/perf/perf_tools.py). Skips a
recipe whose runtime is not installed and prints how to install it.
"""

import argparse
import fnmatch
import os
import shutil
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files
from ci.base.status import Missing
from ci.labelled import (of_damage, of_emitters, of_engines, of_options, of_pairs, of_programs,
                         of_rare_engines, of_reports, of_runtimes, of_servers, of_workloads, pack,
                         sysroot)
from ci.labelled.bench import Bench
from ci.labelled.recipe import RECIPES, Recipe

# These modules register their recipes.
MODULES = (of_damage, of_emitters, of_engines, of_options, of_pairs, of_programs,
           of_rare_engines, of_reports, of_runtimes, of_servers, of_workloads)


def record_capture(one: Recipe, options: argparse.Namespace) -> int:
    """Records one capture. Returns the number of its samples."""
    bench = Bench(options.scratch, one.name)
    one.make(bench)
    target = os.path.join(options.folder, one.name)
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    touched = sysroot.Touched(bench.data)
    dumps = [bench.place(name) for name in os.listdir(bench.folder) if name.startswith("jit-")]
    sysroot.copy(sysroot.list_wanted_files(touched, [*bench.extra, *dumps], bench.folder),
                 os.path.join(target, "root"))
    sysroot.remove_broken_maps(touched)
    shutil.copy2(bench.data, os.path.join(target, "perf.data"))
    files.write(os.path.join(target, "label"), "\n".join(one.label) + "\n")
    files.write(os.path.join(target, "how"), "\n".join(bench.steps) + "\n")
    return touched.samples


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jitproof", default="build/jitproof", help="default: %(default)s")
    parser.add_argument("--scratch", default="/tmp/labelled",
                        help="where programs run and perfs are kept (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="only list recipes and labels")
    parser.add_argument("--pack", metavar="DIR", help="only make the archives of FOLDER in DIR, "
                        "which replaces those in DIR")
    parser.add_argument("--add", action="store_true",
                        help="with --pack: add archives to DIR, and keep the other ones")
    parser.add_argument("--only", metavar="GLOB", action="append",
                        help="only these recipes; repeatable")
    parser.add_argument("folder", nargs="?", default="build/labelled", help="default: %(default)s")
    options = parser.parse_args()
    if options.pack and options.only and not options.add:
        parser.error("--pack replaces all archives of DIR; with --only it needs --add")
    chosen = [one for name, one in sorted(RECIPES.items())
              if any(fnmatch.fnmatch(name, glob) for glob in options.only or ["*"])]
    if options.list:
        for one in chosen:
            print("%-32s %s" % (one.name, " ".join(one.label)))
        return 0
    if options.pack:
        pack.pack(options.folder, options.pack, [one.name for one in chosen], options.add)
        return 0
    os.makedirs(os.path.join(options.scratch, "bin"), exist_ok=True)
    shutil.copy2(options.jitproof, os.path.join(options.scratch, "bin", "jitproof"))
    failed = made = 0
    for one in chosen:
        try:
            samples = record_capture(one, options)
        except Missing as reason:
            print("SKIP  %-32s %s" % (one.name, reason), flush=True)
        except (OSError, RuntimeError, ValueError) as error:
            failed += 1
            print("ERROR %-32s %s" % (one.name, error), flush=True)
        else:
            made += 1
            size = os.path.getsize(os.path.join(options.folder, one.name, "perf.data"))
            print("ok    %-32s %5d samples %6d kB" % (one.name, samples, size // 1024), flush=True)
    if failed:
        return 1
    return 0 if made else 4


if __name__ == "__main__":
    sys.exit(main())
