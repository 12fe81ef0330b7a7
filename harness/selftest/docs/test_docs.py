# SPDX-License-Identifier: GPL-2.0-only
"""Tests that the commands, options and targets which pages name exist, and that jitproof accepts
the examples."""

import functools
import glob
import os
import re
import shutil
import sys
import unittest
from typing import Iterator

from ci.base import process
from harness.selftest.support.scratch import JITPROOF, ROOT as TOP, Folder

PAGES = [os.path.join(TOP, name) for name in ("README.md", "CONTRIBUTING.md")] + \
    sorted(glob.glob(os.path.join(TOP, "docs", "*.md"))) + \
    [os.path.join(TOP, "results", "FINDINGS.md")]
MANUAL = os.path.join(TOP, "docs", "manual.md")


def list_code(page: str) -> Iterator[str]:
    """Yields indented lines, lines of fenced blocks, and texts between backticks."""
    fenced = False
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith(("\t", "    ")):
            yield line.strip()
    for match in re.finditer(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.S)):
        yield " ".join(match[1].split())


def find_commands(pattern: str) -> Iterator[tuple[str, str]]:
    """Yields (page, text after @pattern) of each command line, up to the next command or a
    comment."""
    for page in PAGES:
        for line in list_code(page):
            for match in re.finditer(rf"(?:^|[\s;(|]){pattern}\s+([^|;&#`]*)", line):
                yield os.path.relpath(page, TOP), match[1].strip()


def find_options(text: str) -> list[str]:
    return re.findall(r"(?<![\w-])--[a-z][\w-]*", text)


@functools.cache
def read_help(*command: str) -> str:
    result = process.run([*command, "--help"], cwd=TOP, timeout=240)
    return result.stdout if result.returncode == 0 else ""


def find_blocks(page: str, language: str = "") -> list[str]:
    """Returns the fenced blocks of docs/@page."""
    with open(os.path.join(TOP, "docs", page), encoding="utf-8") as file:
        fenced = re.findall(r"^```(\w*)\n(.*?)^```", file.read(), flags=re.M | re.S)
    return [text for written_in, text in fenced if written_in == language]


class Examples(Folder):
    """Tests examples that readers copy as a whole."""

    def parse_case_file(self, page: str) -> str:
        """Parses the only complete case file of @page, without running a case; returns jitproof's
        output."""
        # Blocks without a case line show syntax in capitals, or two lines of a study.
        example, = [text for text in find_blocks(page) if re.search(r"^case [a-z]", text, re.M)]
        self.write(example, "cases", "example")
        return process.run([JITPROOF, "run", "--expected", self.place("cases"), "none"],
                           timeout=240).stderr

    def test_cases(self) -> None:
        self.assertIn("no case matches 'none'", self.parse_case_file("expected-format.md"))

    def test_workload(self) -> None:
        source, = find_blocks("new-workload.md", "c")
        process.run_or_raise(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Werror",
                              "-fsyntax-only", "-I", TOP, self.write(source, "mine.c")])
        self.assertIn("example:2: no workload 'mine'", self.parse_case_file("new-workload.md"))


