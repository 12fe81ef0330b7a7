# SPDX-License-Identifier: GPL-2.0-only
"""Records a real JIT (node) with different options of perf."""

import argparse
import os
import subprocess
from typing import Iterable, Sequence

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

RECORD = ["record", "-k", "mono", "-e", "cpu-clock", "-F", "997"]
# (name, options of perf record, options of node). perf writes a pipe's file to standard output.
CAPTURES: list[tuple[str, list[str], list[str]]] = [
    ("plain", ["-g"], []),
    ("perf-map", ["-g"], ["--perf-basic-prof"]),
    ("compressed", ["-g", "-z"], []),
    ("compressed-perf-map", ["-g", "-z"], ["--perf-basic-prof"]),
    ("two-events", ["-g", "-e", "task-clock"], []),
    ("two-events-compressed", ["-g", "-e", "task-clock", "-z"], []),
    ("dwarf", ["-F", "499", "--call-graph", "dwarf"], []),
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
        result = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, check=False,
                                cwd=options.dir)
    if result.returncode:
        return "%s: exit %d: %s" % (" ".join(command), result.returncode,
                                    result.stderr.decode(errors="replace").strip())
    return None


def remove_perf_maps(pids: Iterable[int]) -> None:
    """Removes the perf maps that node left in /tmp."""
    for pid in pids:
        try:
            os.unlink("/tmp/perf-%d.map" % pid)
        except OSError:
            pass
