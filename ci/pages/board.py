# SPDX-License-Identifier: GPL-2.0-only
"""The data of a page of boards (docs/report-format.md)."""

import dataclasses
import json
from typing import Any, Iterable, Iterator

FORMAT, VERSION = "jitproof-board", 1
# (title, file) of all pages
PAGES = (("Start", "index.html"), ("Profilers", "profilers.html"), ("Kernels", "matrix.html"))
LONGEST = 24  # most characters of a cell; its `value` has the whole text
COLOURS = 6  # number of colours for values that are neither good nor bad


@dataclasses.dataclass
class Table:
    """A board. A cell is an object (make_cell()), or None if there is none."""
    title: str
    about: str
    head: str
    columns: list[str]
    rows: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def add(self, name: str, cells: Iterable[dict[str, str] | None]) -> None:
        self.rows.append({"name": name, "cells": list(cells)})


def make_cell(text: str, grade: str, **more: str) -> dict[str, str]:
    """Makes a cell. @more: its optional keys `value`, `why`, `command` and `see`."""
    if len(text) > LONGEST:
        more.setdefault("value", text)
        text = text[:LONGEST - 1] + "…"
    return {"text": text, "grade": grade, **{key: value for key, value in more.items() if value}}


def grade_values(values: list[str | None]) -> Iterator[str]:
    """Yields a colour for each value; equal values have the same colour."""
    known_values = list(dict.fromkeys(value for value in values if value is not None))
    for value in values:
        yield "none" if value is None else "v%d" % (known_values.index(value) % COLOURS)


def format_page(title: str, description: str, row: str, column: str, differs: list[str],
                tables: list[Table]) -> str:
    """Returns the data of a page. @row, @column: labels of the filters of rows and columns."""
    return json.dumps({"format": FORMAT, "version": VERSION, "title": title, "about": description,
                       "row": row, "column": column, "differs": differs, "pages": PAGES,
                       "tables": [dataclasses.asdict(table) for table in tables]})