class Pages(unittest.TestCase):
    def test_jitproof(self) -> None:
        checked = 0
        for page, words in find_commands(r"(?:[\w./$-]*/)?jitproof"):
            ours = words.split(" -- ")[0]
            if not re.match("[a-z]+ .*--", ours):
                continue
            name, first, *_ = ours.split()
            # Each workload has options of its own; one page adds a workload that is not built in.
            text = (name == "workload" and read_help(JITPROOF, name, first)) or \
                read_help(JITPROOF, name)
            for option in find_options(ours):
                checked += 1
                with self.subTest(page=page, line=words):
                    self.assertIn(option, find_options(text) + ["--help"])
        self.assertGreater(checked, 50)

    def test_metrics(self) -> None:
        """The tables of metrics contain each metric that a validator counts, and `run -v` prints a
        text for it."""
        rows, texts = set(), set()
        for page in ("results-format.md", "gate-protocol.md", "readers.md"):
            with open(os.path.join(TOP, "docs", page), encoding="utf-8") as file:
                for row in re.findall(r"^\| (`.*?) \|", file.read(), re.M):
                    names = re.findall(r"`([a-z._0-9]+)`", row)
                    family = names[0].split(".")[0] if names else ""
                    rows |= {family + name if name[0] == "." else name for name in names}
        counted = set()
        for path in glob.glob(os.path.join(TOP, "validators", "*.c")):
            with open(path, encoding="utf-8") as source:
                text = source.read()
            if "struct jp_metric_text " in text:
                texts |= set(re.findall(r'\{"([^"]+)",', text))
            if not path.endswith("/metric_texts.c"):
                counted |= set(re.findall(r'"([a-z]+(?:\.[a-z_0-9]+)+)"', text))
        self.assertGreater(len(counted), 80)
        # Exclude the marks of a process at its gate, which are not metrics.
        with open(os.path.join(TOP, "workloads", "emit", "gate.c"), encoding="utf-8") as source:
            counted -= set(re.findall(r'send_request\("([a-z.]+)"', source.read()))
        counted -= {name for name in counted if name.startswith("perf.")}  # ids of findings
        # The suffix .before: the same metric of the first of two captures.
        self.assertEqual({name for name in counted - rows
                          if name.removesuffix(".before") not in rows}, set())
        self.assertEqual({name for name in counted - texts - {"injected.data"}
                          if name.rpartition(".")[0] not in texts}, set())

    def test_make(self) -> None:
        with open(os.path.join(TOP, "Makefile"), encoding="utf-8") as file:
            makefile = file.read()
        targets = set(re.findall(r"^([a-z][\w-]*):", makefile, flags=re.M))
        checked = 0
        for page, words in find_commands("make"):
            for word in words.split():
                if not re.fullmatch(r"[a-z][a-z_-]+", word):
                    break
                checked += 1
                with self.subTest(page=page, line=f"make {words}"):
                    self.assertIn(word, targets)
        self.assertGreater(checked, 10)

    def test_drivers(self) -> None:
        checked = 0
        for page, sections in find_commands("python3"):
            path, *words = sections.split() or [""]
            if not path.startswith(("ci/", "harness/")):
                continue
            checked += 1
            with self.subTest(page=page, line=f"python3 {sections}"):
                self.assertTrue(os.path.exists(os.path.join(TOP, path)))
                _, *texts = read_help(sys.executable, path).split("\n\n")
                self.assertRegex(texts[0] if texts else "", r"[.:?]$", "help that stops short")
                if find_options(" ".join(words)):
                    text = read_help(sys.executable, path)
                    if words[0] in text and read_help(sys.executable, path, words[0]):
                        text += read_help(sys.executable, path, words[0])
                    for option in find_options(" ".join(words)):
                        self.assertIn(option, find_options(text))
        self.assertGreater(checked, 10)


class Help(unittest.TestCase):
    def test_width(self) -> None:
        """A terminal shows each command in a line."""
        commands = read_help(JITPROOF).splitlines()
        self.assertGreater(len(commands), 10)
        for line in commands:
            self.assertLessEqual(len(line), 80)

    def test_synopsis(self) -> None:
        """In a synopsis, some options make the operands unnecessary."""
        self.assertIn("-p PID", read_help(JITPROOF, "lint").splitlines()[0])


def remove_escapes(text: str) -> str:
    """Returns @text without marks of Markdown and column titles, as one line."""
    text = re.sub(r"^(```.*|\|.*\|\n\|[-|]+\||<!--.*-->)$", "", text, flags=re.M)
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text.replace(r"\|", "/"))
    text = re.sub(r" \(jitproof-[\w-]+\(5\)\)", "", " ".join(text.split()))
    return " ".join(re.sub(r"[`*|#]", " ", text).split())


