#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds jitproof against the perf of other Debian suites, both ways.

ours: each perf opens captures of `jitproof record` and `jitproof run`; it must print nothing on
standard error, end with 0 and count the samples that `jitproof judge --json` counts.
theirs: each perf records a small program and a JIT (node); `jitproof judge --json` must count what
`perf script -D` of the same perf shows (perfdata_peer.py).

One line for each perf and capture. The last one says "N passed, N failed, N skipped".
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import perf_reads_ours
import perf_tools
import perfdata_peer
import real_captures

# A thread, a child and calls 20 deep, for as long as BUSY says.
PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
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

static void *work(void *until)
{
	struct timespec now;

	do {
		sum += down(20, 20000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec * 1e3 + now.tv_nsec / 1e6 < *(double *)until);
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec now;
	pthread_t thread;
	double until;
	pid_t child;

	clock_gettime(CLOCK_MONOTONIC, &now);
	until = now.tv_sec * 1e3 + now.tv_nsec / 1e6 + atof(argv[1]);
	/* The one line tells that main() runs. */
	if (write(1, "ready\\n", 6) != 6 || pthread_create(&thread, NULL, work, &until))
		return 1;
	child = fork();
	work(&until);
	if (child == 0)
		_exit(0);
	pthread_join(thread, NULL);
	return waitpid(child, NULL, 0) != child;
}
"""
BUSY = "400"  # milliseconds

# (name, options of `jitproof record`, attach)
OURS = [
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
# Of the set check: samples by clock and by breakpoint, of anonymous and memfd code, deep chains.
CASES = ["exact/*", "preexisting/anon.attach.*", "preexisting/memfd.attach.exec",
         "attach/before-snapshot.exec"]

# (name, options of `perf record`); those that only some perfs have are skipped where they are not.
THEIRS = [
    ("plain", ["-g"]),
    ("dwarf", ["--call-graph", "dwarf"]),
    ("compressed", ["-g", "-z"]),
    ("dwarf-compressed", ["--call-graph", "dwarf", "-z"]),
    ("system-wide", ["-g", "-a"]),
    ("two-events", ["-g", "-e", "task-clock"]),
    ("group", ["-g", "-e", "{cpu-clock,task-clock}:S"]),
    ("per-thread", ["-g", "--per-thread"]),
    ("data-mappings", ["-g", "-d"]),
    ("build-ids", ["-g", "--buildid-mmap"]),
    ("no-build-ids", ["-g", "--no-buildid-mmap"]),
    ("deferred", ["--call-graph", "fp,defer"]),
    ("off-cpu", ["-g", "--off-cpu"]),
    ("much", ["-g", "-s", "--namespaces", "--all-cgroups"]),
]
# What perf says where it was built without an option or is too old for it. Not a failure of ours.
UNKNOWN = re.compile(r"unknown option|Unknown callchain|unsupported option|was not built|"
                     r"not (?:been )?(?:built|compiled)|isn't supported", re.IGNORECASE)
# Of real_captures.py: each is node for a second.
REAL = ("plain", "perf-map", "compressed", "two-events", "dwarf", "pipe", "pipe-compressed")
NO_COMPRESSION = re.compile(r"^5\.10\.")  # Debian built it without zstd


class Sums:
    passed = failed = skipped = 0

    def tell(self, state, version, capture, text, more=()):
        if state == "ok":
            self.passed += 1
        elif state == "SKIP":
            self.skipped += 1
        else:
            self.failed += 1
        print("%-4s %-10s %-36s %s" % (state, version, capture, text), flush=True)
        for line in more:
            print("     " + line, flush=True)


def run(command, **more):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, encoding="utf-8",
                          errors="replace", timeout=300, **more)


def record_ours(options, arguments, attach, path):
    """Makes one capture of ours; returns what went wrong, or None."""
    command = [options.jitproof, "record", *arguments, "-o", path]
    if not attach:
        done = run(command + ["--", options.program, BUSY])
        return None if done.returncode == 0 else done.stderr.strip()
    # Longer than anybody takes to open: the capture ends with its program.
    with subprocess.Popen([options.program, "1500"], stdout=subprocess.PIPE) as program:
        program.stdout.readline()
        done = run(command + ["-p", str(program.pid)])
    # It ends with what it watches.
    return None if done.returncode in (0, -signal.SIGINT) else done.stderr.strip()


def captures_of_ours(options, sums):
    """Yields (name, path) of captures made now."""
    for name, arguments, attach in OURS:
        path = os.path.join(options.dir, "ours-" + name + ".data")
        wrong = record_ours(options, arguments, attach, path)
        if wrong:
            sums.tell("FAIL", "ours", name, "jitproof record: " + wrong)
        else:
            yield name, path
    folder = os.path.join(options.dir, "run")
    run([options.jitproof, "run", "--set=check", "-o", folder, *CASES])
    for path in perf_reads_ours.captures([folder]):
        yield os.path.relpath(os.path.dirname(path), folder), path


def check_ours(options, version, perf, captures, sums):
    for name, path in captures:
        samples, wrong = perf_reads_ours.complaints(
            options.jitproof, path, perf, perf_reads_ours.READINGS + perf_reads_ours.PLAIN)
        sums.tell("FAIL" if wrong else "ok", version, "ours/" + name,
                  "%d samples" % samples, wrong)


def compare(options, perf, path):
    """(state, what to say, the differences)"""
    try:
        differences, figures, peer = perfdata_peer.compare(perf, options.jitproof, path)
    except (RuntimeError, ValueError) as error:
        return "FAIL", str(error), []
    if not peer["samples"]:
        differences.append("no samples: nothing was compared")
    return "FAIL" if differences else "ok", "%d samples, %d addresses, %d of %d figures differ" % (
        peer["samples"], peer["addresses"], len(differences), figures), differences


def check_theirs(options, version, perf, sums):
    for name, arguments in THEIRS:
        path = os.path.join(options.dir, "theirs.data")
        done = run([perf, "record", "-k", "mono",
                    *([] if name == "group" else ["-e", "cpu-clock"]), *arguments, "-o", path,
                    "--", options.program, BUSY])
        if done.returncode and UNKNOWN.search(done.stderr):
            sums.tell("SKIP", version, "theirs/" + name, "perf has no " + " ".join(arguments))
        elif done.returncode:
            sums.tell("FAIL", version, "theirs/" + name, "perf record: exit %d: %s" % (
                done.returncode, done.stderr.strip()[-200:]))
        else:
            sums.tell(version=version, capture="theirs/" + name,
                      **dict(zip(("state", "text", "more"), compare(options, perf, path))))
            os.unlink(path)


def check_node(options, version, perf, sums):
    if not shutil.which(options.node):
        sums.tell("SKIP", version, "node/*", "node is not installed")
        return
    real = argparse.Namespace(dir=options.dir, perf=perf, node=options.node)
    with open(os.path.join(options.dir, "workload.js"), "w", encoding="ascii") as script:
        script.write(real_captures.WORKLOAD)
    for name, perf_options, node_options in real_captures.CAPTURES:
        if name not in REAL:
            continue
        if "-z" in perf_options and NO_COMPRESSION.match(version):
            sums.tell("SKIP", version, "node/" + name, "perf has no -z")
            continue
        path = os.path.join(options.dir, "node.data")
        wrong = real_captures.capture(real, name, perf_options, node_options, path)
        if wrong:
            sums.tell("FAIL", version, "node/" + name, wrong)
            continue
        state, text, more = compare(options, perf, path)
        sums.tell(state, version, "node/" + name, text, more)
        if node_options:
            judged = perfdata_peer.read_judge(options.jitproof, path)
            real_captures.remove_perf_maps(judged["processes"])
        os.unlink(path)


def perfs(options, sums):
    """[(version, path)] of what can be had, without doubles."""
    found = {}
    if not options.suite:
        said = run(["perf", "--version"]) if shutil.which("perf") else None
        if said and said.stdout.startswith("perf version "):
            found[said.stdout.split()[2]] = shutil.which("perf")
    for suite in options.suite or perf_tools.SUITES:
        try:
            version, path = perf_tools.fetch(os.path.abspath(options.perf_dir), suite)
            found[version] = path
        except perf_tools.Missing as reason:
            sums.tell("SKIP", suite, "*", str(reason))
    return list(found.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jitproof", default="build/jitproof", help="default: %(default)s")
    parser.add_argument("--perf-dir", default="build/perf",
                        help="where the perfs of the suites are kept (default: %(default)s)")
    parser.add_argument("--node", default="node", help="default: %(default)s")
    parser.add_argument("--keep", metavar="DIR", help="keep our captures in this directory")
    parser.add_argument("suite", nargs="*",
                        help="default: the installed perf, " + ", ".join(perf_tools.SUITES))
    options = parser.parse_args()
    options.jitproof = os.path.abspath(options.jitproof)
    sums = Sums()
    with tempfile.TemporaryDirectory(prefix="jitproof-perfs-") as scratch:
        options.dir = os.path.abspath(options.keep or scratch)
        os.makedirs(options.dir, exist_ok=True)
        options.program = os.path.join(scratch, "busy")
        built = subprocess.run(["gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-x",
                                "c", "-", "-o", options.program], input=PROGRAM, check=False,
                               encoding="ascii")
        if built.returncode:
            print("the program to watch cannot be built")
            return 1
        found = perfs(options, sums)
        captures = list(captures_of_ours(options, sums)) if found else []
        for version, perf in found:
            check_ours(options, version, perf, captures, sums)
            check_theirs(options, version, perf, sums)
            check_node(options, version, perf, sums)
    print("%d passed, %d failed, %d skipped" % (sums.passed, sums.failed, sums.skipped))
    if sums.failed:
        return 1
    return 0 if sums.passed else 4


if __name__ == "__main__":
    sys.exit(main())
