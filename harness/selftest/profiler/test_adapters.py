# SPDX-License-Identifier: GPL-2.0-only
"""A broken adapter is an ERROR with the end of its output, never a SKIP; false statements are
found."""

import json
import os
import re
import shutil
import tempfile
from typing import Any
from unittest import mock

from ci.base import files, process
from harness.selftest.support.scratch import HERE, JITPROOF, Folder

# Answers each verb with its lines of `answers`, and ends as `answers` specifies.
ADAPTER = """import sys
answers = {answers!r}
lines, ends = answers.get(sys.argv[1], ("", "exit"))
sys.stdout.write(lines)
sys.stdout.flush()
if ends == "raise":
    raise RuntimeError("broken on purpose")
if ends == "wait":
    for line in sys.stdin:
        sys.stdout.write({{"stop": "stopped\\n", "finish": "done\\n"}}.get(line.strip(), ""))
        sys.stdout.flush()
"""

# perf's adapter with altered facts in `capture`.
ALTERED = """import importlib.util, sys
spec = importlib.util.spec_from_file_location("perf", {perf!r})
perf = importlib.util.module_from_spec(spec)
spec.loader.exec_module(perf)
facts = perf.Recording.facts
perf.Recording.facts = lambda self: {{**facts(self), **{changes!r}}}
sys.exit(perf.main())
"""

# Prints its options.
ECHO = """import sys
print("skip" if sys.argv[2:] else "version 1", *sys.argv[2:])
"""

VERSION = ("version 1\n", "exit")
CASES = """
case launch check : anon_exec : launch-by fake --freq=999 : samples=1 seconds=10
	broken.chain =0
case attach check : anon_exec : attach-by fake --freq=999 : samples=1 seconds=10
	broken.chain =0
case inject check : anon_exec : launch --freq=999 : samples=1 seconds=10 publish=jitdump inject=fake
	names.right =100%
case with.launch check : anon_exec : launch-by fake --freq=999 -z --threads : samples=1 seconds=10
	broken.chain =0
case with.attach check : anon_exec : attach-by fake -a : samples=1 seconds=10
	broken.chain =0
case with.inject check : anon_exec : launch : samples=1 publish=jitdump inject=fake,-b,--of=x
	names.right =100%
"""


