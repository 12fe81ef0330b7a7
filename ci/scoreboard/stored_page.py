# SPDX-License-Identifier: GPL-2.0-only
"""Reads results/PROFILERS.md: its answers are stored nowhere else in the tree."""

import dataclasses
import re

from ci.scoreboard import page

Cells = dict[tuple[str, str], str]
TABLES = ("| asked |", "| workload |")


@dataclasses.dataclass
class Section:
    """What the page states of one profiler. @reasons: (causes, why, threads) by scene."""
    title: str
    command: str = ""
    reasons: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)


def split_row(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|")
            for cell in re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))]


def parse_cells(text: str) -> Cells:
    """Returns the cells by profiler and scene. The label of a row that is no scene replaces the
    scene."""
    scenes, parsed, heads = dict(page.ASKED), Cells(), list[str]()
    for line in text.splitlines():
        cells = split_row(line)
        if line.startswith(TABLES) and len(cells) > 4:
            heads = cells
        elif line.startswith("| ") and len(cells) == len(heads):
            for profiler, cell in zip(heads[1:], cells[1:]):
                parsed[profiler, scenes.get(cells[0], cells[0])] = \
                    cell.removesuffix(page.DOUBT)
    return parsed


def parse_sections(text: str) -> dict[str, Section]:
    sections, section = dict[str, Section](), Section("")
    for line in text.splitlines():
        cells = split_row(line)
        if line.startswith("## "):
            section = sections[line.split()[1]] = Section(line.removeprefix("## "))
        elif line.startswith("`jitproof score "):
            section.command = line.split("`")[1]
        elif line.startswith("| ") and len(cells) == 4 and cells[0] != "workload":
            section.reasons[cells[0]] = tuple(cells[1:])
    return {name: section for name, section in sections.items() if section.command}
