# SPDX-License-Identifier: GPL-2.0-only
"""Readers with a planted fault are found by shown.* alone, and honest ones stay green. A planted
reader is the installed perf, whose output a wrapper changes."""

import json
import os
import shutil
from typing import Any

from ci.base import process
from harness.selftest.support.scratch import Folder, JITPROOF

WORKLOADS = ("anon_exec", "address_reuse", "code_move", "coalesced_growth --threads=2 --period=10",
             "coroutines", "fork_exec", "memfd_double", "prefork --children=2",
             "short_lived --count=24", "signals", "thread_churn", "wx_toggle")
# Exceptions that are allowed, because the kernel does not record munmap, mprotect and mremap.
ALLOWED = "".join("\t%s allow %s <=acts.%s\t# -\n" % (metric, act, act)
                  for metric in ("coverage.stale", "mappings.extra")
                  for act in ("munmap", "mprotect", "mremap")) + """\
	coverage.missing allow mremap <=acts.mremap	# -
	mappings.missing allow mremap <=acts.mremap	# -
	broken.chain allow mremap <=99%, names.unnamed allow mremap <=99%	# -
"""
CASE = "case %d check : %s : launch --freq=999 : samples=100 publish=map\n"

WRAPPER = r'''#!/usr/bin/env python3
import os, re, subprocess, sys

REAL, VERSION, FAULT = %r, %r, %r
HEAD = re.compile(r"\s*(\d+)/\d+\s+\d+\.\d{9}:")
FRAME = re.compile(r"(.*?[0-9a-f]+) (\S+)(\+0x[0-9a-f]+)$")

if "--version" in sys.argv:
    print("perf version", VERSION)
    sys.exit()
done = subprocess.run([REAL, *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
lines = done.stdout.split("\n")
folder = os.path.dirname(sys.argv[sys.argv.index("-i") + 1])


def next_names(pid):
    if not os.path.exists(os.path.join(folder, "perf-%%s.map" %% pid)):
        return {}
    with open(os.path.join(folder, "perf-%%s.map" %% pid)) as file:
        symbols = sorted((int(line.split()[0], 16), line.split()[2]) for line in file)
    names = [name for _, name in symbols]
    return dict(zip(names, names[1:] + names[:1]))


def name_by_next(pid, line):
    found = FRAME.match(line)
    if not found:
        return line
    start, name, rest = found.groups()
    if pid not in maps:
        maps[pid] = next_names(pid)
    return start + " " + maps[pid].get(name, name) + rest


maps, pids = {}, []
for line in lines:
    head = HEAD.match(line)
    pids.append(head[1] if head else pids[-1] if pids else "")
if FAULT == "next":
    lines = list(map(name_by_next, pids, lines))
elif FAULT == "frames":
    count, kept = 0, []
    for line in lines:
        frame = line.startswith("\t") and not line.lstrip().startswith("ffffffff")
        count += frame
        if not frame or count %% 100:
            kept.append(line)
    lines = kept
elif FAULT == "process":
    lines = [line for pid, line in zip(pids, lines) if pid != pids[-1]]
elif FAULT == "profile" and "report" in sys.argv:
    lines.remove(next(line for line in lines if "[.] " in line and "0x0" not in line))
print("\n".join(lines), end="")
sys.exit(done.returncode)
'''


class Readers(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.perf = shutil.which("perf") or ""
        if not self.perf or process.run([self.perf, "--version"]).returncode:
            self.skipTest("perf is not installed")

    def plant(self, version: str, fault: str) -> None:
        """Plants a reader of the @version."""
        self.write(WRAPPER % (self.perf, version, fault), "perfs", version, "perf", runs=True)

    def run_cases(self, version: str, cases: str) -> list[dict[str, Any]]:
        """Runs the cases with the planted readers of the @version. Returns the lines of
        results.jsonl."""
        self.write(cases, "expected", "planted")
        result = process.run([JITPROOF, "run", "--readers=perf-" + version, "-o", self.place("run"),
                              "--expected", self.place("expected")], timeout=300,
                           env={**os.environ, "JITPROOF_PERFS": self.place("perfs")})
        if "perf_event_open" in result.stdout:
            self.skipTest("no events here")
        return [json.loads(line) for line in self.read("run", "results.jsonl").splitlines()]

    def test_wrong_reader_is_found(self) -> None:
        for number, fault in enumerate(("none", "frames", "next", "process", "profile")):
            self.plant("99.%d" % number, fault)
        case, = self.run_cases("99", CASE % (0, "short_lived --count=24") + ALLOWED)
        self.assertEqual(case["outcome"], "FAIL", case["why"])
        self.assertEqual({reader["reader"]: reader["answer"] for reader in case["readers"]},
                         {"perf 99.0": "agrees", "perf 99.1": "differs", "perf 99.2": "differs",
                          "perf 99.3": "differs", "perf 99.4": "differs"})
        exceptions = {(exception["metric"], exception["cause"]): exception["first"].split(",")[0]
                 for exception in case["exceptions"] if "allowed" not in exception}
        self.assertEqual({metric.split(".")[0] for metric, _ in exceptions}, {"shown"}, exceptions)
        self.assertLessEqual({"perf 99.1"}, {exceptions.get(("shown.frames", cause))
                                             for cause in ("cut", "missing-frame", "no-frames")})
        self.assertEqual(exceptions.get(("shown.names", "next-function")), "perf 99.2", exceptions)
        self.assertEqual(exceptions.get(("shown.samples", "process")), "perf 99.3", exceptions)
        books = {name.split()[2]: book for name, book in case["books"].items()
                 if name.startswith("shown ")}
        self.assertLessEqual(set(books["99.1"]),
                             {"equal", "cut", "missing-frame", "no-frames"}, books)
        self.assertLessEqual(set(books["99.3"]), {"equal", "absent"}, books)
        self.assertEqual(set(books["99.4"]), {"equal"}, books)
        self.assertIn(("shown.shares", "more-listed"), exceptions)

    def test_tables_in_no_mapping(self) -> None:
        if "perf version 7" in process.run([self.perf, "--version"]).stdout:
            self.skipTest("perf reads tables from files")
        self.plant("6.12.99", "none")
        case, = self.run_cases("6.12.99", "case apart check : native_holes "
                               "--publish-with=unwinding-apart : launch --stack=8192 --freq=999 : "
                               "samples=300 publish=jitdump inject=cut methods=dump\n")
        self.assertEqual({(exception["metric"], exception["cause"]) for exception
                          in case["exceptions"]
                          if "allowed" not in exception}, {("shown.frames", "perf.unwind-maps")})

    def test_honest_reader_passes(self) -> None:
        """The reader has a version with the defect perf.marker: rarely, a callchain goes on through
        a value in libc's stack that resembles a marker, and perf shows no frame of it."""
        self.plant("7.3.99", "none")
        for case in self.run_cases("7.3.99", "".join(CASE % workload + ALLOWED
                                                     for workload in enumerate(WORKLOADS))):
            with self.subTest(case["case"]):
                self.assertIn("readers", case, case["why"])
                output = [exception for exception in case["exceptions"]
                          if exception["metric"].startswith("shown.")]
                if {(exception["metric"], exception["cause"]) for exception in output} != {
                        ("shown.frames", "perf.marker")}:
                    self.assertEqual(case["readers"][0]["answer"], "agrees", output)
