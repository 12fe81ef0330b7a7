#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares jitproof with several versions of perf, in both directions.

ours: each perf opens captures of `jitproof record` and `jitproof run`. It must print nothing on
standard error, exit with 0 and count what `jitproof judge --json` counts (perf_reads_ours.py), and
its `script -D` must show the same figures (compare_figures.py).
theirs: each perf records a small program and a JIT (node). `jitproof judge --json` must count what
`script -D` of the same perf shows.

Prints one line for each perf and capture; the last line is "N passed, N failed, N skipped".
"""

import argparse
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Callable, Iterable, Iterator, Sequence

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, process
from ci.base.status import Missing
from ci.perf import (compare_figures, compare_names, perf_reads_ours, perf_tools,
                     real_captures)
from ci.perf.perf_tools import Perf

# A thread, a child and calls 20 deep, for as many milliseconds as its argument.
PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile long sum;

static __attribute__((noinline)) long down(int depth, long n)
{
	long s = 0;

	if (depth)
		return down(depth - 1, n) + 1;
	for (long i = 0; i < n; i++)
		s += i ^ i >> 3;
	return s;
}

/* The end of the work in ms, shared with the child. */
static _Atomic double *until;

static void set_end(double ms)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	*until = now.tv_sec * 1e3 + now.tv_nsec / 1e6 + ms;
}

static void *work(void *unused)
{
	struct timespec now;

	do {
		sum += down(20, 20000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec * 1e3 + now.tv_nsec / 1e6 < *until);
	return NULL;
}

/* With a second argument, the program runs until its standard input ends, and then for the given
 * time. */
static void *wait_for_input_end(void *ms)
{
	char byte;

	while (read(0, &byte, 1) > 0)
		;
	set_end(*(double *)ms);
	return NULL;
}

int main(int argc, char **argv)
{
	double ms = atof(argv[1]);
	pthread_t thread, waiting;
	pid_t child;

	until = mmap(NULL, sizeof(*until), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (until == MAP_FAILED)
		return 1;
	set_end(argc > 2 ? 1e12 : ms);
	/* The line reports that main() runs. */
	if (write(1, "ready\\n", 6) != 6 || pthread_create(&thread, NULL, work, NULL) ||
	    (argc > 2 && pthread_create(&waiting, NULL, wait_for_input_end, &ms)))
		return 1;
	child = fork();
	work(NULL);
	if (child == 0)
		_exit(0);
	pthread_join(thread, NULL);
	return waitpid(child, NULL, 0) != child;
}
"""
BUSY = "200"  # argument of the program, in milliseconds

# (name, options of `jitproof record`, attach)
OURS: list[tuple[str, list[str], bool]] = [
    ("launch", [], False),
    ("launch-stack", ["--stack=8192"], False),
    ("launch-no-chain", ["--stack=8192", "--no-chain"], False),
    ("task-clock", ["--task-clock"], False),
    ("attach", [], True),
    ("attach-stack", ["--stack=8192"], True),
    ("system-wide", ["-a"], False),
    ("user-only", ["--user-only"], False),
    ("all-maps", ["--all-maps", "--synth=all"], True),
]
# Cases of the set check: samples by clock and by breakpoint, anonymous and memfd code, deep chains.
CASES = ["exact/*", "preexisting/anon.attach.*", "preexisting/memfd.attach.exec",
         "attach/before-snapshot.exec"]

# (name, options of `perf record`, condition): perf and this kernel support the options if the
# condition's perf command prints its text. None: always.
DEFER = (("evlist", "-v"), "defer_callchain")
COMPRESSED = (("report", "--header-only"), "compressed")
THEIRS = [
    ("plain", ["-g"], None),
    ("dwarf", ["--call-graph", "dwarf"], None),
    ("compressed", ["-g", "-z"], COMPRESSED),
    ("dwarf-compressed", ["--call-graph", "dwarf", "-z"], COMPRESSED),
    ("system-wide", ["-g", "-a"], None),
    ("two-events", ["-g", "-e", "task-clock"], None),
    ("group", ["-g", "-e", "{cpu-clock,task-clock}:S"], None),
    ("per-thread", ["-g", "--per-thread"], None),
    ("data-mappings", ["-g", "-d"], None),
    ("build-ids", ["-g", "--buildid-mmap"], (("evlist", "-v"), "build_id: 1")),
    ("no-build-ids", ["-g", "--no-buildid-mmap"], None),
    ("deferred", ["--call-graph", "fp,defer"], DEFER),
    ("off-cpu", ["-g", "--off-cpu"], (("evlist", "-v"), "offcpu-time")),
    ("cgroups", ["-g", "-s", "--namespaces", "--all-cgroups"], None),
]
# perf's messages about an option that this version or build does not have: a SKIP, no failure.
UNKNOWN = re.compile(r"unknown (?:option|switch)|No more arguments needed|is being ignored")


