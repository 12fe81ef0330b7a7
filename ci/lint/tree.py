# SPDX-License-Identifier: GPL-2.0-only
"""Loads the tree to check: its files, and findings in them."""

import dataclasses
import os
import re
from typing import Iterator

from ci.base import files, process

C_FOLDERS = ("harness/", "workloads/", "validators/")


@dataclasses.dataclass(frozen=True)
class Found:
    """A violation of a rule."""
    path: str
    line: int
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}: {self.why}"


@dataclasses.dataclass(frozen=True)
class Source:
    """A file, relative to the root."""
    path: str
    text: str

    @property
    def is_c(self) -> bool:
        return self.path.endswith((".c", ".h")) and self.path.startswith(C_FOLDERS)

    @property
    def is_python(self) -> bool:
        return self.path.endswith(".py")

    @property
    def is_shell(self) -> bool:
        return self.path.endswith(".sh") or re.match(r"#!(/bin/|/usr/bin/env )(ba)?sh\b",
                                                     self.text) is not None

    @property
    def is_code(self) -> bool:
        return self.is_c or self.is_python or self.is_shell or self.path == "Makefile"

    @property
    def is_selftest(self) -> bool:
        return self.path.startswith("harness/selftest/")

    def line_of(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def found(self, line: int, rule: str, why: str) -> Found:
        return Found(self.path, line, rule, why)


class Tree:
    def __init__(self, root: str) -> None:
        self.root = root
        self.paths = list_paths(root)
        # Recorded files of tests are data even if they are called *.c or *.py.
        self.sources = [Source(path, read_text(root, path)) for path in self.paths
                        if not re.search(r"/(golden|fixtures|corpus)/", path)]
        self.c = [source for source in self.sources if source.is_c]

    def path_exists(self, path: str) -> bool:
        return os.path.exists(os.path.join(self.root, path))


def list_paths(root: str) -> list[str]:
    """Returns the relative paths of the files that git does not ignore, or of all files if @root is
    no git repository."""
    listing = process.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"])
    top = process.run(["git", "-C", root, "rev-parse", "--show-prefix"])
    if listing.returncode == 0 and not top.stdout.strip():
        paths = listing.stdout.splitlines()
    else:
        paths = []
        for folder, _, names in os.walk(root):
            paths += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted({path for path in paths if os.path.isfile(os.path.join(root, path))})


def read_text(root: str, path: str) -> str:
    return files.read_bytes(os.path.join(root, path)).decode("utf-8", errors="replace")


def blank_out(match: "re.Match[str]") -> str:
    return re.sub(r"[^\n]", " ", match.group(0))


def blank_comments(text: str) -> str:
    """Blanks comments and strings in C text; keeps the lines."""
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank_out, text,
                  flags=re.S)


def find_includes(text: str) -> Iterator[tuple[int, str]]:
    """Yields (line, name) of each #include."""
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"\s*#\s*include\s*[<\"]([^>\"]+)[>\"]", line)
        if match:
            yield number, match.group(1)
