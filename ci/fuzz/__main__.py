#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make fuzz with clang: each target for its share of the seconds, by coverage.

Corpora are kept in BUILD/corpus and minimized; what kills a target is kept in BUILD/findings.
Prints executions, findings and the branches covered by folder: by the corpora alone, and with the
tests where `make coverage` ran them. Ends with 1 where a finding is.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import process

ROOT = os.path.abspath(__file__ + "/../../..")


class Fuzzed(NamedTuple):
    name: str
    executions: int
    corpus: int
    findings: list[str]
    profile: str


def run_target(target: str, options: list[str], env: dict[str, str], seconds: int, corpus: str,
               known: str) -> int:
    """Adds inputs to @corpus and minimizes it. Returns the number of runs of the target."""
    result = process.run([target, *options, f"-max_total_time={seconds}", "-print_final_stats=1",
                          corpus, *([known] if os.path.isdir(known) else [])], env=env, cwd=ROOT)
    executions = re.search(r"number_of_executed_units:\s*(\d+)", result.stderr) or \
        re.search(r"#(\d+)\s+DONE", result.stderr)
    small = corpus + ".small"
    shutil.rmtree(small, ignore_errors=True)
    os.makedirs(small)
    if not process.run([target, *options, "-merge=1", small, corpus], env=env, cwd=ROOT).returncode:
        shutil.rmtree(corpus)
        os.rename(small, corpus)
    return int(executions.group(1)) if executions else 0


def fuzz_target(target: str, build: str, seconds: int, profiles: str) -> Fuzzed:
    """Fuzzes for @seconds; 0 only measures the coverage of the corpus."""
    name = os.path.basename(target).partition("_")[2]
    corpus, findings = os.path.join(build, "corpus", name), os.path.join(build, "findings", name)
    for folder in (corpus, findings):
        os.makedirs(folder, exist_ok=True)
    env = {**os.environ, "LLVM_PROFILE_FILE": os.devnull}
    process.run_or_raise([target], env={**env, "FUZZ_SEEDS": corpus}, cwd=ROOT)
    options = ["-close_fd_mask=3", "-timeout=20", "-rss_limit_mb=3000", "-max_len=262144",
               f"-artifact_prefix={findings}/"]
    known = os.path.join(ROOT, "harness", "selftest", "fuzz", "corpus", name)
    executed = run_target(target, options, env, seconds, corpus, known) if seconds else 0
    profile = os.path.join(profiles, name + ".profraw")
    process.run([target, *options, "-runs=0", corpus],
                env={**env, "LLVM_PROFILE_FILE": profile}, cwd=ROOT)
    return Fuzzed(name, executed, len(os.listdir(corpus)),
                  sorted(glob.glob(findings + "/*")), profile)


def measure_coverage(targets: list[str], profiles: list[str], folder: str) -> dict[str,
                                                                                   tuple[int, int]]:
    """Counts covered branches and all branches of each folder, and of all folders below harness/.
    """
    merged = os.path.join(folder, "all.profdata")
    process.run_or_raise(["llvm-profdata", "merge", "-sparse", "-o", merged,
                          *(path for path in profiles if os.path.exists(path))])
    objects = [word for target in targets[1:] for word in ("-object", target)]
    report = json.loads(process.run_or_raise(["llvm-cov", "export", "-summary-only",
                                    "-instr-profile", merged, targets[0], *objects], cwd=ROOT))
    by_folder: dict[str, tuple[int, int]] = {}
    for file in report["data"][0]["files"]:
        path = os.path.relpath(file["filename"], ROOT) if os.path.isabs(file["filename"]) \
            else file["filename"]
        name = os.path.dirname(os.path.normpath(path))
        if not name.startswith(("harness/format", "harness/model", "harness/inject",
                                "harness/explain", "harness/judge", "validators")):
            continue
        branches = file["summary"]["branches"]
        for key in {name, "/".join(name.split("/")[:2])}:
            old = by_folder.get(key, (0, 0))
            by_folder[key] = old[0] + branches["covered"], old[1] + branches["count"]
    return by_folder


def show_coverage(targets: list[str], profiles: list[str], build: str, folder: str) -> None:
    """Prints the covered branches of each folder: by the corpora alone, and together with the tests
    if `make coverage` ran them."""
    tests = glob.glob(os.path.join(build, "covered", "profiles", "*.profraw"))
    try:
        by_fuzzing = measure_coverage(targets, profiles, folder) if targets else {}
        both = measure_coverage([os.path.join(build, "covered", "jitproof"), *targets],
                                [*profiles, *tests], folder) if tests else {}
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        print(f"# no coverage: {error}")
        return

    def format_column(coverage: dict[str, tuple[int, int]], name: str) -> str:
        covered, count = coverage.get(name, (0, 0))
        return f"{covered:6} of {count:6}  {100 * covered / count:5.1f} %" if count else "-"

    print(f"{'branches covered by':<28} {'the corpora':>25} {'the tests, too':>25}")
    for name in sorted({*by_fuzzing, *both}):
        print(f"{name:<28} {format_column(by_fuzzing, name):>25} {format_column(both, name):>25}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build",
                        help="the build folder (default: build)")
    parser.add_argument("--seconds", type=int, default=60,
                        help="time for all targets together; 0: only measure the coverage")
    parser.add_argument("-j", type=int, default=1, dest="jobs",
                        help="targets at the same time (default: 1)")
    parser.add_argument("targets", nargs="*",
                        help="fuzz targets (default: all)")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    targets = [os.path.abspath(str(target)) for target in options.targets]
    seconds_each = options.seconds and max(1,
                                           options.seconds * options.jobs // max(1, len(targets)))
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda target: fuzz_target(target, build, seconds_each, folder),
                                targets))
        for result in results:
            print(f"{result.name:<14} {result.executions:10} executions, {result.corpus:5} inputs "
                  f"kept, {len(result.findings)} findings")
            for path in result.findings:
                print("  " + path)
        show_coverage(targets, [result.profile for result in results], build, folder)
    print(f"# {sum(result.executions for result in results)} executions, {seconds_each} s a target")
    return 1 if any(result.findings for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
