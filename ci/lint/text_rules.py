# SPDX-License-Identifier: GPL-2.0-only
"""Checks rules for any text: licence, width, conflict markers, links."""

import os
import re
from typing import Iterator
import urllib.parse

from ci.lint.tree import Found, Source, Tree, blank_out, read_text

COLUMNS = 100
TAB = 8
# Names of folders and files that do not describe the content.
VAGUE = {"util", "utils", "common", "misc", "lib", "libs", "helpers"}


def check_spdx(source: Source) -> Iterator[Found]:
    lines = source.text.split("\n")
    # The licence follows an interpreter line, which must be first.
    first = 1 if lines[0].startswith("#!") else 0
    if len(lines) <= first or "SPDX-License-Identifier: GPL-2.0-only" not in lines[first]:
        yield source.found(first + 1, "no SPDX line", "each source file begins with its licence")


def check_name(path: str) -> Iterator[Found]:
    if not re.fullmatch(r"([.\w][-+.\w]*/)*[.\w][-+.\w]*", path, re.ASCII):
        yield Found(path, 1, "an odd name", "probably added by mistake")
    *folders, name = path.lower().split("/")
    stem = name.split(".")[0]
    for kind, part in [*(("folder", folder) for folder in folders), ("file", stem)]:
        if part in VAGUE and (kind == "folder" or name.endswith((".c", ".h", ".py"))):
            yield Found(path, 1, f"{kind} '{part}'",
                        "name it by its content; shared helpers belong in a base/")


def check_lines(source: Source) -> Iterator[Found]:
    for number, line in enumerate(source.text.split("\n"), 1):
        if len(line.expandtabs(TAB)) > COLUMNS:
            yield source.found(number, f"{len(line.expandtabs(TAB))} columns",
                               f"lines end at column {COLUMNS}")
        if line != line.rstrip():
            yield source.found(number, "blanks at the end", "they make diffs noisy")


def check_conflicts(source: Source) -> Iterator[Found]:
    for number, line in enumerate(source.text.split("\n"), 1):
        if re.match(r"(<{7}|>{7}) ", line):
            yield source.found(number, "a conflict of a merge", "resolve it, remove the marker")


def check_links(tree: Tree, source: Source) -> Iterator[Found]:
    """Markdown links to files of the tree must have an existing target."""
    prose = re.sub(r"^( {0,3})(```+|~~~+).*?(^ {0,3}\2[`~]*[ \t]*$|\Z)|(?<!`)(`+)(?!`)[^\n]*?"
                   r"(?<!`)\4(?!`)", blank_out, source.text, flags=re.M | re.S)
    links = r"\]\(\s*<?([^\s()<>]+)|^ {0,3}\[[^\]]+\]:\s*<?([^\s<>]+)"
    for match in re.finditer(links, prose, re.M):
        target = match.group(1) or match.group(2)
        if re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.I):
            continue
        problem = check_target(tree, source.path, target)
        if problem:
            yield source.found(source.line_of(match.start()), f"link to {target}", problem)


def check_target(tree: Tree, path: str, target: str) -> str:
    """Returns the problem with a link of the page @path, or ""."""
    name, _, place = urllib.parse.unquote(target).partition("#")
    linked = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
    if name.startswith("/") or linked.split("/")[0] == ".." or not tree.path_exists(linked):
        return "no such file in the tree"
    if not os.path.isfile(os.path.join(tree.root, linked)):
        return ""
    if re.fullmatch(r"L[0-9]+", place):
        lines = read_text(tree.root, linked).count("\n")
        return "the file has fewer lines" if lines < int(place[1:]) else ""
    if place and linked.endswith(".md") and place not in find_anchors(
            read_text(tree.root, linked)):
        return "the page has no such heading"
    return ""


def find_anchors(text: str) -> set[str]:
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ +(.*?)[ #]*$", text, re.M)}
