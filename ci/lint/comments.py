# SPDX-License-Identifier: GPL-2.0-only
"""Comments must not tell of what is not there: files, and parameters of functions."""

import io
import os
import re
import tokenize
from typing import Iterator

from ci.lint.tree import C_FOLDERS, Found, Source, Tree, includes, text_of, without_comments

# A path of ours, or a name without a folder. A path that begins elsewhere is the kernel's.
OURS = r"(?:harness|workloads|validators|facts|ci|docs|results)/"
FILE = re.compile(rf"(?<![\w./*-])({OURS}[\w./-]*\w\.[a-z]+|[\w-]+\.(?:c|h|py|md))(?![\w/*-])")

# A declaration below a comment: its head, up to what ends it.
HEAD = re.compile(r"[ \t]*\n((?:[^;{}#/]|/(?!\*))*?\([^;{}]*\)[^;{}()]*)[;{]")
ASSEMBLER = re.compile(r"\s*(?:__)?asm\b")


def comments(source: Source) -> Iterator[tuple[int, str]]:
    """(line, text) of each; of C, Python and shell."""
    if source.is_c:
        for match in re.finditer(r"/\*.*?\*/|//[^\n]*", without_strings(source.text), re.S):
            yield source.line_of(match.start()), match.group()
    elif source.is_python:
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
            doc = token.type == tokenize.STRING and token.line.lstrip().startswith('"""')
            if token.type == tokenize.COMMENT or doc:
                yield token.start[0], token.string
    else:
        for number, line in enumerate(source.text.split("\n"), 1):
            told = re.match(r"(?:[^#'\"]*\s)?(#.*)", line)
            if told:
                yield number, told.group(1)


def without_strings(text: str) -> str:
    """C text with the inside of strings blanked: what looks like a comment there is none."""
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"",
                  lambda match: match.group() if match.group()[0] == "/"
                  else '"' + " " * (len(match.group()) - 2) + '"', text, flags=re.S)


def known(tree: Tree) -> set[str]:
    """Names of the tree's files, and of the headers of others that it includes."""
    return {os.path.basename(path) for path in tree.paths} | {
        os.path.basename(name) for source in tree.c for _, name in includes(source.text)}


def check_files(tree: Tree, source: Source, names: set[str]) -> Iterator[Found]:
    """Files that comments name are in the tree, at that path or, by @names, somewhere."""
    for line, text in comments(source):
        for match in FILE.finditer(text):
            name = match.group(1)
            if re.search(r"[A-Z]{4}", name) and not name.endswith(".md"):
                continue  # stands for any name
            there = tree.has(name) if "/" in name else name in names
            if not there:
                yield source.found(line + text.count("\n", 0, match.start()),
                                   f"comment names {name}", "no such file is in the tree")


def parameters_of(head: str) -> set[str]:
    """Every word of a declaration: parameters are among them."""
    return set(re.findall(r"\w+", head))


def members_of(text: str) -> set[str]:
    """Names in the bodies of structs, enums and unions of a file."""
    bodies = re.findall(r"\b(?:struct|union|enum)\b[^;{}()]*\{(.*?)^\}", without_comments(text),
                        re.S | re.M)
    return set(re.findall(r"\w+", " ".join(bodies)))


def check_parameters(tree: Tree, source: Source) -> Iterator[Found]:
    """@name in a comment above functions is a parameter of one of them: a comment covers what
    follows it up to an empty line or the next comment. Members of structs of the file and of
    its headers may be named, too."""
    text, members = source.text, members_of(source.text)
    for _, name in includes(text):
        if name.startswith(C_FOLDERS) and tree.has(name):
            members |= members_of(text_of(tree.root, name))
    for comment in re.finditer(r"^/\*.*?\*/", text, re.M | re.S):
        named = re.findall(r"(?<![\w@])@(\w+)", comment.group())
        heads, at = "", comment.end()
        while named and (head := HEAD.match(text, at)) and "\n\n" not in head.group():
            heads += head.group(1)
            if text[head.end() - 1] == "{":
                break
            at = head.end()
        if not heads or ASSEMBLER.match(heads):
            continue
        for name in named:
            if name not in parameters_of(heads) | members:
                where = comment.start() + comment.group().index("@" + name)
                yield source.found(source.line_of(where), f"comment names @{name}",
                                   "the function below has no such parameter")