class Adapters(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.write(CASES, "expected", "adapter")

    def run_cases(self, adapter: str, *names: str) -> list[dict[str, Any]]:
        """Runs cases with the adapter as profilers/fake.py; returns the lines of results.jsonl."""
        self.write(adapter, "profilers", "fake.py")
        out = self.place("run")
        shutil.rmtree(out, ignore_errors=True)
        result = process.run(
            [JITPROOF, "run", "-o", out, "--expected", os.path.join(self.home, "expected"),
             *("adapter/" + name for name in names)], timeout=240,
            env={**os.environ, "JITPROOF_PROFILERS": os.path.join(self.home, "profilers")})
        self.assertEqual(result.stderr, "")
        return [json.loads(line) for line in files.read(os.path.join(out, "results.jsonl"))
                .splitlines()]

    def expect_errors(self, adapter: str, message: str, *names: str) -> None:
        for result in self.run_cases(adapter, *names):
            if result["outcome"] == "SKIP" and re.search("perf_event_open|: not found$",
                                                         result["why"]):
                self.skipTest(result["why"])
            self.assertEqual(result["outcome"], "ERROR", result["why"])
            self.assertRegex(result["why"], message)

    def read_answers(self, **answers: tuple[str, str]) -> str:
        return ADAPTER.format(answers=answers)

    def test_syntax_error(self) -> None:
        self.expect_errors("def broken(:\n", r"its last words: .*SyntaxError: ", "*")

    def test_version_without_text(self) -> None:
        self.expect_errors(self.read_answers(version=("version \n", "exit")),
                           "wrote 'version ' when asked for its version", "launch", "inject")

    def test_missing_is_a_skip(self) -> None:
        for result in self.run_cases(self.read_answers(version=("skip no such tool\n", "exit")),
                                     "*"):
            self.assertEqual(result["outcome"], "SKIP")
            self.assertIn("no such tool", result["why"])

    def test_options_of_a_case(self) -> None:
        """A case's options reach the profiler unchanged; unsupported ones are a SKIP."""
        for result in self.run_cases(ECHO, "with.*"):
            kind = result["case"].split(".")[1]
            message = {"launch": "--for=launch --with=-z --with=--threads",
                       "attach": "--for=attach --with=-a",
                       "inject": "--for=inject --with=-b --with=--of=x"}[kind]
            self.assertEqual((result["outcome"], result["why"]),
                             ("SKIP", "profiler fake: " + message))

    def test_words_before_it_samples(self) -> None:
        for word, message in (("error ", "wrote 'error ' before it sampled"),
                              ("error no reason", "^no reason")):
            with self.subTest(word):
                answer = (word + "\n", "wait")
                self.expect_errors(self.read_answers(version=VERSION, attach=answer), message,
                                   "attach")

    def test_words_while_it_records(self) -> None:
        """Unsolicited answers are an ERROR: they could be mistaken for later answers."""
        for word in ("enabled", "samples -5", "samples 2x"):
            with self.subTest(word):
                answer = ("sampling\n%s\n" % word, "wait")
                self.expect_errors(self.read_answers(version=VERSION, attach=answer),
                                   "wrote '%s' while it recorded" % word, "attach")

    def test_writes_nothing(self) -> None:
        answer = ("sampling\nsamples 1000\n", "wait")
        self.expect_errors(self.read_answers(version=VERSION, attach=answer),
                           "perf.data: No such file", "attach")

    def test_injecting(self) -> None:
        for answer, message in (
                (("", "raise"), "ended with status 1 when asked to inject; expected 'done'; its "
                 "last words: .*on purpose"),
                (("\n", "exit"), "wrote '' when asked to inject"),
                (("merged\n", "exit"), "wrote 'merged' when asked to inject"),
                (("done\n", "raise"), "ended with status 1 after it was done"),
                (("error no jitdump\n", "exit"), "^no jitdump"),
                (("done\n", "exit"), "injected.data: No such file")):
            with self.subTest(answer):
                self.expect_errors(self.read_answers(version=VERSION, inject=answer), message,
                                   "inject")

    def test_false_statements(self) -> None:
        """The runner notes the times itself, so false times in `capture` are found."""
        perf = os.path.join(os.path.dirname(os.path.abspath(JITPROOF)), "profiler/perf.py")
        adapter = ALTERED.format(perf=os.path.realpath(perf),
                                 changes={"enabled": 1, "sampling": 2, "stopped": 3})
        self.expect_errors(adapter, "states enabled 1; the runner saw", "attach")


# Faults of broken_adapter.py: the reported fact; for each step, the reported time and expectation.
FACTS = {"word": "wrote 'wrong'", "empty": "wrote ''", "long": "wrote 1024 bytes without a newline",
         "nul": r"wrote '[\w ]*' and a NUL byte", "exit0": "ended with status 0",
         "exit3": "ended with status 3", "killed": r"was killed by signal 9 \(Killed\)",
         "closes": "closed its standard output and did not exit"}
STEPS = {"sampling": ("before it sampled", "'sampling'"),
         "recording": ("while it recorded", "'samples N' or 'exited'"),
         "stop": ("when asked to stop", "'stopped'"),
         # The runner sends `finish` at once.
         "stopped": ("(after it had stopped|when asked to finish)",
                     "('samples N' or 'exited'|'done')"),
         "finish": ("when asked to finish", "'done'"),
         "done": ("after it was done", "its end"),
         "enable": ("when asked to enable its events", "'enabled'"),
         "disable": ("when asked to disable its events", "'disabled'")}
ALWAYS = list(STEPS)[:6]
MORE = {"twice.sampling": ("wrote 'sampling'", "recording"),
        "early.sampling": ("wrote 'stopped'", "sampling"),
        "twice.stop": ("wrote 'stopped'", "stopped"), "early.stop": ("wrote 'done'", "stop"),
        "twice.finish": ("wrote 'done'", "done"), "lives.done": ("did not exit", "done")}
ASKED = {"version": ("when asked for its version", "'version ...' or 'skip WHY'"),
         "versioned": ("after its version", "its end")}


def remove_lines(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)


def error_message(fact: str, step: tuple[str, str]) -> str:
    return "profiler broken: %s %s; expected %s; its last words: last words" % (fact, *step)


class Broken(Folder):
    """Each fault at each step causes an ERROR soon, which names the fault, the step and the
    expectation."""

    def setUp(self) -> None:
        super().setUp()
        self.write(files.read(os.path.join(HERE, "support", "broken_adapter.py")),
                   "profilers", "broken.py")

    def run_jitproof(self, *arguments: str, fault: str = "") -> Any:
        return process.run([JITPROOF, *arguments], timeout=240, env={
            **os.environ, "JITPROOF_PROFILERS": self.place("profilers"), "JITPROOF_FAULT": fault})

    def run_faults(self, way: str, faults: dict[str, str], fault: str = "") -> None:
        watched, gate = (("fork_exec --tasks=2", way), "control=gate") if way == "gated" else \
            (("anon_exec", way), "")
        self.write("".join(
            "case %s check : %s : %s-by broken --freq=999 : samples=1 seconds=60 %s\n"
            "\tbroken.chain =0\n" % (name, *watched, gate) for name in faults),
                   "expected", "broken")
        out = self.place(way + fault)
        self.run_jitproof("run", "-o", out, "--expected", self.place("expected"), "broken/*",
                          fault=fault)
        for line in files.read(os.path.join(out, "results.jsonl")).splitlines():
            result = json.loads(line)
            with self.subTest(way=way, case=result["case"], fault=fault):
                if result["outcome"] == "SKIP":
                    self.skipTest(result["why"])
                self.assertEqual(result["outcome"], "ERROR", result["why"])
                self.assertRegex(result["why"], "^" + faults[result["case"].split("/")[1]])
                self.assertLess(result["seconds"], 20 if "lives" in result["case"] else 8)

    def test_recording(self) -> None:
        # The same code reads the answers of all steps: each step has one fault, and one step all.
        faults = {fault + "." + step: error_message(fact, STEPS[step])
                  for fault, fact in FACTS.items() for step in ALWAYS
                  if fault == "word" or step == "recording"}
        faults.update((name, error_message(fact, STEPS[step]))
                      for name, (fact, step) in MORE.items())
        self.run_faults("attach", faults)
        self.run_faults("launch", {name: message for name, message in faults.items()
                                   if name in ("lives.done", "word.sampling")})

    def test_gated(self) -> None:
        self.run_faults("gated", {
            "killed.enable": error_message(FACTS["killed"], STEPS["enable"]),
            "word.disable": error_message(FACTS["word"], STEPS["disable"]),
            "early.enable": error_message("wrote 'disabled'", STEPS["enable"])})

    def test_version(self) -> None:
        for fault in ("word.version", "closes.version", "empty.versioned", "killed.versioned"):
            kind, step = fault.split(".")
            self.run_faults("attach", {"it": error_message(FACTS[kind], ASKED[step])}, fault)

    def test_links_of_a_killed_adapter(self) -> None:
        """A link in /tmp of a killed adapter is removed if it points into this case's folder."""
        with tempfile.TemporaryDirectory(dir="/tmp") as other:
            maps = ["/tmp/perf-%d.map" % (2 ** 31 - number) for number in range(2, 6)]
            for path in maps:
                self.addCleanup(remove_lines, path)
            foreign, elsewhere, plain, case = maps
            os.symlink(os.path.join(other, os.path.basename(foreign)), foreign)
            # No adapter links to this file of the case.
            os.symlink(self.place("attach/broken/killed.stop/truth"), elsewhere)
            files.write(plain, "")
            with mock.patch.dict(os.environ, JITPROOF_LINK=os.path.basename(case)):
                self.run_faults("attach",
                                {"killed.stop": error_message(FACTS["killed"], STEPS["stop"])})
            self.assertEqual([os.path.lexists(path) for path in maps], [True, True, True, False])

    def test_score(self) -> None:
        result = self.run_jitproof("score", "--profiler=broken", "--json", "anon_exec",
                                   fault="killed.stop")
        row, = json.loads(result.stdout)["workloads"]
        self.assertEqual((result.returncode, row["outcome"]), (1, "ERROR"), row)
        self.assertRegex(row["why"], "^profiler broken: .* expected .*last words$")
        result = self.run_jitproof("score", "--profiler=broken", "anon_exec", fault="word.version")
        self.assertEqual(result.returncode, 99)
        self.assertIn("score: profiler broken: wrote 'wrong' when asked", result.stderr)

    def test_adapter_check(self) -> None:
        result = self.run_jitproof("adapter", "check", "broken", fault="exit0.stop")
        line = "(?m)^# " + error_message(FACTS["exit0"], STEPS["stop"])
        self.assertEqual(result.returncode, 1, result)
        self.assertEqual(len(re.findall(line, result.stdout)), 2, result)
        self.assertRegex(result.stdout, "(?m)^not ok 2 attach\n(.*\n)*not ok 3 launch")
        result = self.run_jitproof("adapter", "check", "broken", "none", fault="exit0.stop")
        self.assertEqual(result.returncode, 2, result)
        self.assertIn("no scene matches 'none'", result.stderr)
        result = self.run_jitproof("adapter", "check", "broken", fault="long.version")
        self.assertRegex(result.stdout,
                         "# profiler broken: wrote 1024 .*\nnot ok 1 version\nBail out")
