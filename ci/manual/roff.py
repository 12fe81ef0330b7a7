# SPDX-License-Identifier: GPL-2.0-only
"""Turns the Markdown of this tree's pages into the macros of man(7)."""

import re
import textwrap
from typing import Iterator

INLINE = re.compile(r"`([^`]+)`|\*\*(.+?)\*\*|\*([^*\s][^*]*)\*"
                    r"|\[((?:[^\]`]|`[^`]*`)+)\]\(([^)\s]+)\)")
# Pages of docs/ that are manual pages in section 5.
FORMATS = ("expected-format", "gate-protocol", "observations", "publishing", "results-format",
           "truth-format")


def escape(text: str) -> str:
    """Escapes @text so that roff prints it unchanged."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return text.replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha").replace(
        "~", "\\(ti")


def guard_first_character(line: str) -> str:
    """Keeps text that begins like a macro from being one."""
    return "\\&" + line if line[:1] in (".", "'") else line


def make_bold(text: str) -> str:
    return f"\\fB{escape(text)}\\fR"


def make_link(text: str, target: str) -> str:
    page = re.fullmatch(r"([\w-]+)\.md(#.*)?", target)
    link = convert_inline(text)
    return f"{link} (\\fBjitproof\\-{escape(page[1])}\\fR(5))" if page and page[1] in FORMATS \
        else link


def convert_inline(text: str) -> str:
    """Returns a line or paragraph with its fonts."""
    parts: list[str] = []
    position = 0
    for match in INLINE.finditer(text):
        parts.append(escape(text[position:match.start()]))
        code, strong, weak, name, target = match.groups()
        if code:
            parts.append(make_bold(code))
        elif strong:
            parts.append(make_bold(strong.replace("`", "")))
        elif weak:
            parts.append(f"\\fI{escape(weak)}\\fR")
        else:
            parts.append(make_link(name, target))
        position = match.end()
    return "".join(parts) + escape(text[position:])


def wrap_roff(text: str) -> list[str]:
    """Returns roff in lines of less than 80 columns."""
    return [guard_first_character(line) for line in textwrap.wrap(text, 78, break_long_words=False,
                                                                  break_on_hyphens=False)]


def fill_markdown(text: str) -> list[str]:
    """Returns Markdown in lines of less than 80 columns, a sentence at a line's start."""
    return [line for sentence in re.split(r"(?<=[.?!]) +(?=[^a-z])", convert_inline(text).strip())
            for line in wrap_roff(sentence)]


def make_literal(lines: list[str]) -> list[str]:
    return [".PP", ".RS 4", ".nf", *(guard_first_character(escape(line.expandtabs(8))) or "\\&"
                                     for line in lines), ".fi", ".RE"]


def convert_heading(level: int, text: str) -> str:
    text = re.sub(r"[`*]", "", text)
    return f".SH {escape(text.upper())}" if level == 2 else f".SS {escape(text)}"


def convert_table(rows: list[str]) -> Iterator[str]:
    """Yields a row as a tagged paragraph: the first cell, then the others after their column's
    title."""
    cells = [[cell.strip().replace("\\|", "|")
              for cell in re.split(r"(?<!\\)\|", row.strip()[1:-1])] for row in rows]
    heads, body = cells[0], cells[2:]
    for row in body:
        yield ".TP"
        yield guard_first_character(convert_inline(row[0]) or "\\&")
        texts = [cell if len(row) == 2 or not head else f"*{head}:* {cell}"
                 for head, cell in zip(heads[1:], row[1:]) if cell]
        for i, text in enumerate(texts):
            yield from [".br"] * bool(i) + fill_markdown(text)
        if not texts:
            yield "\\&"


def split_blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yields (kind, lines): "#", "literal", "|", "* ", "1. " or "text"."""
    lines = text.splitlines()
    position = 0

    def take_lines(belongs: "re.Pattern[str]") -> list[str]:
        nonlocal position
        start = position
        while position < len(lines) and belongs.match(lines[position]):
            position += 1
        return lines[start:position]

    while position < len(lines):
        line = lines[position]
        if line.startswith("```"):
            position += 1
            yield "literal", take_lines(re.compile("(?!```)"))
            position += 1
        elif line.startswith("\t"):
            yield "literal", [part[1:] for part in take_lines(re.compile(r"\t"))]
        elif line.startswith("#"):
            position += 1
            yield "#", [line]
        elif line.startswith("|"):
            yield "|", take_lines(re.compile(r"\|"))
        elif match := re.match(r"(\* |\d+\. )", line):
            position += 1
            yield match[1], [line[match.end():], *take_lines(re.compile(r"  +\S"))]
        elif not line.strip() or line.startswith("<!--"):
            position += 1
        else:
            position += 1
            yield "text", [line, *take_lines(re.compile(r"(?!\s*$|```|\t|#|\||\* |\d+\. )"))]


def join(lines: list[str]) -> str:
    """Returns the text of a page: a heading begins a paragraph already."""
    return "".join(line + "\n" for previous, line in zip([""] + lines, lines)
                   if line != ".PP" or previous[:3] not in (".SH", ".SS"))


def convert(text: str) -> Iterator[str]:
    """Yields the lines of roff for @text, whose title was removed."""
    for kind, lines in split_blocks(text):
        if kind == "#":
            level = len(lines[0]) - len(lines[0].lstrip("#"))
            yield convert_heading(level, lines[0].lstrip("# "))
        elif kind == "literal":
            yield from make_literal(lines)
        elif kind == "|":
            yield from convert_table(lines)
        elif kind == "text":
            yield from [".PP", *fill_markdown(" ".join(lines))]
        else:
            yield from [".IP \\(bu 2" if kind == "* " else f".IP {kind.strip()} 4",
                        *fill_markdown(" ".join(lines))]
