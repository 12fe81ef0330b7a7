#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs jitproof for a CI service: the cases here, then on other kernels, then a profiler's score.

Writes into the new folder DIR: run/, the run directory; matrix/, a run directory for each kernel;
score/, the runs under the profiler; report.html; and a summary in Markdown, which is also added to
the file that $GITHUB_STEP_SUMMARY names.

Exit status: the first that is not 0 of `jitproof run`, `ci/matrix run` and `jitproof score`; a run
that skips every case (4) counts as 0 with --skip-ok.
"""

import argparse
import json
import os
import subprocess
import sys
from typing import Iterator, Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files

ROOT = os.path.abspath(__file__ + "/../../..")
SKIPPED = 4


def escape_cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def summarize_run(title: str, path: str, status: int) -> Iterator[str]:
    """Yields the lines of the results.jsonl @path: totals, then the failures."""
    yield f"## {title}: status {status}\n"
    if not os.path.exists(path):
        yield "No case was judged.\n"
        return
    results = [json.loads(line) for line in files.read(path).splitlines()]
    outcomes = sorted({result["outcome"] for result in results})
    yield ", ".join(f"{sum(result['outcome'] == outcome for result in results)} {outcome}"
                    for outcome in outcomes) + "\n"
    unexpected = [result for result in results if result["outcome"] not
                  in ("PASS", "SKIP", "XFAIL")]
    if unexpected:
        yield "| case | outcome | why |\n|---|---|---|"
        for result in unexpected:
            first, *other_lines = result["why"].splitlines() or [""]
            yield (f"| `{result['case']}` | {result['outcome']} | {escape_cell(first)}"
                   f"{f' (+{len(other_lines)} more)' if other_lines else ''} |")
        yield f"\nIn the artifact, `jitproof show '{unexpected[0]['case']}' run` shows why.\n"


def run_shown(command: Sequence[str]) -> tuple[int, str]:
    """Runs @command and shows its output; returns its exit status and output."""
    print("$ " + " ".join(command), flush=True)
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8",
                          errors="replace") as child:
        assert child.stdout
        for line in child.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return child.returncode, "".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitproof", metavar="FILE", help="the program (O/jitproof)",
                        default=os.path.join(ROOT, os.environ.get("O", "build"), "jitproof"))
    parser.add_argument("--set", default="check", choices=("check", "full"), help="(%(default)s)")
    parser.add_argument("--kernels", default="", metavar="VERSION...",
                        help="kernels of ci/matrix/matrix.toml, separated by blanks (none)")
    parser.add_argument("--profiler", default="", metavar="NAME", help="score it, too (none)")
    parser.add_argument("--skip-ok", action="store_true",
                        help="accept a machine that skips every case")
    parser.add_argument("output", metavar="DIR",
                        help="the new folder for the results")
    parser.add_argument("cases", metavar="GLOB", nargs="*", help="only these cases of the set")
    asked = parser.parse_args()
    os.makedirs(asked.output)
    run = os.path.join(asked.output, "run")
    status, _ = run_shown([asked.jitproof, "run", "--set", asked.set, "-o", run, *asked.cases])
    status = 0 if asked.skip_ok and status == SKIPPED else status
    summary = [*summarize_run("This kernel", os.path.join(run, "results.jsonl"), status)]
    if asked.kernels:
        matrix = os.path.join(asked.output, "matrix")
        ended, _ = run_shown([sys.executable, os.path.join(ROOT, "ci", "matrix"), "run", "-o",
                              matrix, *("--kernel=" + name for name in asked.kernels.split())])
        for kernel in sorted(os.listdir(matrix) if os.path.isdir(matrix) else []):
            summary += summarize_run(kernel, os.path.join(matrix, kernel, "results.jsonl"), ended)
        status = status or ended
    if asked.profiler:
        ended, table = run_shown([asked.jitproof, "score", "--profiler", asked.profiler, "-o",
                                  os.path.join(asked.output, "score")])
        summary += [f"## Score of {asked.profiler}: status {ended}\n", f"```\n{table}```\n"]
        status = status or ended
    run_shown([asked.jitproof, "report", run, "-o", os.path.join(asked.output, "report.html")])
    text = "\n".join(summary) + "\n"
    files.write(os.path.join(asked.output, "summary.md"), text)
    if os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(os.environ["GITHUB_STEP_SUMMARY"], "a", encoding="utf-8") as file:
            file.write(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
