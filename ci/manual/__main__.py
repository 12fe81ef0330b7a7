#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes the manual pages: a page for each command, from its --help, and for each format, from
docs/. docs/manual.md holds what neither has. Writes DIR/man1/*.1 and DIR/man5/*.5.

Usage: python3 ci/manual --jitproof FILE -o DIR
"""

import argparse
import datetime
import os
import re
import sys
from typing import Iterator

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, process
from ci.manual import roff

DOCS = os.path.abspath(__file__ + "/../../../docs")
# Column at which --help explains options.
COLUMN = 22


def read_page(name: str) -> tuple[str, str]:
    """Returns the title and the text of the page @name in docs/."""
    with open(os.path.join(DOCS, name + ".md"), encoding="utf-8") as file:
        _, title, text = re.split(r"^# (.*)\n", file.read(), maxsplit=1, flags=re.M)
    return title, text


def read_sections(text: str) -> dict[str, str]:
    """Returns {title: text} of the sections of level 2."""
    _, *parts = re.split(r"^## (.*)\n", text, flags=re.M)
    return dict(zip(parts[::2], parts[1::2]))


def begin_page(name: str, section: int, summary: str) -> list[str]:
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or max(
        os.path.getmtime(os.path.join(DOCS, page)) for page in os.listdir(DOCS)))
    date = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    kind = {1: "User Commands", 5: "File Formats Manual"}[section]
    return ['.\\" SPDX-License-Identifier: GPL-2.0-only',
            f'.TH {roff.escape(name.upper())} {section} {date:%Y-%m-%d} jitproof "{kind}"',
            ".SH NAME", *roff.wrap_roff(f"{roff.escape(name)} \\- {roff.escape(summary)}")]


def format_synopsis(usage: str) -> str:
    """Returns a line of usage with its names in bold and its values in italics."""
    line = re.sub(r"[A-Z]{2,}", lambda word: f"\\fI{word[0]}\\fR", roff.escape(usage))
    line = re.sub(r"(?<![\w\\-])((?:\\-){1,2}[a-z]+)", r"\\fB\1\\fR", line)
    return re.sub(r"^jitproof \w+( check)?", lambda name: f"\\fB{name[0]}\\fR", line)


def format_label(text: str) -> str:
    """Returns an option or operand of --help: names bold, values italic."""
    return " ".join(roff.make_bold(word.rstrip(",")) + "," * word.endswith(",")
                    if word.startswith("-") or word.islower() else f"\\fI{roff.escape(word)}\\fR"
                    for word in text.split())


def read_rows(block: list[str]) -> list[tuple[str, str]]:
    """Returns (label, text) of each option in @block of --help; nothing if it is no list of
    options."""
    rows: list[tuple[str, str]] = []
    for line in block:
        if line.startswith(" " * COLUMN) and rows:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}".strip())
        elif re.match(r"  \S", line):
            has_text = line[COLUMN - 1:COLUMN] in ("", " ") and line[COLUMN:COLUMN + 1] != " "
            rows.append((line[:COLUMN].strip(), line[COLUMN:]) if has_text else (line.strip(), ""))
        else:
            return []
    return rows if all(text for _, text in rows) else []


def format_options(text: str) -> Iterator[str]:
    """Yields roff for the options and notes of --help, below the sentence about the command."""
    for block in re.split(r"\n\n+", text.strip("\n")):
        lines = block.splitlines()
        while lines and not lines[0].startswith(" "):
            paragraph = [lines.pop(0)]
            while lines and not lines[0].startswith(" "):
                paragraph.append(lines.pop(0))
            yield from [".PP", *roff.fill_markdown(" ".join(paragraph).replace("`", ""))]
        rows = read_rows(lines)
        for name, summary in rows:
            yield from [".TP", format_label(name), *roff.wrap_roff(roff.escape(summary))]
        if lines and not rows:
            yield from roff.make_literal([line[2:] for line in lines])


def read_help(jitproof: str, *command: str) -> str:
    return process.run_or_raise([jitproof, *command, "--help"])


def list_see_also(names: list[str], but: str) -> list[str]:
    see_also = [roff.make_bold(name) + f"({section})" for name, section in
             [*((name, 1) for name in names), *(("jitproof-" + name, 5) for name in roff.FORMATS)]
             if name != but]
    return [".SH SEE ALSO", *(part + "," for part in see_also[:-1]), see_also[-1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jitproof", required=True, metavar="FILE", help="the program")
    parser.add_argument("-o", required=True, metavar="DIR", dest="output")
    options = parser.parse_args()
    about, text = read_page("manual")
    sections = read_sections(text)
    commands = dict(re.findall(r"^  (\w+) +(.*)", read_help(options.jitproof), flags=re.M))
    names = ["jitproof", *("jitproof-" + command for command in commands)]
    pages: dict[str, list[str]] = {}
    usages = []
    for command, sentence in commands.items():
        usage, _, body = read_help(options.jitproof, command).split("\n", 2)
        usages.append(usage.removeprefix("usage: "))
        name = "jitproof-" + command
        pages[f"man1/{name}.1"] = [
            *begin_page(name, 1, sentence), ".SH SYNOPSIS", format_synopsis(usages[-1]),
            ".SH DESCRIPTION",
            *roff.convert(sections.pop(command, sentence[0].upper() + sentence[1:] + ".")),
            ".SH OPTIONS", *format_options(body.split("\n\n", 1)[1]),
            ".PP", f"Exit statuses and environment: {roff.make_bold('jitproof')}(1).",
            *list_see_also(names, name)]
    first = sections.pop("Description")
    pages["man1/jitproof.1"] = [
        *begin_page("jitproof", 1, about), ".SH SYNOPSIS", "\n.br\n".join(map(format_synopsis,
                                                                              usages)),
        ".SH DESCRIPTION", *roff.convert(first),
        ".SH COMMANDS", *(line for command, sentence in commands.items()
                          for line in (".TP", roff.make_bold(command),
                                       *roff.fill_markdown(sentence))),
        *(line for title, body in sections.items() for line in roff.convert(f"## {title}\n{body}")),
        *list_see_also(names, "jitproof")]
    for page in roff.FORMATS:
        title, text = read_page(page)
        pages[f"man5/jitproof-{page}.5"] = [
            *begin_page("jitproof-" + page, 5, title), ".SH DESCRIPTION",
            *roff.convert(text), *list_see_also(names[:1], "jitproof-" + page)]
    for folder in ("man1", "man5"):
        files.replace(os.path.join(options.output, folder), {
            os.path.basename(path): roff.join(lines)
            for path, lines in pages.items() if path.startswith(folder)})


if __name__ == "__main__":
    main()
