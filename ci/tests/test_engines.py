# SPDX-License-Identifier: GPL-2.0-only
"""Tests ci/engines: kselftest's targets and runner, the results for LAVA and tmt, the workflow."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any
import unittest

from ci.base import files, process
from ci.engines import ktap_check
from harness.selftest.support.scratch import BUILD, CI, DENY, MATRIX, ROOT, Folder

KSELFTEST = os.path.join(CI, "engines", "kselftest")

FAKE = """#!/bin/sh
echo "KTAP version 1"
echo "1..1"
echo "# $*"
echo "ok 1 fake"
exit ${FAKE:-0}
"""


def run(*command: str, **more: Any) -> subprocess.CompletedProcess[str]:
    env = dict(os.environ)
    # Do not pass the variables of the make that runs this test.
    for name in ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "JITPROOF"):
        env.pop(name, None)
    env.update(more.pop("env", {}))
    return process.run(command, stderr=subprocess.STDOUT, timeout=240, env=env, **more)


class Kselftest(Folder):
    installed: str

    @staticmethod
    def make(*arguments: str) -> str:
        result = run("make", "--no-print-directory", "-f", os.path.join(KSELFTEST, "Makefile"),
                     f"BUILD={BUILD}", *arguments)
        if result.returncode:
            raise AssertionError(result.stdout)
        return result.stdout

    @classmethod
    def setUpClass(cls) -> None:
        """Installs the targets as the kernel's top-level Makefile does."""
        folder = tempfile.TemporaryDirectory(prefix="jitproof-")
        cls.addClassCleanup(folder.cleanup)
        cls.installed = os.path.join(folder.name, "tests")
        cls.make("install_all", f"KSFT_INSTALL_PATH={cls.installed}")

    def install(self) -> str:
        return shutil.copytree(self.installed, self.place("tests"))

    def run_installed(self, status: int, *arguments: str,
                      **more: Any) -> subprocess.CompletedProcess[str]:
        fake = self.write(FAKE, "fake", runs=True)
        result = run(self.place("tests", "run_kselftest.sh"), *arguments, cwd="/",
                     env={"JITPROOF": fake, "FAKE": str(status), "TMPDIR": self.home, **more})
        self.assertEqual(ktap_check.check(result.stdout, tap=True), [], result.stdout)
        return result

    def test_install(self) -> None:
        tests = self.install()
        installed = sorted(os.path.relpath(path, tests)
                           for path in glob.glob(tests + "/**", recursive=True)
                           if os.path.isfile(path))
        adapters = glob.glob("**/*.py", root_dir=os.path.join(ROOT, "harness/profiler"),
                             recursive=True)
        self.assertEqual(installed, sorted([
            "jitproof/config", "jitproof/jitproof", "jitproof/jitproof.sh",
            *("jitproof/profiler/" + name for name in adapters), "jitproof/settings",
            "kselftest-list.txt", "run_kselftest.sh"]))
        self.assertEqual(self.read("tests", "kselftest-list.txt"), "jitproof:jitproof.sh\n")
        # Expect the installed program to run with the installed adapters.
        result = run(*DENY, "EPERM", self.place("tests", "run_kselftest.sh"), cwd="/")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout, r"(?m)^# ok \d+ \S+ # SKIP .*EPERM")
        self.assertIn("\nok 1 selftests: jitproof: jitproof.sh # SKIP\n", result.stdout)

    def test_result_line_of_each_status(self) -> None:
        self.install()
        for status, line, outer in ((0, "ok 1 %s", 0), (1, "not ok 1 %s # exit=1", 1),
                                    (4, "ok 1 %s # SKIP", 0), (99, "not ok 1 %s # exit=1", 1)):
            result = self.run_installed(status)
            self.assertEqual(result.returncode, outer)
            self.assertEqual(result.stdout.splitlines()[-1],
                             line % "selftests: jitproof: jitproof.sh")
            self.assertIn("\n# # run --set=check\n", result.stdout)

    def test_timeout(self) -> None:
        self.install()
        self.write("timeout=1\n", "tests", "jitproof", "settings")
        os.mkfifo(self.place("never"))
        unread = os.open(self.place("never"), os.O_RDWR)
        self.addCleanup(os.close, unread)
        self.write(f"#!/bin/sh\nexec cat {self.place('never')}\n", "tests", "jitproof",
                   "jitproof.sh", runs=True)
        result = self.run_installed(0)
        self.assertEqual(result.returncode, 1)
        self.assertIn("not ok 1 selftests: jitproof: jitproof.sh # TIMEOUT 1 seconds",
                      result.stdout)

    def test_options_of_the_runner(self) -> None:
        self.install()
        self.assertEqual(run(self.place("tests", "run_kselftest.sh"), "-l").stdout,
                         "jitproof:jitproof.sh\n")
        self.assertIn("# SKIP dry run", self.run_installed(1, "-n").stdout)
        self.assertEqual(self.run_installed(1, "-c", "jitproof").returncode, 1)
        self.assertEqual(self.run_installed(0, "-t", "jitproof:jitproof.sh").returncode, 0)
        for wrong in (("-t", "jitproof:x"), ("-c", "x")):
            result = run(self.place("tests", "run_kselftest.sh"), *wrong)
            self.assertEqual(result.returncode, 1)
            self.assertIn("no such test", result.stdout)
        result = self.run_installed(1, "-s")
        log = re.search(r"(?m)^# output: (.*)$", result.stdout).group(1)
        self.assertNotIn("KTAP", result.stdout)
        self.assertIn("# ok 1 fake\n", self.read(log))

    def test_one_case(self) -> None:
        """A case named on the command line runs, whatever its set."""
        fake = self.write(FAKE, "fake", runs=True)
        result = run(os.path.join(KSELFTEST, "jitproof.sh"), "growth/*", env={"JITPROOF": fake})
        self.assertIn("# run growth/*\n", result.stdout)
        result = run(os.path.join(KSELFTEST, "jitproof.sh"),
                     env={"JITPROOF": fake, "JITPROOF_SET": "full"})
        self.assertIn("# run --set=full\n", result.stdout)


