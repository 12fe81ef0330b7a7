#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Records a real JIT (node) with different options of perf, and compares every count of `jitproof
judge` with perf's dump of the same file (compare_figures.py).

Exit status: 0 all agree, 1 some do not, 4 perf or node is missing.
"""

import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Iterable, Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files
from ci.perf import compare_figures

# A JIT, worker threads and a child process, for about a second. Each round compiles new functions.
WORKLOAD = """
const { Worker, isMainThread } = require('worker_threads');
const { spawnSync } = require('child_process');

function round(seed) {
    const body = `let s = ${seed}; for (let i = 0; i < n; i++) s = (s * 31 + i * ${seed}) % 65521;
                  return s;`;
    const leaf = new Function('n', body);
    const down = (depth, n) => depth ? down(depth - 1, n) + 1 : leaf(n);
    let sum = 0;
    for (let i = 0; i < 200; i++)
        sum += down(20, 400);
    return sum + JSON.stringify({ seed, list: [1, 2, 3] }).length;
}

const until = Date.now() + (isMainThread ? 1000 : 600);
if (isMainThread) {
    new Worker(__filename);
    spawnSync(process.execPath, ['-e', 'let s = 0; for (let i = 0; i < 3e7; i++) s += i % 7']);
}
for (let seed = 1; Date.now() < until; seed++)
    round(seed);
"""

RECORD = ["record", "-k", "mono", "-e", "cpu-clock"]
# (name, options of perf record, options of node). perf writes a pipe's file to standard output.
CAPTURES: list[tuple[str, list[str], list[str]]] = [
    ("plain", ["-g"], []),
    ("perf-map", ["-g"], ["--perf-basic-prof"]),
    ("compressed", ["-g", "-z"], []),
    ("compressed-perf-map", ["-g", "-z"], ["--perf-basic-prof"]),
    ("two-events", ["-g", "-e", "task-clock"], []),
    ("two-events-compressed", ["-g", "-e", "task-clock", "-z"], []),
    ("dwarf", ["-F", "499", "--call-graph", "dwarf"], []),
    ("dwarf-compressed", ["-F", "499", "--call-graph", "dwarf", "-z"], []),
    ("system-wide", ["-g", "-a"], []),
    ("per-thread", ["-g", "--per-thread"], []),
    ("data-mappings", ["-g", "-d"], []),
    ("pipe", ["-g"], []),
    ("pipe-compressed", ["-g", "-z"], []),
    ("pipe-two-events", ["-g", "-e", "task-clock"], []),
]


def capture(options: argparse.Namespace, name: str, perf_options: Sequence[str],
            node_options: Sequence[str], path: str) -> str | None:
    """Records one perf.data. Returns an error message, or None."""
    pipe = name.startswith("pipe")
    script = os.path.join(options.dir, "workload.js")
    command = [options.perf, *RECORD, *perf_options, "-o", "-" if pipe else path, "--",
               options.node, *node_options, script]
    with open(path if pipe else os.devnull, "wb") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, check=False,
                              cwd=options.dir)
    if done.returncode:
        return "%s: exit %d: %s" % (" ".join(command), done.returncode,
                                    done.stderr.decode(errors="replace").strip())
    return None


def remove_perf_maps(pids: Iterable[int]) -> None:
    """Removes the perf maps that node left in /tmp."""
    for pid in pids:
        try:
            os.unlink("/tmp/perf-%d.map" % pid)
        except OSError:
            pass


def check(options: argparse.Namespace, name: str, perf_options: Sequence[str],
          node_options: Sequence[str]) -> tuple[bool, str]:
    """Records and compares a capture. Returns whether all counts agree, and the lines to print."""
    path = os.path.join(options.dir, name + ".data")
    wrong = capture(options, name, perf_options, node_options, path)
    if wrong:
        return False, "%-22s FAIL %s" % (name, wrong)
    try:
        differences, figures, peer = compare_figures.compare(options.perf, options.jitproof, path)
    except (RuntimeError, ValueError) as error:
        return False, "%-22s FAIL %s" % (name, error)
    if node_options:
        remove_perf_maps(peer["processes"])
    if not peer["samples"]:
        differences.append("no samples: nothing was compared")
    if not options.keep:
        os.unlink(path)
    line = ("%-22s %s %7d samples %8d addresses %4d processes, %d of %d figures differ"
            % (name, "FAIL" if differences else "ok  ", peer["samples"], peer["addresses"],
               len(peer["processes"]), len(differences), figures))
    return not differences, "\n    ".join([line, *differences])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--perf", default="perf")
    parser.add_argument("--node", default="node")
    parser.add_argument("--jitproof", default="build/jitproof")
    parser.add_argument("--keep", metavar="DIR", help="keep the captures in this folder")
    parser.add_argument("name", nargs="*", help="only these captures")
    options = parser.parse_args()
    missing = [tool for tool in (options.perf, options.node) if not shutil.which(tool)]
    if missing:
        print("SKIP real captures: not installed: " + ", ".join(missing))
        return 4
    options.jitproof = os.path.abspath(options.jitproof)
    chosen = [one for one in CAPTURES if not options.name or one[0] in options.name]
    unknown = set(options.name) - {one[0] for one in CAPTURES}
    if unknown:
        parser.error("no capture called " + ", ".join(sorted(unknown)))
    with tempfile.TemporaryDirectory(prefix="jitproof-real-") as scratch:
        options.dir = options.keep or scratch
        os.makedirs(options.dir, exist_ok=True)
        files.write(os.path.join(options.dir, "workload.js"), WORKLOAD)
        good = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for agrees, lines in pool.map(lambda one: check(options, *one), chosen):
                print(lines, flush=True)
                good += agrees
    print("real captures: %d of %d agree with perf script -D in every count" % (good, len(chosen)))
    return 0 if good == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
