# SPDX-License-Identifier: GPL-2.0-only
"""Checks that files and parameters named in comments exist."""

import io
import os
import re
import tokenize
from typing import Iterator

from ci.lint.tree import C_FOLDERS, Found, Source, Tree, find_includes, read_text, blank_comments

# A path in this tree, or a file name without a folder. Other paths are of files of the kernel.
OURS = r"(?:harness|workloads|validators|facts|ci|docs|results)/"
FILE = re.compile(rf"(?<![\w./*-])({OURS}[\w./-]*\w\.[a-z]+|[\w-]+\.(?:c|h|py|md))(?![\w/*-])")

# A declaration below a comment, up to "{" or ";".
HEAD = re.compile(r"[ \t]*\n((?:[^;{}#/]|/(?!\*))*?\([^;{}]*\)[^;{}()]*)[;{]")
ASSEMBLER = re.compile(r"\s*(?:__)?asm\b")


def find_comments(source: Source) -> Iterator[tuple[int, str]]:
    """Yields (line, text) of each comment in C, Python or shell."""
    if source.is_c:
        for match in re.finditer(r"/\*.*?\*/|//[^\n]*", blank_strings(source.text), re.S):
            yield source.line_of(match.start()), match.group()
    elif source.is_python:
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
            doc = token.type == tokenize.STRING and token.line.lstrip().startswith('"""')
            if token.type == tokenize.COMMENT or doc:
                yield token.start[0], token.string
    else:
        for number, line in enumerate(source.text.split("\n"), 1):
            if comment := re.match(r"(?:[^#'\"]*\s)?(#.*)", line):
                yield number, comment.group(1)


def blank_strings(text: str) -> str:
    """Blanks the inside of strings in C text, since it may look like a comment."""
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"",
                  lambda match: match.group() if match.group()[0] == "/"
                  else '"' + " " * (len(match.group()) - 2) + '"', text, flags=re.S)


def find_names(tree: Tree) -> set[str]:
    """Returns the names of the tree's files, and of the system headers that it includes."""
    return {os.path.basename(path) for path in tree.paths} | {
        os.path.basename(name) for source in tree.c for _, name in find_includes(source.text)}


def check_files(tree: Tree, source: Source, names: set[str]) -> Iterator[Found]:
    """Files named in comments must exist at that path, or have one of @names."""
    for line, text in find_comments(source):
        for match in FILE.finditer(text):
            name = match.group(1)
            if re.search(r"[A-Z]{4}", name) and not name.endswith(".md"):
                continue  # a placeholder
            exists = tree.path_exists(name) if "/" in name else name in names
            if not exists:
                yield source.found(line + text.count("\n", 0, match.start()),
                                   f"comment names {name}", "no such file is in the tree")


def find_members(text: str) -> set[str]:
    """Returns the words in the bodies of structs, enums and unions of a file."""
    bodies = re.findall(r"\b(?:struct|union|enum)\b[^;{}()]*\{(.*?)^\}", blank_comments(text),
                        re.S | re.M)
    return set(re.findall(r"\w+", " ".join(bodies)))


def check_parameters(tree: Tree, source: Source) -> Iterator[Found]:
    """@name in a comment above functions must be a word of their declarations, or a member of a
    struct of the file or of its headers. A comment belongs to all declarations up to an empty line
    or the next comment."""
    text, members = source.text, find_members(source.text)
    for _, name in find_includes(text):
        if name.startswith(C_FOLDERS) and tree.path_exists(name):
            members |= find_members(read_text(tree.root, name))
    for comment in re.finditer(r"^/\*.*?\*/", text, re.M | re.S):
        names = re.findall(r"(?<![\w@])@(\w+)", comment.group())
        heads, at = "", comment.end()
        while names and (head := HEAD.match(text, at)) and "\n\n" not in head.group():
            heads += head.group(1)
            if text[head.end() - 1] == "{":
                break
            at = head.end()
        if not heads or ASSEMBLER.match(heads):
            continue
        for name in names:
            if name not in {*re.findall(r"\w+", heads)} | members:
                position = comment.start() + comment.group().index("@" + name)
                yield source.found(source.line_of(position), f"comment names @{name}",
                                   "the function below has no such parameter")