RESULTS: list[dict[str, Any]] = [
    {"case": f"s/{outcome.lower()}", "outcome": outcome, "seconds": 61.26}
    for outcome in ("PASS", "FAIL", "SKIP", "ERROR", "XFAIL", "XPASS", "TIMEOUT", "CRASH")]


class HandOver(Folder):
    def test_every_outcome_is_handed_over(self) -> None:
        source = files.read(os.path.join(ROOT, "harness/outcome/outcome.c"))
        outcomes = set(re.findall(r'= "([A-Z]+)"', source))
        self.assertEqual(outcomes, {result["outcome"] for result in RESULTS})

    def setUp(self) -> None:
        super().setUp()
        self.write("".join(json.dumps(result) + "\n" for result in RESULTS), "run",
                   "results.jsonl")
        self.write("KTAP version 1\n", "run", "s", "fail", "ktap.txt")

    def hand_over(self, engine: str, **env: Any) -> subprocess.CompletedProcess[str]:
        return run(sys.executable, os.path.join(CI, "engines", "hand_over.py"), engine,
                   self.place("run"), env=env)

    def test_lava(self) -> None:
        words = ["pass", "fail", "skip", "unknown", "skip", "fail", "unknown", "fail"]
        expected = [f"lava-test-case s.{result['outcome'].lower()} --result {word} "
                  "--measurement 61.260 --units seconds" for result, word in zip(RESULTS, words)]
        self.assertEqual(self.hand_over("lava").stdout.splitlines(), expected)
        self.write("#!/bin/sh\necho \"lava-test-case $*\" >>\"$CALLS\"\n", "bin",
                   "lava-test-case", runs=True)
        done = self.hand_over("lava", CALLS=self.place("calls"),
                              PATH=self.place("bin") + ":" + os.environ["PATH"])
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(self.read("calls").splitlines(), expected)

    def test_tmt(self) -> None:
        done = self.hand_over("tmt", TMT_TEST_DATA=self.home)
        self.assertEqual(done.returncode, 0, done.stdout)
        results = json.loads(self.read("results.yaml"))
        self.assertEqual([result["result"] for result in results],
                         ["pass", "fail", "skip", "error", "info", "fail", "error", "fail"])
        self.assertEqual(results[1], {"name": "/s/fail", "result": "fail", "duration": "00:01:01",
                                      "log": ["run/s/fail/ktap.txt"]})
        self.assertNotIn("log", results[0])

    def test_missing_or_malformed_results(self) -> None:
        self.assertEqual(self.hand_over("tmt").returncode, 99)
        for text in ("", "{\n", '{"case": "s/a", "outcome": "ODD", "seconds": 1}\n'):
            self.write(text, "run", "results.jsonl")
            self.assertEqual(self.hand_over("lava").returncode, 99, text)
        shutil.rmtree(self.place("run"))
        self.assertEqual(self.hand_over("lava").returncode, 99)

    def test_run(self) -> None:
        result = run(*DENY, "EPERM", os.path.join(CI, "engines", "run.sh"), "lava",
                     self.place("new"), "exact/*", cwd="/", env={"O": BUILD})
        self.assertEqual(result.returncode, 4, result.stdout)
        self.assertIn("lava-test-case exact.anon --result skip", result.stdout)
        self.assertEqual(run(os.path.join(CI, "engines", "run.sh")).returncode, 2)


