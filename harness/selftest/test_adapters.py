# SPDX-License-Identifier: GPL-2.0-only
"""A broken adapter is an ERROR with its last words, never a SKIP; one that lies is found out."""

import json
import os
import re
import shutil
from typing import Any

from ci.base import files, process
from harness.selftest.scratch import Folder, JITPROOF

# Answers each verb by what @answers says of it: lines, and how it ends.
ADAPTER = """import sys
answers = {answers!r}
said, ends = answers.get(sys.argv[1], ("", "exit"))
sys.stdout.write(said)
sys.stdout.flush()
if ends == "raise":
    raise RuntimeError("broken on purpose")
if ends == "wait":
    for line in sys.stdin:
        sys.stdout.write({{"stop": "stopped\\n", "finish": "done\\n"}}.get(line.strip(), ""))
        sys.stdout.flush()
"""

# perf's adapter, and then another `capture`.
LIAR = """import importlib.util, sys
spec = importlib.util.spec_from_file_location("perf", {perf!r})
perf = importlib.util.module_from_spec(spec)
spec.loader.exec_module(perf)
facts = perf.Recording.facts
perf.Recording.facts = lambda self: {{**facts(self), **{lie!r}}}
sys.exit(perf.main())
"""

# Says what it was asked with.
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
        """With profilers/fake.py; the lines of results.jsonl."""
        self.write(adapter, "profilers", "fake.py")
        out = self.place("run")
        shutil.rmtree(out, ignore_errors=True)
        done = process.run(
            [JITPROOF, "run", "-o", out, "--expected", os.path.join(self.home, "expected"),
             *("adapter/" + name for name in names)], timeout=90,
            env={**os.environ, "JITPROOF_PROFILERS": os.path.join(self.home, "profilers")})
        self.assertEqual(done.stderr, "")
        return [json.loads(line) for line in files.read(os.path.join(out, "results.jsonl"))
                .splitlines()]

    def errs(self, adapter: str, said: str, *names: str) -> None:
        for result in self.run_cases(adapter, *names):
            if result["outcome"] == "SKIP" and re.search("perf_event_open|: not found$",
                                                         result["why"]):
                self.skipTest(result["why"])
            self.assertEqual(result["outcome"], "ERROR", result["why"])
            self.assertRegex(result["why"], said)

    def answers(self, **answers: tuple[str, str]) -> str:
        return ADAPTER.format(answers=answers)

    def test_syntax(self) -> None:
        self.errs("def broken(:\n", r"its last words: .*SyntaxError: ", "*")

    def test_version(self) -> None:
        for answer, said in (
                (("", "raise"), "ended when asked for its version; .*broken on purpose"),
                (("", "exit"), "ended when asked for its version"),
                (("\n", "exit"), "said ''; expected 'version ...'"),
                (("vers 1\n", "exit"), "said 'vers 1'; expected 'version ...'")):
            with self.subTest(answer):
                self.errs(self.answers(version=answer), said, "launch", "attach", "inject")

    def test_missing_is_a_skip(self) -> None:
        for result in self.run_cases(self.answers(version=("skip no such tool\n", "exit")), "*"):
            self.assertEqual(result["outcome"], "SKIP")
            self.assertIn("no such tool", result["why"])

    def test_options_of_a_case(self) -> None:
        """They go to the profiler as they are; what it cannot do is a SKIP."""
        for result in self.run_cases(ECHO, "with.*"):
            kind = result["case"].split(".")[1]
            said = {"launch": "--for=launch --with=-z --with=--threads",
                    "attach": "--for=attach --with=-a",
                    "inject": "--for=inject --with=-b --with=--of=x"}[kind]
            self.assertEqual((result["outcome"], result["why"]), ("SKIP", "profiler fake: " + said))

    def test_recording(self) -> None:
        for answer, said in (
                (("", "raise"), "ended before it sampled; .*broken on purpose"),
                (("", "exit"), "ended before it sampled"),
                (("sampled\n", "exit"), "said 'sampled', which is no word of the protocol"),
                (("\n", "wait"), "said '', which is no word of the protocol"),
                (("error \n", "wait"), "said 'error ', which is no word of the protocol"),
                (("stopped\n", "wait"), "said 'stopped', for which nobody asked"),
                (("error no reason\n", "wait"), "^no reason")):
            with self.subTest(answer):
                self.errs(self.answers(version=VERSION, launch=answer, attach=answer), said,
                          "launch", "attach")

    def test_words_while_it_records(self) -> None:
        """Answers to what nobody asked would be believed later."""
        for word, said in (("sampling", "said 'sampling', for which nobody asked"),
                           ("stopped", "said 'stopped', for which nobody asked"),
                           ("samples -5", "said 'samples -5', which is no word"),
                           ("samples 2x", "said 'samples 2x', which is no word")):
            with self.subTest(word):
                answer = ("sampling\n%s\n" % word, "wait")
                self.errs(self.answers(version=VERSION, attach=answer), said, "attach")

    def test_dies_while_it_records(self) -> None:
        answer = ("sampling\nsamples 0\n", "raise")
        self.errs(self.answers(version=VERSION, attach=answer),
                  "(ended when it was to stop|does not listen).*broken on purpose", "attach")

    def test_writes_nothing(self) -> None:
        answer = ("sampling\nsamples 1000\n", "wait")
        self.errs(self.answers(version=VERSION, attach=answer), "perf.data: No such file", "attach")

    def test_injecting(self) -> None:
        for answer, said in ((("", "raise"), "adapter ended; its last words: .*on purpose"),
                             (("\n", "exit"), "said ''; expected 'done'"),
                             (("merged\n", "exit"), "said 'merged'; expected 'done'"),
                             (("done\n", "exit"), "injected.data: No such file")):
            with self.subTest(answer):
                self.errs(self.answers(version=VERSION, inject=answer), said, "inject")

    def test_lies(self) -> None:
        """Of times, of the clocks, and of what was asked for."""
        hour = 3600 * 10**9
        for lie, said in (
                ({"enabled": 1, "sampling": 2, "stopped": 3}, r"states enabled 1; the runner saw"),
                ({"sampling": hour << 16, "stopped": hour << 16}, "states sampling"),
                ({"stopped": hour << 16}, "states stopped"),
                ({"slack": 99_999}, "states slack 99999; the runner saw"),
                ({"max_stack": 3}, "states max_stack 3; the runner saw"),
                ({"stack_dump": 8192}, "states stack_dump 8192; the runner saw 0 to 0")):
            with self.subTest(lie):
                perf = os.path.join(os.path.dirname(os.path.abspath(JITPROOF)), "profiler/perf.py")
                adapter = LIAR.format(perf=os.path.realpath(perf), lie=lie)
                self.errs(adapter, said, "attach")
