# SPDX-License-Identifier: GPL-2.0-only
"""Tests that `jitproof complete` knows the words of each command, and that bash, zsh and fish use
it."""

import os
import pty
import re
import shlex
import shutil
import unittest

from ci.base import process
from harness.selftest.support.scratch import JITPROOF, ROOT, Folder

SCRIPTS = os.path.join(ROOT, "packaging", "completion")
# Replaces jitproof on a shell's PATH: prints the words that the shell passes.
SHOW = """#!/bin/sh
[ "$1" != complete ] || exec {} "$@"
printf '<%s>' "$@"
"""
# {typed line: the words of the line after a TAB at its end}
TYPED = {
    "ru": ["run"],
    "run --jo": ["run", "--jobs"],
    "run --set ch": ["run", "--set", "check"],
    "run --set=ch": ["run", "--set=check"],
    "run growth/anon.jitdump.k": ["run", "growth/anon.jitdump.keep"],
    "repro growth/anon.jitdump.k": ["repro", "growth/anon.jitdump.keep"],
    "run -o kept growth/anon.jitdump.k": ["run", "-o", "kept", "growth/anon.jitdump.keep"],
    "workload wx_t": ["workload", "wx_toggle"],
    "workload wx_toggle --compi": ["workload", "wx_toggle", "--compilers"],
    "workload --publish=jitdump:no-p": ["workload", "--publish=jitdump:no-padding"],
    "score --profiler perf_s": ["score", "--profiler", "perf_script"],
    "judge only-f": ["judge", "only-file"],
    "explain --elf=only-f": ["explain", "--elf=only-file"],
}


def complete(*words: str) -> list[str]:
    """Returns the possible values of the last of @words."""
    text = process.run_or_raise([JITPROOF, "complete", *words])
    return [line.split("\t")[0] for line in text.splitlines()]


class Candidates(unittest.TestCase):
    def test_every_command(self) -> None:
        """The first step of each command is jp_command_line(), which also completes; with it, no
        command does anything else."""
        output = re.findall(r"^  (\w+)  ", process.run_or_raise([JITPROOF, "--help"]), re.M)
        self.assertIn("judge", output)
        self.assertEqual(complete(""), output)
        for command in output:
            with self.subTest(command):
                text = process.run_or_raise([JITPROOF, command, "--help"])
                options = re.findall(r"^  (?:-\w, )?(--?[a-z][\w-]*)", text, re.M)
                self.assertEqual(complete(command, "-"), ["--help", *options])

    def test_cases(self) -> None:
        cases = [line.split()[0] for line in process.run_or_raise([JITPROOF, "list"]).splitlines()]
        studies = sorted({name.split("/")[0] for name in cases})
        self.assertEqual(complete("repro", ""), cases)
        self.assertEqual(complete("run", ""), [study + "/*" for study in studies] + cases)

    def test_modes(self) -> None:
        """Options that an earlier option excludes are not offered."""
        self.assertIn("--order", complete("record", "-p", "1", "-"))
        self.assertNotIn("--order", complete("record", "make", "-"))
        self.assertNotIn("--list", complete("score", "--profiler", "perf", "-"))

    def test_values(self) -> None:
        for words, values in (
                (["run", "--set", ""], ["check", "full"]),
                (["run", "--set=f"], ["check", "full"]),
                (["run", "--jobs", ""], []), (["nosuch", ""], []),
                (["run", "-o", ""], ["<file>"]), (["record", "--", "make", "-"], ["<file>"]),
                (["adapter", ""], ["check"])):
            with self.subTest(words):
                self.assertEqual(complete(*words), values)
        self.assertEqual(complete("score", "--compare", "perf", ""),
                         complete("score", "--profiler", ""))
        self.assertIn("dump.arch-clock", complete("lint", "--allow", ""))


class Shells(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.write(SHOW.format(shlex.quote(JITPROOF)), "bin", "jitproof", runs=True)
        self.write("", "here", "only-file")
        self.environment = {**os.environ, "HOME": self.home, "TERM": "dumb", "PS1": "",
                            "PATH": self.place("bin") + ":" + os.environ["PATH"]}

    def need(self, shell: str) -> None:
        if not shutil.which(shell):
            self.skipTest(f"no {shell}")

    def type_lines(self, *shell: str) -> list[list[str]]:
        """Types each line with a TAB at a terminal; returns the words that jitproof got."""
        lines = [f"jitproof {typed}\t\nprintf '\\n'\n" for typed in TYPED]
        terminal, end = pty.openpty()
        with os.fdopen(terminal, "wb", buffering=0) as keys:
            output = self.place("shown")
            with open(output, "wb") as out:
                keys.write(b"".join(line.encode() for line in [*lines, "exit\n"]))
                process.run(shell, stdin=end, stdout=out, stderr=out, timeout=240,
                            cwd=self.place("here"), env=self.environment,
                            start_new_session=True)
            os.close(end)
        with open(output, encoding="utf-8") as file:
            found = re.findall(r"^.*?((?:<[^<>]+>)+)", file.read(), re.M)
        return [re.findall("<(.*?)>", line) for line in found]

    def test_bash(self) -> None:
        self.write(f". {SCRIPTS}/jitproof.bash\nset +m\n", "rc")
        self.assertEqual(self.type_lines("bash", "--rcfile", self.place("rc"), "-i"),
                         list(TYPED.values()))

    def test_zsh(self) -> None:
        self.need("zsh")
        self.write(f"fpath=({SCRIPTS} $fpath)\nautoload -Uz compinit\ncompinit -u -D\n"
                   "PROMPT= RPROMPT=\nunsetopt prompt_cr\n", ".zshrc")
        self.assertEqual(self.type_lines("zsh", "-i"), list(TYPED.values()))

    def test_fish(self) -> None:
        self.need("fish")
        for typed, words in TYPED.items():
            asked = f"source {SCRIPTS}/jitproof.fish; complete -C 'jitproof {typed}'"
            text = process.run_or_raise(["fish", "--no-config", "-c", asked],
                                        cwd=self.place("here"),
                                        env=self.environment)
            with self.subTest(typed):
                self.assertEqual([line.split("\t")[0] for line in text.splitlines()], [words[-1]])