class Definitions(unittest.TestCase):
    """Tests the YAML files that other programs read."""
    yaml: Any

    @classmethod
    def setUpClass(cls) -> None:
        try:
            import yaml
        except ImportError:
            raise unittest.SkipTest("python3-yaml is not installed") from None
        cls.yaml = yaml

    def load(self, *names: str) -> dict[bool | str, Any]:
        with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
            return self.yaml.safe_load(file)

    def find_scripts(self, text: str) -> list[str]:
        """Returns the paths of this tree that @text runs, after checking that they exist."""
        scripts = re.findall(r"(?:^|[ \n])((?:ci|\.ci)/[\w./]+)", text)
        for path in scripts:
            self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)
        return scripts

    def test_lava(self) -> None:
        document = self.load("ci", "engines", "lava.yaml")
        self.assertEqual(document["metadata"]["format"], "Lava-Test Test Definition 1.0")
        self.assertTrue(self.find_scripts("\n".join(document["run"]["steps"])))
        for step in document["run"]["steps"]:
            self.assertEqual(run("sh", "-n", "-c", step).returncode, 0, step)
        build = re.search(r"build='(.*?)'", files.read(os.path.join(CI, "setup"))).group(1).split()
        self.assertLessEqual(set(build), set(document["install"]["deps"]))

    def test_tmt(self) -> None:
        self.assertEqual(files.read(os.path.join(ROOT, ".fmf", "version")), "1\n")
        document = self.load("ci", "engines", "tmt.fmf")
        self.assertTrue(self.find_scripts(document["/test"]["test"]))
        self.assertEqual(document["/test"]["result"], "custom")
        self.assertEqual(document["/plan"]["discover"]["test"], "/ci/engines/tmt/test")

    def test_workflow(self) -> None:
        document = self.load(".github", "workflows", "ci.yml")
        self.assertEqual(set(document["jobs"]), {"check", "kernels", "matrix"})
        for job in document["jobs"].values():
            for step in job["steps"]:
                self.assertTrue(("run" in step) != ("uses" in step), step)
                self.find_scripts(step.get("run", ""))
        # The workflow's list of kernels equals the matrix's list.
        listing = next(step["run"] for step in document["jobs"]["kernels"]["steps"]
                       if step.get("id") == "list")
        with tempfile.NamedTemporaryFile("r") as output:
            result = run("sh", "-c", listing, cwd=ROOT, env={"GITHUB_OUTPUT": output.name})
            self.assertEqual(result.returncode, 0, result.stdout)
            line = output.read()
        versions = json.loads(line.partition("=")[2])
        self.assertGreaterEqual(len(versions), 10)
        called = next(step["run"] for step in document["jobs"]["matrix"]["steps"]
                      if "ci/matrix" in step.get("run", ""))
        usage = run(*MATRIX, "run", "--help").stdout
        for option in re.findall(r"(?<!\S)(--?\w+)", called):
            self.assertIn(option, usage)