class Sums:
    """Prints results and counts them."""

    def __init__(self) -> None:
        self.states: collections.Counter[str] = collections.Counter()

    def add(self, perf: str, capture: str, state: str, text: str,
            lines: Sequence[str] = ()) -> None:
        self.states[state] += 1
        print("%-4s %-10s %-36s %s" % (state, perf, capture, text), flush=True)
        for line in lines:
            print("     " + line, flush=True)


def check_each(perf: Perf, kind: str, rows: Iterable[Any], check: Callable[..., dict[str, Any]],
               sums: Sums) -> None:
    """Calls @check with the parts of each row, as many at a time as there are CPUs. A row begins
    with the capture's name; @check returns arguments for Sums.add()."""
    rows = list(rows)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for row, result in zip(rows, pool.map(lambda row: check(*row), rows)):
            sums.add(perf.version, "%s/%s" % (kind, row[0]), **result)


def build_program(path: str) -> None:
    process.compile_c(PROGRAM, path, "-O1", "-g", "-fno-omit-frame-pointer", "-pthread")


def record_ours(options: argparse.Namespace, arguments: Sequence[str], attach: bool,
                path: str) -> str | None:
    """Records a capture with jitproof. Returns an error message, or None."""
    command = [options.jitproof, "record", *arguments, "-o", path]
    if not attach:
        result = process.run(command + ["--", options.program, BUSY], timeout=300)
        return None if result.returncode == 0 else result.stderr.strip()
    # The capture ends with its program.
    with subprocess.Popen([options.program, BUSY, "wait"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as program:
        assert program.stdout and program.stdin
        program.stdout.readline()
        with subprocess.Popen(command + ["-p", str(program.pid)], stderr=subprocess.PIPE,
                              text=True) as recording:
            assert recording.stderr
            first = recording.stderr.readline()  # the capture has started, or an error
            program.stdin.close()
            errors = first + recording.communicate(timeout=300)[1]
    return None if recording.returncode == 0 else errors.strip()


def record_captures(options: argparse.Namespace, sums: Sums) -> Iterator[tuple[str, str]]:
    for name, arguments, attach in OURS:
        path = os.path.join(options.dir, "ours-" + name + ".data")
        problems = record_ours(options, arguments, attach, path)
        if problems:
            sums.add("jitproof", "ours/" + name, "FAIL", "jitproof record: " + problems)
        else:
            yield name, path
    folder = os.path.join(options.dir, "run")
    process.run([options.jitproof, "run", "--set=check", "-o", folder, *CASES], timeout=300)
    paths = perf_reads_ours.find_captures([folder])
    if not paths:
        sums.add("jitproof", "ours/run", "FAIL", "jitproof run left no capture")
    for path in paths:
        yield os.path.relpath(os.path.dirname(path), folder), path


def compare(options: argparse.Namespace, perf: Perf, path: str,
            group: bool = False) -> dict[str, Any]:
    """Compares perf's and jitproof's figures and names of a file. Returns arguments for Sums.add().
    @group: perf script shows each sample once for each event of a group
    (perf_session__deliver_sample())."""
    try:
        differences, figures, peer = compare_figures.compare(perf.path, options.jitproof, path)
        if not group:
            differences += compare_names.find_differences(perf, options.jitproof, path)
    except (Missing, RuntimeError, ValueError) as error:
        return {"state": "FAIL", "text": str(error)}
    if not peer["samples"]:
        differences.append("no samples: nothing was compared")
    return {"state": "FAIL" if differences else "ok",
            "text": "%d samples, %d addresses, %d of %d figures differ" % (
                peer["samples"], peer["addresses"], len(differences), figures),
            "lines": differences}


def check_ours(options: argparse.Namespace, perf: Perf, captures: Iterable[tuple[str, str]],
               sums: Sums) -> None:
    def check(_: str, path: str) -> dict[str, Any]:
        result = compare(options, perf, path)
        problems = perf_reads_ours.find_problems(options.jitproof, path, perf.path)
        if problems:
            result = {**result, "state": "FAIL", "lines": [*result.get("lines", []), *problems]}
        return result

    check_each(perf, "ours", captures, check, sums)


def check_theirs(options: argparse.Namespace, perf: Perf, sums: Sums) -> None:
    def check(name: str, arguments: Sequence[str],
              shows: tuple[Sequence[str], str] | None) -> dict[str, Any]:
        path = os.path.join(options.dir, "theirs-%s.data" % name)
        event = [] if name == "group" else ["-e", "cpu-clock"]
        result = perf.run("record", "-k", "mono", "-F", "1999", *event, *arguments, "-o", path,
                          "--", options.program, BUSY)
        if UNKNOWN.search(result.stderr):
            return {"state": "SKIP", "text": "perf has no " + " ".join(arguments)}
        if result.returncode:
            return {"state": "FAIL", "text": "perf record: exit %d: %s" % (
                result.returncode, result.stderr.strip()[-200:])}
        if shows and shows[1] not in perf.run(*shows[0], "-i", path).stdout:
            return {"state": "SKIP", "text": "perf and this kernel ignore %s: perf %s does not "
                    "print %s" % (" ".join(arguments), " ".join(shows[0]), shows[1])}
        return compare(options, perf, path, name == "group")

    check_each(perf, "theirs", THEIRS, check, sums)


def check_node(options: argparse.Namespace, perf: Perf, sums: Sums) -> None:
    if not shutil.which(options.node):
        sums.add(perf.version, "node/*", "SKIP", "node is not installed")
        return
    node_arguments = argparse.Namespace(dir=options.dir, perf=perf.path, node=options.node)
    files.write(os.path.join(options.dir, "workload.js"), real_captures.WORKLOAD)

    def check(name: str, perf_options: Sequence[str],
              node_options: Sequence[str]) -> dict[str, Any]:
        path = os.path.join(options.dir, "node-%s.data" % name)
        problems = real_captures.capture(node_arguments, name, perf_options, node_options, path)
        if problems and UNKNOWN.search(problems):
            return {"state": "SKIP", "text": "perf has no " + " ".join(perf_options)}
        if problems:
            return {"state": "FAIL", "text": problems}
        result = compare(options, perf, path)
        if node_options:
            judged = compare_figures.read_judge(options.jitproof, path)
            real_captures.remove_perf_maps(judged["processes"])
        return result

    check_each(perf, "node", real_captures.CAPTURES, check, sums)


def find_perfs(options: argparse.Namespace, sums: Sums) -> list[Perf]:
    """Finds the wanted perfs. Returns one of each version, sorted."""
    perfs: dict[str, Perf] = {}
    for version in options.wanted or (*perf_tools.SUITES, perf_tools.INSTALLED):
        try:
            perf = perf_tools.find(options.perf_dir, version)
            perfs.setdefault(perf.version, perf)
        except Missing as reason:
            sums.add(version, "*", "SKIP", str(reason))
    return sorted(perfs.values(), key=lambda perf: perf.number)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jitproof", default="build/jitproof", help="default: %(default)s")
    parser.add_argument("--perf-dir", default="build/perf",
                        help="folder with the perf of each suite (default: %(default)s)")
    parser.add_argument("--node", default="node", help="default: %(default)s")
    parser.add_argument("--keep", metavar="DIR", help="keep the captures in this folder")
    parser.add_argument("wanted", nargs="*", help='suites, versions or "installed" (default: %s '
                        "and the installed perf)" % ", ".join(perf_tools.SUITES))
    options = parser.parse_args()
    options.jitproof = os.path.abspath(options.jitproof)
    sums = Sums()
    with tempfile.TemporaryDirectory(prefix="jitproof-perfs-") as scratch:
        options.dir = os.path.abspath(options.keep or scratch)
        os.makedirs(options.dir, exist_ok=True)
        options.program = os.path.join(scratch, "busy")
        build_program(options.program)
        perfs = find_perfs(options, sums)
        captures = list(record_captures(options, sums)) if perfs else []
        for perf in perfs:
            check_ours(options, perf, captures, sums)
            check_theirs(options, perf, sums)
            check_node(options, perf, sums)
    print("%(ok)d passed, %(FAIL)d failed, %(SKIP)d skipped" % sums.states)
    if sums.states["FAIL"]:
        return 1
    return 0 if sums.states["ok"] else 4


if __name__ == "__main__":
    sys.exit(main())
