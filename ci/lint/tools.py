# SPDX-License-Identifier: GPL-2.0-only
"""What others check for us: clang-format, mypy, pyflakes, shellcheck."""

import os
import re
import shutil
import subprocess
from typing import Iterator, Sequence

from ci.base import process
from ci.lint.tree import Found, Tree

PLACE = re.compile(r"([^\s:][^:]*):(\d+):(?:\d+:)? *(.*)")


def run(tree: Tree, command: Sequence[str]) -> tuple[int, str]:
    done = process.run(command, cwd=tree.root, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def check_format(tree: Tree) -> Iterator[Found]:
    for source in tree.c:
        status, said = run(tree, ["clang-format", "--dry-run", "-Werror", source.path])
        if status:
            place = re.search(r":(\d+):\d+: ", said)
            yield source.found(int(place.group(1)) if place else 1, "not as clang-format has it",
                               f"run clang-format -i {source.path}")


def told(tree: Tree, command: Sequence[str], what: str) -> Iterator[Found]:
    """A finding for each FILE:LINE: TEXT that a tool prints; it must print one where it fails."""
    status, said = run(tree, command)
    places = [match for match in map(PLACE.match, said.splitlines()) if match]
    for match in places:
        yield Found(match.group(1), int(match.group(2)), what, match.group(3))
    if status and not places:
        yield Found(".", 1, what, said.strip()[-500:])


def check_types(tree: Tree) -> Iterator[Found]:
    cache = os.path.join(os.environ.get("O", "build"), "mypy")
    files = [source.path for source in tree.sources if source.is_python]
    if files and tree.has("mypy.ini"):
        yield from told(tree, ["mypy", "--no-error-summary", "--hide-error-context", "--cache-dir",
                               cache, *files], "mypy")


def check_python(tree: Tree) -> Iterator[Found]:
    files = [source.path for source in tree.sources if source.is_python]
    if files:
        yield from told(tree, ["pyflakes3", *files], "pyflakes")


def check_shell(tree: Tree) -> Iterator[Found]:
    files = [source.path for source in tree.sources if source.is_shell]
    if files:
        yield from told(tree, ["shellcheck", "-f", "gcc", *files], "shellcheck")


CHECKS = {"clang-format": check_format, "mypy": check_types, "pyflakes3": check_python,
          "shellcheck": check_shell}


def check(tree: Tree) -> Iterator[Found]:
    for tool, function in CHECKS.items():
        if shutil.which(tool):
            yield from function(tree)
        else:
            print(f"# SKIP {tool} is not installed: what it checks was not checked")
