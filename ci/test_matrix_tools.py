#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix tools, with a made jitproof."""

import json
import os
import sys
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
from axis import stored  # noqa: E402
from made_runs import Made, case, matrix  # noqa: E402

# Stands for jitproof: it says how it was called, and leaves $RUN as its run directory.
JITPROOF = """#!/bin/sh
[ "$1" != list ] || exit 0
echo "$JITPROOF_PERF $@" >>"$CALLS"
while [ "$1" != -o ]; do shift; done
[ -z "$RUN" ] || cp -r "$RUN" "$2"
echo "last words"
exit $STATUS
"""


class Tools(Made):
    def setUp(self):
        super().setUp()
        self.jitproof = self.write(self.path("jitproof"), JITPROOF)
        os.chmod(self.jitproof, 0o755)
        self.write(self.path("perf", "trixie", "fetched.json"), json.dumps(
            {"version": "6.12.107",
             "packages": ["libelf1_1_amd64", "linux-perf_6.12.107-1_amd64"]}))
        self.run_dir("made", [case("a/one", "CRASH", "words", crashed="SIGSEGV"), case("a/two")],
                     [], cpus=2)
        os.unlink(self.path("made", "6.1", "cell.json"))
        self.write(self.path("calls"), "")

    def tools(self, *arguments, run="made/6.1", status=0, perf="6.12"):
        more = {"CALLS": self.path("calls"), "RUN": self.path(run) if run else "",
                "STATUS": str(status)}
        before = {key: os.environ.get(key) for key in more}
        os.environ.update(more)
        try:
            return matrix("tools", "--jitproof", self.jitproof, "--perf-dir", self.path("perf"),
                          "-o", self.path("out"), "--perf", perf, *arguments)
        finally:
            for key, value in before.items():
                os.environ.pop(key)
                os.environ.update({key: value} if value is not None else {})

    def test_a_cell(self):
        done = self.tools("--case", "a/*", "--seed", "7", status=1)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("perf-6.12 (perf 6.12.107): PASS:1 CRASH:1 (2 cases)", done.stdout)
        self.assertIn("CRASH SIGSEGV a/one: words", done.stdout)
        with open(self.path("calls"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "%s run --set=full --seed 7 -o %s a/*\n" % (
                self.path("perf", "trixie", "perf"), self.path("out", "perf-6.12.partial")))
        self.store(self.path("out"))
        made = stored.load(self.stored("perf-6.12"))
        self.assertEqual((made.header["version"], made.header["package"], made.header["exact"]),
                         ("6.12.107", "linux-perf_6.12.107-1_amd64", False))
        self.assertEqual(made.header["command"],
                         "ci/matrix tools --perf 6.12 --seed 7 --case 'a/*'")
        self.assertEqual((made.cases["a/one"]["crashed"], made.cases["a/one"]["smp"]),
                         ("SIGSEGV", 2))
        # What is there already is not run over.
        self.assertEqual(self.tools().returncode, 99)

    def test_seeds(self):
        self.assertEqual(self.tools("--seed", "1", "--seed", "2").returncode, 0)
        self.store(self.path("out"))
        made = stored.load(self.stored("perf-6.12"))
        self.assertEqual(made.header["seeds"], [1, 2])
        self.assertEqual(made.cases["a/two"]["judged"], {"chain": 2000})

    def test_lost(self):
        done = self.tools(run="", status=99)
        self.assertEqual(done.returncode, 1)
        self.assertIn("LOST: jitproof run ended with 99: last words", done.stdout)
        self.refused(self.path("out"), says="LOST: jitproof run ended with 99")

    def test_missing(self):
        # Nothing is downloaded for a version that no suite can have.
        with unittest.mock.patch("perf_tools.SUITES", ("trixie",)):
            done = self.tools(perf="6.1")
        self.assertEqual((done.returncode, done.stdout),
                         (1, "perf 6.1: no suite has perf 6.1 now: trixie\n"))


if __name__ == "__main__":
    unittest.main()
