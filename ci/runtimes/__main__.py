#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Records each real runtime in each of its ways to publish names (ci/labelled/of_runtimes.py and
of_servers.py) and compares the figures with results/runtimes.toml, so that a new version of a
runtime cannot get worse unnoticed.

Prints TAP; skips a runtime that is not installed and prints how to install it. Exit status: 0 no
figure is worse, 1 a figure is worse or a main cause differs, 4 no runtime is installed.
"""

import argparse
import fnmatch
import json
import os
import shutil
import sys
import tomllib
from typing import Any

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, process
from ci.base.status import Missing
from ci.labelled import of_runtimes, of_servers  # they register their recipes
from ci.labelled.bench import Bench
from ci.labelled.recipe import HEALTHY, RECIPES

RANGES = "results/runtimes.toml"
RATES = ("single", "unmapped", "unnamed")


def divide(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def read_figures(jitproof: str, data: str) -> dict[str, Any]:
    """Returns the figures of a capture: rates of its stacks and names, and its causes."""
    judged = json.loads(process.run_or_raise([jitproof, "judge", "--json", data], timeout=300))
    explained = process.run([jitproof, "explain", "--json", data], timeout=300)
    if explained.returncode not in (0, 1):
        raise RuntimeError(explained.stderr.strip())
    causes = [one["id"] for one in json.loads(explained.stdout)["causes"]]
    names = judged["names"]
    return {"samples": judged["samples"], "causes": causes or [HEALTHY],
            "single": divide(judged["single_frame"], judged["user_stacks"]),
            "unmapped": divide(judged["addresses_unmapped"], judged["addresses"]),
            "unnamed": divide(names["unnamed"], names["samples"])}


def find_problems(found: dict[str, Any], limits: dict[str, Any]) -> list[str]:
    """Returns a text for each figure that is worse than its limit or differs from it."""
    problems = ["%s %.1f %% > %.1f %%" % (rate, 100 * found[rate], 100 * limits[rate])
                for rate in RATES if found[rate] > limits.get(rate, 1)]
    if found["causes"][0] not in limits["causes"]:
        problems.append("main cause %s, not %s" % (
            found["causes"][0], " or ".join(limits["causes"])))
    if found["samples"] < limits["samples"]:
        problems.append("%d samples, %d needed" % (found["samples"], limits["samples"]))
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jitproof", default="build/jitproof", help="default: %(default)s")
    parser.add_argument("--scratch", default="/tmp/labelled",
                        help="where runtimes run and perfs are kept (default: %(default)s)")
    parser.add_argument("globs", nargs="*", default=["*"],
                        help="names of checks (default: all)")
    options = parser.parse_args()
    ranges = tomllib.loads(files.read(RANGES))
    chosen = [name for name in ranges if any(fnmatch.fnmatch(name, glob) for glob in options.globs)]
    os.makedirs(os.path.join(options.scratch, "bin"), exist_ok=True)
    shutil.copy2(options.jitproof, os.path.join(options.scratch, "bin", "jitproof"))
    print("1..%d" % len(chosen))
    failed = tried = 0
    for number, name in enumerate(chosen, 1):
        try:
            bench = Bench(options.scratch, name)
            RECIPES[name].make(bench)
            found = read_figures(options.jitproof, bench.data)
        except Missing as reason:
            print("ok %d %s # SKIP %s" % (number, name, reason), flush=True)
            continue
        except (OSError, RuntimeError, ValueError) as error:
            failed += 1
            print("not ok %d %s # %s" % (number, name, error), flush=True)
            continue
        tried += 1
        problems = find_problems(found, ranges[name])
        failed += bool(problems)
        print("%s %d %s # %s" % (
              "not ok" if problems else "ok", number, name, "; ".join(problems) or
              "%d samples, single %.1f %%, unmapped %.1f %%, unnamed %.1f %%, %s" % (
                  found["samples"], *(100 * found[rate] for rate in RATES),
                  ", ".join(found["causes"]))), flush=True)
    if failed:
        return 1
    return 0 if tried else 4


if __name__ == "__main__":
    assert of_runtimes and of_servers
    sys.exit(main())
