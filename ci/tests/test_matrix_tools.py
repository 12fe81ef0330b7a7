# SPDX-License-Identifier: GPL-2.0-only
"""Tests ci/matrix tools with a made jitproof."""

import json
import os
import subprocess
import unittest
import unittest.mock

from ci.matrix.results import stored
from ci.tests.made_runs import Made, make_case, run_matrix
from harness.selftest.support.scratch import MATRIX

# Replaces jitproof: records its arguments in $CALLS, and copies $RUN to its run directory.
FAKE = """#!/bin/sh
echo "$JITPROOF_PERF $@" >>"$CALLS"
while [ "$1" != -o ]; do shift; done
[ -z "$RUN" ] || cp -r "$RUN" "$2"
if [ "$READY" ]; then
	sleep 600 &
	trap 'kill $!; echo ended >>"$CALLS"; exit 130' INT TERM
	echo >"$READY"
	wait
fi
echo "last words"
exit $STATUS
"""


class Tools(Made):
    def setUp(self) -> None:
        super().setUp()
        self.jitproof = self.write(FAKE, "jitproof", runs=True)
        self.write(json.dumps({"version": "6.12.107", "packages": [
            "libelf1_1_amd64", "linux-perf_6.12.107-1_amd64"]}), "perf", "trixie", "fetched.json")
        self.run_dir("made", [make_case("a/one", "CRASH", "words", crashed="SIGSEGV"),
                              make_case("a/two")],
                     [], cpus=2)
        os.unlink(self.place("made", "6.1", "cell.json"))
        self.write("", "calls")

    def run_tools(self, *arguments: str, run: str = "made/6.1",
                  status: int = 0) -> subprocess.CompletedProcess[str]:
        variables = {"CALLS": self.place("calls"), "RUN": self.place(run) if run else "",
                "STATUS": str(status)}
        with unittest.mock.patch.dict(os.environ, variables):
            return run_matrix("tools", "--jitproof", self.jitproof, "--perf-dir",
                              self.place("perf"), "-o", self.place("out"), "--perf", "6.12",
                              *arguments)

    def test_run_of_a_cell(self) -> None:
        result = self.run_tools("--case", "a/*", "--seed", "7", status=1)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("perf 6.12.107: PASS:1 CRASH:1 (2 cases)", result.stdout)
        self.assertIn("CRASH SIGSEGV a/one: words", result.stdout)
        self.assertEqual(self.read_calls(), ["%s run --set=full --seed 7 -o %s a/*" % (
            self.place("perf", "trixie", "perf"), self.place("out", "perf-6.12"))])
        self.store(self.place("out"))
        cell = stored.load(self.store_cell("perf-6.12"))
        self.assertEqual((cell.header["version"], cell.header["package"], cell.header["exact"]),
                         ("6.12.107", "linux-perf_6.12.107-1_amd64", False))
        self.assertEqual(cell.header["command"],
                         "python3 ci/matrix tools --perf 6.12 --seed 7 --case 'a/*'")
        self.assertEqual((cell.cases["a/one"]["crashed"], cell.cases["a/one"]["smp"]),
                         ("SIGSEGV", 2))
        # Expect that results are not overwritten.
        self.assertEqual(self.run_tools().returncode, 99)

    def test_lost_run(self) -> None:
        result = self.run_tools(run="", status=99)
        self.assertEqual(result.returncode, 1)
        self.assertIn("LOST: jitproof run ended with 99: last words", result.stdout)
        self.expect_refusal(self.place("out"), says="LOST: jitproof run ended with 99")

    def read_calls(self) -> list[str]:
        return self.read("calls").splitlines()

    def test_interrupted(self) -> None:
        """A signal ends the run and leaves nothing."""
        ready = self.place("ready")
        os.mkfifo(ready)
        process = subprocess.Popen(
            [*MATRIX, "tools", "--jitproof", self.jitproof,
             "--perf-dir", self.place("perf"), "-o", self.place("out"), "--perf", "6.12"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "CALLS": self.place("calls"), "RUN": self.place("made/6.1"),
                 "READY": ready})
        self.read(ready)
        process.terminate()
        out, errors = process.communicate(timeout=240)
        self.assertEqual((process.returncode, out, errors), (
            130, "", "ci/matrix tools: interrupted; unfinished results were discarded\n"))
        self.assertEqual(self.read_calls()[-1], "ended")
        self.assertEqual(os.listdir(self.place("out")), [])
