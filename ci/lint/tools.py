# SPDX-License-Identifier: GPL-2.0-only
"""Runs the external checkers clang-format, mypy, pyflakes and shellcheck."""

from concurrent.futures import Executor, Future
import os
import re
import shutil
import subprocess
from typing import Iterator, Sequence

from ci.base import process
from ci.lint.tree import Found, Tree

PLACE = re.compile(r"([^\s:][^:]*):(\d+):(?:\d+:)? *(.*)")


def run(tree: Tree, command: Sequence[str]) -> tuple[int, str]:
    result = process.run(command, cwd=tree.root, stderr=subprocess.STDOUT)
    return result.returncode, result.stdout


def check_format(tree: Tree) -> Iterator[Found]:
    """Yields a finding for the first badly formatted line of each file."""
    status, output = run(tree, ["clang-format", "--dry-run", "-Werror",
                                *(source.path for source in tree.c)]) if tree.c else (0, "")
    first: dict[str, int] = {}
    for place in re.finditer(r"^([^:\n]+):(\d+):\d+: error: ", output, re.M):
        first.setdefault(place.group(1), int(place.group(2)))
    for path, line in first.items():
        yield Found(path, line, "not formatted", f"run clang-format -i {path}")
    if status and not first:
        yield Found(".", 1, "not formatted", output.strip()[-500:])


def parse_findings(tree: Tree, command: Sequence[str], rule: str) -> Iterator[Found]:
    """Yields a finding for each FILE:LINE: TEXT that a tool prints, or its output if it fails
    without such a line."""
    status, output = run(tree, command)
    places = [match for match in map(PLACE.match, output.splitlines()) if match]
    for match in places:
        yield Found(match.group(1), int(match.group(2)), rule, match.group(3))
    if status and not places:
        yield Found(".", 1, rule, output.strip()[-500:])


def check_types(tree: Tree) -> Iterator[Found]:
    cache = os.path.join(os.environ.get("O", "build"), "mypy")
    files = [source.path for source in tree.sources if source.is_python]
    if files and tree.path_exists("mypy.ini"):
        yield from parse_findings(tree, ["mypy", "--no-error-summary", "--hide-error-context",
                                         "--cache-dir", cache, *files], "mypy")


def check_python(tree: Tree) -> Iterator[Found]:
    files = [source.path for source in tree.sources if source.is_python]
    if files:
        yield from parse_findings(tree, ["pyflakes3", *files], "pyflakes")


def check_shell(tree: Tree) -> Iterator[Found]:
    files = [source.path for source in tree.sources if source.is_shell]
    if files:
        yield from parse_findings(tree, ["shellcheck", "-f", "gcc", *files], "shellcheck")


CHECKS = {"clang-format": check_format, "mypy": check_types, "pyflakes3": check_python,
          "shellcheck": check_shell}


def start(tree: Tree, pool: Executor) -> list[Future[list[Found]]]:
    """Starts the installed checkers in @pool. Returns the futures of their findings."""
    for tool in CHECKS:
        if not shutil.which(tool):
            print(f"# SKIP {tool} is not installed")
    return [pool.submit(lambda check=check: list(check(tree)))
            for tool, check in CHECKS.items() if shutil.which(tool)]
