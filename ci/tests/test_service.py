# SPDX-License-Identifier: GPL-2.0-only
"""Tests ci/service, and runs the scripts of the action and of GitLab's template."""

import json
import os
import re
import shutil
import sys
import unittest
from typing import Any

from ci.base import files, process
from harness.selftest.support.scratch import JITPROOF, ROOT, Folder

SERVICE = [sys.executable, os.path.join(ROOT, "ci", "service")]
ACTION = os.path.join(ROOT, "packaging", "action")
CASE = "growth/anon.none"
# A program that leaves given results.
FAKE = """#!/bin/sh
case $1 in
run) mkdir "$5" && cp {results} "$5/results.jsonl" && exit {status} ;;
score) echo "scored $3"; exit 1 ;;
report) echo page >"$4" ;;
esac
"""


def load(*names: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise unittest.SkipTest("no python3-yaml") from error
    return yaml.safe_load(files.read(os.path.join(ROOT, *names)))


class Summary(Folder):
    def run_fake(self, status: int, *options: str) -> tuple[int, str]:
        """Returns the exit status and the summary of a run with that status."""
        results = [{"case": "growth/a", "outcome": "FAIL", "why": "one | two\nthree"},
                   {"case": "growth/b", "outcome": "PASS", "why": ""},
                   {"case": "growth/c", "outcome": "PASS", "why": ""}]
        text = "".join(json.dumps(result) + "\n" for result in results)
        program = self.write(FAKE.format(status=status, results=self.write(text, "results")),
                             "fake", runs=True)
        shutil.rmtree(self.place("out"), ignore_errors=True)
        ended = process.run([*SERVICE, "--jitproof", program, *options, self.place("out")],
                            env={**os.environ, "GITHUB_STEP_SUMMARY": self.place("step")})
        summary = files.read(self.place("out", "summary.md"))
        self.assertTrue(files.read(self.place("step")).endswith(summary))
        self.assertEqual(files.read(self.place("out", "report.html")), "page\n")
        return ended.returncode, summary

    def test_skipped(self) -> None:
        self.assertEqual(self.run_fake(4)[0], 4)
        self.assertEqual(self.run_fake(4, "--skip-ok")[0], 0)


class Services(Folder):
    """Tests what the files for CI services run."""

    def check_run(self, script: str, variables: dict[str, str], output: str) -> None:
        result = process.run(["bash", "-e", "-c", script], cwd=ROOT, timeout=240,
                             env={**os.environ, "O": os.path.dirname(JITPROOF), **variables})
        self.assertIn(result.returncode, (0, 4), result.stdout + result.stderr)
        self.assertRegex(files.read(os.path.join(output, "summary.md")),
                         r"## This kernel: status [04]\n\n1 (PASS|SKIP)\n")
        self.assertTrue(os.path.exists(os.path.join(output, "run", "junit.xml")))

    def test_github_action(self) -> None:
        action = load("packaging", "action", "action.yml")
        text = files.read(os.path.join(ACTION, "action.yml"))
        self.assertEqual(set(re.findall(r"inputs\.(\w+)", text)), set(action["inputs"]))
        build, run, keep = action["runs"]["steps"]
        self.assertIn("make", build["run"])
        self.assertEqual(keep["with"]["path"], "${{ steps.run.outputs.directory }}")
        self.assertEqual(set(run["env"]) - set(re.findall(r"\$(\w+)", run["run"])), set())
        values = {name: action["inputs"][re.findall(r"inputs\.(\w+)", value)[0]]["default"]
                  for name, value in run["env"].items()}
        self.write("", "output")
        self.check_run(run["run"], {**values, "SET": "full", "CASES": CASE,
                                    "RUNNER_TEMP": self.home, "GITHUB_ACTION_PATH": ACTION,
                                    "GITHUB_OUTPUT": self.place("output")},
                       self.place("jitproof"))
        self.assertEqual(files.read(self.place("output")),
                         f"directory={self.place('jitproof')}\n")

    def test_gitlab(self) -> None:
        job = load("packaging", "gitlab.yml")[".jitproof"]
        script = "\n".join(job["script"])
        self.assertLessEqual(set(re.findall(r"\$\{?(JITPROOF_\w+)", str(job))),
                             set(job["variables"]))
        self.check_run(script, {**job["variables"], "JITPROOF_SET": "full", "JITPROOF_CASES": CASE,
                                "CI_PROJECT_DIR": self.home}, self.place("jitproof"))
        self.assertEqual(job["artifacts"]["reports"]["junit"], "jitproof/run/junit.xml")

    def test_shell_of_actions(self) -> None:
        if not shutil.which("shellcheck"):
            self.skipTest("no shellcheck")
        for step in load("packaging", "action", "action.yml")["runs"]["steps"]:
            if "run" in step:
                result = process.run(["shellcheck", "-s", "bash", "-"], input=step["run"])
                self.assertEqual(result.stdout, "", step["name"])
