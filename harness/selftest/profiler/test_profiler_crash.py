# SPDX-License-Identifier: GPL-2.0-only
"""A crash of a profiler is a CRASH with its signal and the end of its output, not a FAIL."""

import json
import os
import re
import subprocess
from typing import Any

from ci.base import files, process
from harness.selftest.support.scratch import Folder, JITPROOF

# Starts the command to record, if any, and ends by the signal or status $JITPROOF_FAKE_END;
# silent: prints nothing without -v.
FAKE = """#!/bin/sh
verb=$1
case "$verb" in
--version)
	echo "perf version 9.9.1"
	exit ;;
record)
	while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
	if [ $# -gt 0 ]; then
		shift
		"$@" &
	fi ;;
*)
	verb=inject ;; # options come first there
esac
[ "$JITPROOF_FAKE_END" != silent ] || case "$*" in
*" -v") echo "injecting: /none" && exit 255 ;;
*) exit 255 ;;
esac
echo "first words of $verb" >&2
echo "${JITPROOF_FAKE_WORDS:-last words of $verb}" >&2
case "$JITPROOF_FAKE_END" in
SEGV) kill -s "$JITPROOF_FAKE_END" $$ ;;
*) exit "$JITPROOF_FAKE_END" ;;
esac
"""

CASES = """
case inject check : anon_exec : launch --freq=999 : samples=1 publish=jitdump inject=perf
	names.right =100%

case inject.allowed check : anon_exec : launch --freq=999 : samples=1 publish=jitdump inject=perf
	record allow tool-crash <=1	# of another verb
	when perf 9.9..: inject allow tool-crash <=1	# known

case inject.not_this check : anon_exec : launch --freq=999 : samples=1 publish=jitdump inject=perf
	when perf ..9.8: inject allow tool-crash <=1	# mended

case inject.other_verb check : anon_exec : launch --freq=999 : samples=1 publish=jitdump inject=perf
	record allow tool-crash <=1	# of another verb

case inject.refused check : anon_exec : launch --freq=999 : inject=perf publish=jitdump:version-2
	names.right =100%

case launch check : anon_exec : launch-by perf --freq=999 : samples=1
	broken.chain =0

case launch.allowed check : anon_exec : launch-by perf --freq=999 : samples=1
	record allow tool-crash <=1	# known

case attach check : anon_exec : attach-by perf --freq=999 : samples=1
	broken.chain =0

case gated check : fork_exec --tasks=2 : gated-by perf --freq=999 : samples=1 control=gate seconds=6
	broken.chain =0
"""