class ManPages(Folder):
    """Tests that the manual pages contain the text of --help and of the pages about formats."""

    def setUp(self) -> None:
        super().setUp()
        process.run_or_raise([sys.executable, os.path.join(TOP, "ci", "manual"), "--jitproof",
                              JITPROOF,
                              "-o", self.home])
        with open(MANUAL, encoding="utf-8") as file:
            self.text = file.read()
        self.commands = re.findall(r"^  (\w+)  ", read_help(JITPROOF), flags=re.M)
        self.assertIn("judge", self.commands)

    def show(self, *names: str) -> str:
        """Returns the output of man with very long lines."""
        if not shutil.which("groff"):
            self.skipTest("no groff")
        return process.run_or_raise(["groff", "-man", "-T", "utf8", "-P-cbou", "-rLL=2000n",
                                     self.place(*names)], env={**os.environ, "GROFF_NO_SGR": "1"})

    def test_commands(self) -> None:
        first = remove_escapes(self.show("man1", "jitproof.1"))
        for command in self.commands:
            usage, sentence, *words = read_help(JITPROOF, command).split("\n\n", 2)
            page = remove_escapes(self.show("man1", f"jitproof-{command}.1"))
            with self.subTest(command):
                self.assertIn(remove_escapes(usage.removeprefix("usage: ")), page)
                self.assertIn(remove_escapes(usage.removeprefix("usage: ")), first)
                self.assertIn(remove_escapes(sentence).rstrip("."), page)
                missing = [word for word in remove_escapes(words[0]).split() if word not in page]
                self.assertEqual(missing, [])
        self.assertEqual(len(os.listdir(self.place("man1"))), 1 + len(self.commands))

    def test_sections(self) -> None:
        """Each section of docs/manual.md is about a command or belongs to jitproof.1."""
        self.assertLessEqual(set(re.findall(r"^## (.*)", self.text, re.M)),
                             {*self.commands, "Description", "Exit status", "Environment", "Files",
                              "Examples"})

    def test_formats(self) -> None:
        """Each word of a format's page is in its manual page."""
        pages = os.listdir(self.place("man5"))
        self.assertGreater(len(pages), 5)
        for name in pages:
            page = os.path.join(TOP, "docs", name.removeprefix("jitproof-").replace(".5", ".md"))
            with open(page, encoding="utf-8") as file:
                words = remove_escapes(file.read()).lower().split()
            output = remove_escapes(self.show("man5", name)).lower()
            with self.subTest(name):
                self.assertEqual([word for word in words if word not in output], [])

    def test_prose(self) -> None:
        """Examples and explanations use only options that jitproof has, besides one of perf."""
        known_options = {option for command in self.commands
                 for option in find_options(read_help(JITPROOF, command))}
        self.assertLessEqual(set(find_options(self.text)),
                             known_options | {"--help", "--version", "--user-regs"})

    def test_threats(self) -> None:
        """The threat model states the files of each command."""
        with open(os.path.join(TOP, "docs", "threat-model.md"), encoding="utf-8") as file:
            table = file.read().split("\n## ")[2]
        names = {first for cell in re.findall(r"^\| (`.*?) \|", table, re.M)
                 for first in re.findall(r"`(\w+)", cell)}
        self.assertEqual(names, set(self.commands))

    def test_variables(self) -> None:
        """The sources contain each environment variable that the page names."""
        words: set[str] = set()
        for pattern in ("harness/[!s]*/**/*.c", "harness/profiler/**/*.py"):
            for path in glob.glob(pattern, root_dir=TOP, recursive=True):
                with open(os.path.join(TOP, path), encoding="utf-8") as file:
                    words |= set(re.findall(r"\w+", file.read()))
        section, = re.findall(r"^## Environment\n(.*?)^## ", self.text, re.M | re.S)
        names = set(re.findall(r"JITPROOF_\w+|TMPDIR|HOME|PATH", section))
        self.assertGreater(len(names), 5)
        self.assertLessEqual(names, words)

    def test_macros(self) -> None:
        pages = sorted(glob.glob(self.place("man?", "*")))
        for command in (["mandoc", "-T", "lint", "-W", "style"],
                        ["groff", "-man", "-ww", "-T", "utf8", "-z"],
                        ["man", "--warnings", "-l"]):
            if shutil.which(command[0]):
                result = process.run([*command, *pages])
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertTrue(command[0] == "man" or not result.stdout, result.stdout)
