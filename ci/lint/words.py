# SPDX-License-Identifier: GPL-2.0-only
"""Rules for words: plain words in comments and pages, verbs in names, short sentences."""

import re
from typing import Iterator

from ci.lint.comments import find_comments
from ci.lint.tree import Found, Source, blank_out

# Verbs of speech for files and machines, and pronouns in place of nouns.
DIALECT = re.compile(r"\b(told|tells|said|says|whoever|of what|of which|the one that)\b", re.I)
# Names that state neither an action nor a thing.
ALONE = frozenset("""
above after again ago all also any around at away back before behind below beside between
both by down each for from give here in into it look near news now of off on one other
others out over see still take tell that then there these this those to told turn under
until up what which who with
""".split())
# Words that end like a verb in the third person, and are none.
NO_VERB = frozenset(("Always", "As", "Has", "Is", "Its", "Perhaps", "This", "Thus", "Was"))
MAX_WORDS = 30


def remove_code(text: str) -> str:
    """Returns Markdown with code, targets of links and HTML comments blanked, lines kept."""
    text = re.sub(r"^( {0,3})(```+|~~~+).*?(^ {0,3}\2[`~]*[ \t]*$|\Z)|<!--.*?-->|(`+)(?!`).*?"
                  r"(?<!`)\4(?!`)", blank_out, text, flags=re.M | re.S)
    return re.sub(r"(?m)^(\t|    ).*$|\]\([^)\s]*\)", blank_out, text)


def check_dialect(source: Source) -> Iterator[Found]:
    texts = [(1, remove_code(source.text))] if is_page(source) else \
        find_comments(source) if source.is_code else \
        [(1, source.text)] if source.path.startswith("results/expected/") else []
    for line, text in texts:
        for match in DIALECT.finditer(text):
            yield source.found(line + text.count("\n", 0, match.start()), f"'{match[0]}'",
                               "name the thing; files record, report, state or contain")


def check_names(source: Source) -> Iterator[Found]:
    pattern = r"^static [^(\n=]*?\b(\w+)\(" if source.is_c else r"^ *def (\w+)\("
    for match in re.finditer(pattern, source.text if source.is_c or source.is_python else "", re.M):
        if match[1] in ALONE:
            yield source.found(source.line_of(match.start(1)), f"function '{match[1]}'",
                               "a function's name is a verb with an object")


def check_public(source: Source) -> Iterator[Found]:
    """Checks that the comment of a public function begins with a verb in the third person."""
    documented = r"/\*((?:(?!\*/).)*)\*/\n(?:[a-z][\w *]*?)\bjp_\w+\("
    for match in re.finditer(documented, source.text if source.path.endswith(".h") else "", re.S):
        word = (re.findall(r"[^\s*]\S*", match[1]) or [""])[0].strip(".,:;")
        if not re.fullmatch(r"[A-Z][a-z]+s", word) or word in NO_VERB:
            yield source.found(source.line_of(match.start()), f"comment begins with '{word}'",
                               "a public function Returns, Opens, Stores ...")


def is_page(source: Source) -> bool:
    """Returns whether @source is documentation, not a record of measurements."""
    return source.path.endswith(".md") and not source.path.startswith("results/")


def check_sentences(source: Source) -> Iterator[Found]:
    if not is_page(source):
        return
    text = re.sub(r"(?m)^\s*(?:[-*]|\d+\.) ", "\n\n", remove_code(source.text))
    for block in re.split(r"\n\s*\n|^#.*$|^\|.*$|^\[.*$", text, flags=re.M):
        for sentence in re.split(r"(?<=[.!?:;])\s+", block):
            words = re.findall(r"\w[\w'-]*", sentence)
            if len(words) > MAX_WORDS:
                place = source.text.find(sentence.strip()[:40].split("\n")[0])
                yield source.found(source.line_of(max(place, 0)),
                                   f"{len(words)} words: {' '.join(words[:5])} ...",
                                   f"a sentence has at most {MAX_WORDS} words")
