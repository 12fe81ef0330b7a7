# SPDX-License-Identifier: GPL-2.0-only
"""Stores the scores of profilers on each kernel in results/matrix/scores, and shows them in
results/GUESTS.md beside the scores of results/PROFILERS.md, which another machine measured."""

import dataclasses
import os
import re
from typing import Any, Iterator

from ci.base import jsonl
from ci.base.status import Malformed
from ci.base.text import parse_numbers
from ci.matrix.results import markdown, stored
from ci.matrix.results.cells import CELL, Partial
from ci.scoreboard import page, stored_page
from ci.scoreboard.cells import COLUMNS, Cell, Row, format_figure
from ci.matrix.vm.score_cell import SCORES

FOLDER = os.path.join(stored.FOLDER, "scores")
HEADER = ("kernel", "version", "package", "qemu")
ROW = ("profiler", "version", "workload", "way", "outcome", "why", "command", "exceptions",
       *COLUMNS)
RATES = ("mapped", "right", "whole")
EXCEPTION = ("metric", "cause", "count")
HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-only -->
<!-- Made by `python3 ci/matrix scores` from results/matrix/scores/: change nothing here. -->
# Guests: what do profilers make of JIT code on each kernel?

Measured by `python3 ci/matrix run --suite profilers` ([machines](../docs/matrix-machines.md)): one
emulated processor (%s). The guest records, the host judges. A cell lists what is wrong, as in
[PROFILERS](PROFILERS.md), whose cell of the same scene is the last one: real processors, Linux %s.
%s.
"""


@dataclasses.dataclass(frozen=True)
class Kernel:
    """The content of a file of results/matrix/scores: the scores of profilers on one kernel."""
    header: dict[str, Any]
    rows: list[Row]

    @property
    def label(self) -> str:
        return str(self.header["kernel"])


def load_cell(folder: str) -> Kernel:
    """Loads a cell of a run, reduced to the stored keys."""
    cell = jsonl.read_one(os.path.join(folder, CELL))
    if cell.get("outcome") not in stored.COMPLETE:
        raise Partial("%s: %s" % (folder, cell.get("outcome")))
    rows = []
    for _, score in jsonl.read(os.path.join(folder, SCORES)):
        for row in score["workloads"]:
            stored_score = {"profiler": score["profiler"], "version": score["version"],
                    "command": cell["command"], **{key: row[key] for key in ROW if key in row}}
            stored_score["exceptions"] = [{key: exception[key] for key in EXCEPTION}
                                  for exception in row["exceptions"]]
            rows.append(stored_score)
    return Kernel({key: cell[key] for key in HEADER}, rows)


def merge_kernels(old: Kernel, new: Kernel) -> Kernel:
    """Replaces old scores by newer ones. Drops all old scores if the kernel or QEMU changed."""
    if old.header != new.header:
        return new
    rows = {(row["profiler"], row["workload"]): row for row in [*old.rows, *new.rows]}
    return Kernel(new.header, [rows[key] for key in sorted(rows)])


def format_kernel(kernel: Kernel) -> str:
    return "".join(map(jsonl.line_of, [kernel.header, *kernel.rows]))


def load(path: str) -> Kernel:
    records = [record for _, record in jsonl.read(path)]
    if tuple(records[0]) != HEADER:
        raise Malformed(path, 1, "expected %s" % ", ".join(HEADER))
    return Kernel(records[0], records[1:])


def load_folder(folder: str) -> list[Kernel]:
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return sorted((load(os.path.join(folder, name)) for name in names if name.endswith(".jsonl")),
                  key=lambda kernel: parse_numbers(kernel.label))


class Board:
    """The scores of one profiler: a cell for each scene, with a row for each kernel."""

    def __init__(self, profiler: str, kernels: list[Kernel]) -> None:
        self.profiler = profiler
        rows = dict[str, dict[str, Row]]()
        for kernel in kernels:
            for row in kernel.rows:
                if row["profiler"] == profiler:
                    rows.setdefault(row["workload"], {})[kernel.label] = row
        self.versions = sorted({row["version"] for scene in rows.values()
                                for row in scene.values()})
        self.rows = {scene: rows[scene] for scene in sorted(rows)}
        self.cells = {scene: Cell(list(rows[scene].values())) for scene in self.rows}

    def format_cell(self, scene: str, label: str) -> str:
        row = self.rows[scene].get(label)
        return str(Cell([row])) if row else "-"


def parse_verdicts(cell: str) -> set[tuple[str, ...]]:
    """Parses a shown cell. Returns the wrong columns of each of its rounds, () for "ok"."""
    return {() if verdict == "ok" else tuple(part.split()[0] for part in verdict.split(", "))
            for verdict in cell.removeprefix("varies: ").split(" / ")}


def group_kernels(board: Board, scene: str) -> Iterator[str]:
    """Yields a line for each verdict: its kernels, then the columns that are wrong there."""
    by_verdict = dict[tuple[str, ...], list[str]]()
    for label, row in board.rows[scene].items():
        by_verdict.setdefault(Cell([row]).verdicts[0], []).append(label)
    for verdict, labels in by_verdict.items():
        yield "%s: %s" % (", ".join(labels), ", ".join(verdict) or "ok")


def find_spreads(board: Board, scene: str) -> Iterator[str]:
    """Yields "COLUMN LEAST (KERNEL) to MOST (KERNEL)" for each rate that differs between kernels by
    more than chance."""
    for column in RATES:
        rates = {label: row[column] for label, row in board.rows[scene].items() if column in row}
        values = [[rate["k"], rate["n"]] for rate in rates.values()]
        if markdown.do_any_differ(values):
            lowest, highest = (pick(rates, key=lambda label: rates[label]["k"] / rates[label]["n"])
                           for pick in (min, max))
            yield "%s (%s) to %s (%s)" % (
                format_figure(column, [board.rows[scene][lowest]]), lowest,
                format_figure(column, [board.rows[scene][highest]]).removeprefix(column
                                                                                 + " "), highest)


def needs_explanation(board: Board, scene: str, stored_verdict: str) -> bool:
    """Returns whether a scene differs between kernels, or from the cell @there of PROFILERS.md."""
    cell = board.cells[scene]
    return cell.do_rounds_differ or any(find_spreads(board, scene)) or \
        (stored_verdict != "-" and not set(cell.verdicts) <= parse_verdicts(stored_verdict))


def make_difference_section(boards: list[Board],
                            stored_cells: dict[tuple[str, str], str]) -> Iterator[str]:
    reasons = page.read_known("guests")
    yield from ("", "## Where they differ", "",
                "Cells in which other columns are wrong than on another kernel, or than in "
                "PROFILERS; and", "shares whose 95 % intervals of two kernels do not meet.", "",
                *markdown.format_table("profiler", "workload", "wrong", "why"))
    for board in boards:
        for scene in board.cells:
            stored_cell = stored_cells.get((board.profiler, scene), "-")
            if needs_explanation(board, scene, stored_cell):
                words = [*group_kernels(board, scene), "PROFILERS: " + " or ".join(
                    sorted(", ".join(verdict) or "ok" for verdict in parse_verdicts(stored_cell)))]
                words += find_spreads(board, scene)
                yield markdown.format_row(board.profiler, scene, "; ".join(words),
                                          page.explain_variation(
                    board.profiler, scene, reasons) or "unconfirmed")


def make_cause_section(boards: list[Board]) -> Iterator[str]:
    known = page.read_known("known")
    yield from ("", "## What is wrong, and why", "", "Of all kernels together.", "",
                *markdown.format_table("profiler", "workload", "causes", "why"))
    for board in boards:
        for scene, text, reason in page.explain_scenes(board, known):
            yield markdown.format_row(board.profiler, scene, markdown.escape(text),
                                      "; ".join(one for one, _ in reason if one) or "unconfirmed")


def render(kernels: list[Kernel], profilers_page: str) -> str:
    names = sorted({row["profiler"] for kernel in kernels for row in kernel.rows})
    boards = [Board(name, kernels) for name in names]
    labels = [kernel.label for kernel in kernels]
    stored_cells = stored_page.parse_cells(profilers_page)
    measured = re.search(r"Linux ([\d.]+)", profilers_page)
    lines = [HEAD % (", ".join(sorted({"QEMU " + kernel.header["qemu"] for kernel in kernels})),
                     measured[1] if measured else "-",
                     "; ".join("%s %s" % (board.profiler, " and ".join(board.versions))
                               for board in boards))]
    lines += markdown.format_table("profiler", "workload", *labels, "PROFILERS")
    for board in boards:
        for scene in board.cells:
            lines.append(markdown.format_row(
                board.profiler, scene, *(board.format_cell(scene, label) for label in labels),
                stored_cells.get((board.profiler, scene), "-")))
    lines += [*make_difference_section(boards, stored_cells), *make_cause_section(boards), "",
              "## The kernels", "",
              *markdown.format_table("kernel", "package", "commands")]
    lines += [markdown.format_row(kernel.label, kernel.header["package"], "; ".join(
        "`%s`" % command for command in sorted({row["command"] for row in kernel.rows})))
              for kernel in kernels]
    return "\n".join(lines) + "\n"
