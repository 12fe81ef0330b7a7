# SPDX-License-Identifier: GPL-2.0-only
"""Rules for any text: licence, width, marks of a merge, links."""

import os
import re
from typing import Iterator
import urllib.parse

from ci.lint.tree import Found, Source, Tree, blank, text_of

COLUMNS = 100
TAB = 8
SAY_NOTHING = {"util", "utils", "common", "misc", "lib", "libs", "helpers"}


def check_spdx(source: Source) -> Iterator[Found]:
    lines = source.text.split("\n")
    # An interpreter line must be first; the licence then comes second.
    first = 1 if lines[0].startswith("#!") else 0
    if len(lines) <= first or "SPDX-License-Identifier: GPL-2.0-only" not in lines[first]:
        yield source.found(first + 1, "no SPDX line", "each source file names its licence first")


def check_name(path: str) -> Iterator[Found]:
    """Also of what is no source."""
    if not re.fullmatch(r"([.\w][-+.\w]*/)*[.\w][-+.\w]*", path, re.ASCII):
        yield Found(path, 1, "an odd name", "a file that nobody meant to add")
    *folders, name = path.lower().split("/")
    stem = name.split(".")[0]
    for what, part in [*(("folder", folder) for folder in folders), ("file", stem)]:
        if part in SAY_NOTHING and (what == "folder" or name.endswith((".c", ".h", ".py"))):
            yield Found(path, 1, f"{what} '{part}'",
                        "a name says what is inside; what all need is in a base/")


def check_lines(source: Source) -> Iterator[Found]:
    for number, line in enumerate(source.text.split("\n"), 1):
        if len(line.expandtabs(TAB)) > COLUMNS:
            yield source.found(number, f"{len(line.expandtabs(TAB))} columns",
                               f"lines end at column {COLUMNS}")
        if line != line.rstrip():
            yield source.found(number, "blanks at the end", "they make noise in differences")


def check_conflicts(source: Source) -> Iterator[Found]:
    for number, line in enumerate(source.text.split("\n"), 1):
        if re.match(r"(<{7}|>{7}) ", line):
            yield source.found(number, "a conflict of a merge", "one side, or both, and no mark")


def check_links(tree: Tree, source: Source) -> Iterator[Found]:
    """Links of Markdown that lead into the tree must lead to something in it."""
    prose = re.sub(r"^( {0,3})(```+|~~~+).*?(^ {0,3}\2[`~]*[ \t]*$|\Z)|(?<!`)(`+)(?!`)[^\n]*?"
                   r"(?<!`)\4(?!`)", blank, source.text, flags=re.M | re.S)
    links = r"\]\(\s*<?([^\s()<>]+)|^ {0,3}\[[^\]]+\]:\s*<?([^\s<>]+)"
    for match in re.finditer(links, prose, re.M):
        target = match.group(1) or match.group(2)
        if re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.I):
            continue
        wrong = why_broken(tree, source.path, target)
        if wrong:
            yield source.found(source.line_of(match.start()), f"link to {target}", wrong)


def why_broken(tree: Tree, path: str, target: str) -> str:
    """What is wrong with a link of @path, or nothing."""
    name, _, place = urllib.parse.unquote(target).partition("#")
    there = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
    if name.startswith("/") or there.split("/")[0] == ".." or not tree.has(there):
        return "nothing in the tree is there"
    if not os.path.isfile(os.path.join(tree.root, there)):
        return ""
    if re.fullmatch(r"L[0-9]+", place):
        lines = text_of(tree.root, there).count("\n")
        return "the file has fewer lines" if lines < int(place[1:]) else ""
    if place and there.endswith(".md") and place not in anchors(text_of(tree.root, there)):
        return "the page has no such heading"
    return ""


def anchors(text: str) -> set[str]:
    """What the headings of a page are called in links to it."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ +(.*?)[ #]*$", text, re.M)}
