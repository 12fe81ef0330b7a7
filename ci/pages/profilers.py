# SPDX-License-Identifier: GPL-2.0-only
"""The board of profilers, from results/PROFILERS.md, where alone their answers are stored."""

import re
from typing import Iterator

from ci.pages import board, upstream
from ci.scoreboard import page, stored_page, summary

Sections = dict[str, stored_page.Section]


def grade_cell(text: str) -> str:
    if text == "-":
        return "none"
    return "good" if summary.is_good(text) else "vary" if text.startswith("varies") else "bad"


def make_cell(sections: Sections, profiler: str, scene: str, text: str) -> dict[str, str]:
    section = sections[profiler]
    causes, reason, threads = section.reasons.get(scene, ("", "", ""))
    return board.make_cell(text, grade_cell(text), why=reason or causes,
                           value=text + ("\n" + causes if reason else ""),
                           command="%s %s" % (section.command, scene),
                           see=", ".join(upstream.list_threads(threads)))


def make_cells(sections: Sections, cells: stored_page.Cells, profilers: list[str],
               scene: str) -> Iterator[dict[str, str] | None]:
    for profiler in profilers:
        text = cells.get((profiler, scene))
        yield make_cell(sections, profiler, scene, text) if text else None


def label_scenes(cells: stored_page.Cells) -> dict[str, str]:
    """Returns the label of each scene of the page. Rows that are no scene have several words."""
    return page.label_scenes(scene for _, scene in cells if " " not in scene)


def list_differences(text: str) -> list[str]:
    cells = stored_page.parse_cells(text)
    return summary.list_lines(cells, list(stored_page.parse_sections(text)), label_scenes(cells))


def make_page(text: str) -> str:
    cells, sections = stored_page.parse_cells(text), stored_page.parse_sections(text)
    profilers, labels = list(sections), label_scenes(cells)
    table = board.Table("Workloads under each profiler",
                        "Blue: nothing is wrong. Yellow: rounds differ. Orange: what is wrong: "
                        "how many samples are seen, in a known mapping, right or wrong by name; "
                        "how many stacks are whole or invented; tasks missed, samples lost.",
                        "workload", profilers)
    for scene, label in labels.items():
        name = label if label == scene else "%s (%s)" % (label, scene)
        table.add(name, make_cells(sections, cells, profilers, scene))
    measured = re.search(r"(\d{4}-\d\d-\d\d), Linux ([\d.]+), (\w+)", text)
    place = " Measured %s on Linux %s, %s." % measured.groups() if measured else ""
    return board.format_page("Profilers: what does each make of JIT code?", summary.WHY + place,
                             "workload", "profiler", list_differences(text), [table])
