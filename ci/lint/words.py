# SPDX-License-Identifier: GPL-2.0-only
"""Rules for words: the field's words in comments and docs, verbs in names, short sentences."""

import io
import re
import tokenize
from typing import Iterator

from ci.lint.tree import Found, Source, blank

DIALECT = re.compile(r"\b(told|tells|said|says|whoever|of what|of which|the one that)\b", re.I)
# A word that names no action and no thing.
ALONE = frozenset("""above after again ago all also any around at away back before behind below
beside between both by down each for from give here in into it look near news now of off on one
other others out over see still take tell that then there these this those to told turn under
until up what which who with""".split())
WORDS = 30
NO_VERB = frozenset(("As", "Has", "Is", "Its", "This", "Was", "Thus", "Always", "Perhaps"))


def comments_of(source: Source) -> Iterator[tuple[int, str]]:
    """(line, text) of each comment and docstring."""
    if source.is_c:
        for match in re.finditer(r"/\*.*?\*/|//[^\n]*", source.text, re.S):
            yield source.line_of(match.start()), match.group(0)
    elif source.is_python:
        tokens = tokenize.generate_tokens(io.StringIO(source.text).readline)
        for token in tokens:
            if token.type == tokenize.COMMENT or \
                    token.type == tokenize.STRING and token.string.startswith('"""'):
                yield token.start[0], token.string
    elif source.path.endswith(".md"):
        yield 1, without_code(source.text)
    elif source.is_code:
        for number, line in enumerate(source.text.split("\n"), 1):
            if re.match(r"\s*#[^!]", line):
                yield number, line


def without_code(text: str) -> str:
    """Markdown without code, quotations in it, and comments; lines kept."""
    text = re.sub(r"^( {0,3})(```+|~~~+).*?(^ {0,3}\2[`~]*[ \t]*$|\Z)|<!--.*?-->|(`+)(?!`).*?"
                  r"(?<!`)\4(?!`)", blank, text, flags=re.M | re.S)
    return re.sub(r"(?m)^(\t|    ).*$", blank, text)


def check_dialect(source: Source) -> Iterator[Found]:
    """Files and hosts state, record, report or contain; a noun stands for its thing."""
    for line, text in comments_of(source):
        for match in DIALECT.finditer(text):
            yield source.found(line + text.count("\n", 0, match.start()),
                               f"'{match.group(0)}'", "STYLE: name the thing, and what it does")


def check_names(source: Source) -> Iterator[Found]:
    pattern = r"^static [^(\n=]*?\b(\w+)\(" if source.is_c else r"^ *def (\w+)\("
    if not source.is_c and not source.is_python:
        return
    for match in re.finditer(pattern, source.text, re.M):
        if match.group(1) in ALONE:
            yield source.found(source.line_of(match.start(1)), f"function '{match.group(1)}'",
                               "a function is a verb with an object")


def check_public(source: Source) -> Iterator[Found]:
    """The comment of a public function states what it does, in the third person."""
    if not source.path.endswith(".h"):
        return
    documented = r"/\*((?:(?!\*/).)*)\*/\n(?:[a-z][\w *]*?)\bjp_\w+\("
    for match in re.finditer(documented, source.text, re.S):
        first = re.match(r"[\s*]*(\S+)", match.group(1))
        word = first.group(1).strip(".,:;") if first else ""
        if not re.fullmatch(r"[A-Z][a-z]+s", word) or word in NO_VERB:
            yield source.found(source.line_of(match.start()), f"comment begins with '{word}'",
                               "a public function Returns, Opens, Stores ...")


def check_sentences(source: Source) -> Iterator[Found]:
    text = re.sub(r"(?m)^\s*(?:[-*]|\d+\.) ", "\n\n", without_code(source.text))
    at = 0
    for block in re.split(r"(\n\s*\n|^#.*$|^\|.*$)", text, flags=re.M):
        start, at = at, at + len(block)
        for sentence in re.split(r"(?<=[.!?:;])\s+", block):
            words = re.findall(r"\w[\w'-]*", sentence)
            if len(words) > WORDS:
                line = text.count("\n", 0, start + max(block.find(sentence), 0)) + 1
                yield source.found(line, f"{len(words)} words: {' '.join(words[:5])} ...",
                                   f"a sentence has at most {WORDS} words")
