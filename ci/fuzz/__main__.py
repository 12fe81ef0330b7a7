#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make fuzz with clang: each target for its share of the seconds, by coverage.

Corpora are kept in BUILD/corpus and minimized; what kills a target is kept in BUILD/findings.
Prints executions, findings and the branches covered, by folder; ends with 1 where one was found.
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


def fuzz(target: str, build: str, seconds: int, profiles: str) -> Fuzzed:
    name = os.path.basename(target).partition("_")[2]
    corpus, found = os.path.join(build, "corpus", name), os.path.join(build, "findings", name)
    for folder in (corpus, found):
        os.makedirs(folder, exist_ok=True)
    env = {**os.environ, "LLVM_PROFILE_FILE": os.devnull}
    process.must([target], env={**env, "FUZZ_SEEDS": corpus}, cwd=ROOT)
    options = ["-close_fd_mask=3", "-timeout=20", "-rss_limit_mb=3000", "-max_len=262144",
               f"-artifact_prefix={found}/"]
    known = os.path.join(ROOT, "harness", "selftest", "corpus", name)
    done = process.run([target, *options, f"-max_total_time={seconds}", "-print_final_stats=1",
                        corpus, *([known] if os.path.isdir(known) else [])], env=env, cwd=ROOT)
    executions = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr) or \
        re.search(r"#(\d+)\s+DONE", done.stderr)
    small = corpus + ".small"
    shutil.rmtree(small, ignore_errors=True)
    os.makedirs(small)
    if not process.run([target, *options, "-merge=1", small, corpus], env=env, cwd=ROOT).returncode:
        shutil.rmtree(corpus)
        os.rename(small, corpus)
    profile = os.path.join(profiles, name + ".profraw")
    process.run([target, *options, "-runs=0", corpus],
                env={**env, "LLVM_PROFILE_FILE": profile}, cwd=ROOT)
    return Fuzzed(name, int(executions.group(1)) if executions else 0, len(os.listdir(corpus)),
                  sorted(glob.glob(found + "/*")), profile)


def coverage(targets: list[str], profiles: list[str], folder: str) -> dict[str, tuple[int, int]]:
    """Branches covered, and all, by folder below harness/."""
    merged = os.path.join(folder, "all.profdata")
    process.must(["llvm-profdata", "merge", "-sparse", "-o", merged,
                  *(path for path in profiles if os.path.exists(path))])
    objects = [word for target in targets[1:] for word in ("-object", target)]
    said = json.loads(process.must(["llvm-cov", "export", "-summary-only",
                                    "-instr-profile", merged, targets[0], *objects], cwd=ROOT))
    by_folder: dict[str, tuple[int, int]] = {}
    for file in said["data"][0]["files"]:
        path = os.path.relpath(file["filename"], ROOT) if os.path.isabs(file["filename"]) \
            else file["filename"]
        name = os.path.dirname(os.path.normpath(path))
        if not name.startswith(("harness/format", "harness/model", "harness/inject",
                                "harness/explain", "harness/judge", "validators")):
            continue
        branches, old = file["summary"]["branches"], by_folder.get(name, (0, 0))
        by_folder[name] = old[0] + branches["covered"], old[1] + branches["count"]
    return by_folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=int, default=60, help="of all targets together")
    parser.add_argument("-j", type=int, default=1, dest="jobs")
    parser.add_argument("targets", nargs="+")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    targets = [os.path.abspath(str(target)) for target in options.targets]
    each = max(1, options.seconds * options.jobs // len(targets))
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda target: fuzz(target, build, each, folder), targets))
        for result in results:
            print(f"{result.name:<14} {result.executions:10} executions, {result.corpus:5} inputs "
                  f"kept, {len(result.findings)} findings")
            for path in result.findings:
                print("  " + path)
        try:
            found = coverage(targets, [result.profile for result in results], folder)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            print(f"# no coverage: {error}")
            found = {}
        for name, (covered, count) in sorted(found.items()):
            print(f"{name:<28} {covered:6} of {count:6} branches  {100 * covered / count:5.1f} %"
                  if count else f"{name}: no branches")
    print(f"# {sum(result.executions for result in results)} executions, {each} s a target")
    return 1 if any(result.findings for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