class Crash(Folder):
    words = ""  # last words of all profilers; "": of each its own

    def setUp(self) -> None:
        super().setUp()
        self.perf = self.write(FAKE, "fake-perf", runs=True)
        self.write(CASES, "expected", "crash")
        self.run_dir = self.place("run")

    def run_jitproof(self, *arguments: str, end: str = "0") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "JITPROOF_PERF": self.perf, "JITPROOF_FAKE_END": end,
                       "JITPROOF_FAKE_WORDS": self.words}
        return process.run([JITPROOF, *arguments], timeout=240, env=environment)

    def run_cases(self, end: str, *globs: str) \
            -> tuple[dict[str, dict[str, Any]], subprocess.CompletedProcess[str]]:
        """Runs and judges again; returns the lines of results.jsonl by case, and the run."""
        ended = self.run_jitproof("run", "-o", self.run_dir, "--seed", "1", "--expected",
                                  os.path.join(self.home, "expected"), *globs, end=end)
        if ended.returncode == 4:
            self.skipTest("perf is denied here: " + ended.stdout.splitlines()[3])
        self.assertEqual(ended.stderr, "")
        judged = self.run_jitproof("judge", self.run_dir)
        self.assertEqual(judged.returncode, ended.returncode)
        outcomes = [re.findall(r"(?m)^(?:not )?ok .*|^# Totals.*", text)
                    for text in (ended.stdout, judged.stdout)]
        self.assertEqual(outcomes[0], outcomes[1])
        with open(os.path.join(self.run_dir, "results.jsonl"), encoding="utf-8") as file:
            results = {result["case"].removeprefix("crash/"): result
                       for result in map(json.loads, file)}
        return results, ended

    def check_result(self, result: dict[str, Any], outcome: str, crashed: str | None,
                     message: str) -> None:
        self.assertEqual((result["outcome"], result.get("crashed")), (outcome, crashed),
                         result["why"])
        self.assertRegex(result["why"], message)
        self.assertEqual(result["metrics"], {})

    def test_killed(self) -> None:
        results, result = self.run_cases("SEGV", "*")
        self.assertEqual(result.returncode, 1)
        message = r"^perf %s was killed by signal 11 \(Segmentation fault\): .*last words of %s$"
        for name in ("inject", "inject.not_this", "inject.other_verb", "inject.refused", "launch",
                     "attach", "gated"):
            verb = "inject" if "inject" in name else "record"
            self.check_result(results[name], "CRASH", "SIGSEGV", message % (verb, verb))
            self.assertRegex(result.stdout,
                             r"(?m)^not ok \d+ crash/%s # CRASH SIGSEGV$" % re.escape(name))
        for name in ("inject.allowed", "launch.allowed"):
            self.check_result(results[name], "XFAIL", "SIGSEGV",
                              "last words of .*\nexpected to fail: kn")
        self.assertIn("FAIL:0 SKIP:0 ERROR:0 XFAIL:2 XPASS:0 TIMEOUT:0 CRASH:7", result.stdout)
        # The children of the crashed profiler have ended.
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                self.assertNotIn(self.run_dir.encode(), files.read_bytes("/proc/%s/cmdline" % pid))
            except (FileNotFoundError, ProcessLookupError):
                pass

    def test_failed_is_no_crash(self) -> None:
        results, result = self.run_cases("3", "crash/inject", "crash/inject.allowed",
                                         "crash/launch", "crash/attach")
        self.check_result(results["inject"], "ERROR", None,
                          "^perf inject ended with 3: .*last words of inject$")
        self.check_result(results["inject.allowed"], "XFAIL", None, "expected to fail: known")
        for name in ("launch", "attach"):
            self.check_result(results[name], "ERROR", None,
                              "perf record ended .*last words of record")
        self.assertIn("ERROR:3 XFAIL:1 XPASS:0 TIMEOUT:0 CRASH:0", result.stdout)

    def test_refused_dump(self) -> None:
        """perf is right to refuse a dump of another version, but not one of a right version."""
        self.words = "wrong jitdump version 2, expected 1"
        results, _ = self.run_cases("255", "crash/inject", "crash/inject.refused")
        self.check_result(results["inject"], "ERROR", None, self.words)
        self.check_result(results["inject.refused"], "XFAIL", None, "%s\nexp" % self.words)

    def test_other_failure_with_unusable_dump(self) -> None:
        results, _ = self.run_cases("255", "crash/inject.refused")
        self.check_result(results["inject.refused"], "ERROR", None, "last words of inject")

    def test_silent_end(self) -> None:
        results, _ = self.run_cases("silent", "crash/inject")
        self.check_result(results["inject"], "ERROR", None,
                          "ended with 255: /none does not exist .*perf.inject-missing")

    def test_nothing_written_is_no_crash(self) -> None:
        results, _ = self.run_cases("0", "crash/inject")
        self.check_result(results["inject"], "ERROR", None, "^perf inject wrote nothing: ")

    def test_torn_words(self) -> None:
        self.run_cases("SEGV", "crash/inject")
        self.write("inject", "run", "crash", "inject", "crash")
        result = self.run_jitproof("judge", self.run_dir)
        self.assertEqual(result.returncode, 1)
        self.assertIn("not ok 1 crash/inject # ERROR", result.stdout)
        self.assertIn("/crash: expected an action", result.stdout)
