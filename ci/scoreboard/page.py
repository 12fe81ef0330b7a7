# SPDX-License-Identifier: GPL-2.0-only
"""Renders results/PROFILERS.md from all answers."""

import fnmatch
import os
import re
import tomllib
from typing import Iterable, Iterator, Protocol, Sequence

from ci.base import files
from ci.scoreboard import summary
from ci.scoreboard.cells import COLUMNS, COUNTS, Cell, was_judged
from ci.scoreboard.rounds import ROOT, Row, Rounds

# (what users want to do, the scene that tests it)
ASKED = (
    ("attach to older code", "anon_exec"), ("attach, RW then RX", "older_flip"),
    ("code in a memfd", "memfd_double"), ("a heap that grows", "coalesced_growth"),
    ("W^X toggled", "wx_toggle"), ("addresses used again", "address_reuse"),
    ("code that moves", "code_move"), ("fork", "prefork"), ("exec", "fork_exec"),
    ("short-lived processes", "short_lived"), ("pids used again", "pid_reuse"),
    ("container, from outside", "namespaces"), ("container in container", "nested"),
    ("container, from inside", "inside"), ("main thread gone", "thread_churn"),
    ("target ends first", "ends_first"), ("map written late", "map_late"),
    ("map written in part", "map_partial"), ("map of another owner", "map_owner"),
    ("deep stacks", "deep_stacks"), ("native frames between", "native_holes"),
    ("signals", "signals"), ("coroutines", "coroutines"))
HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-only -->
# Profilers: what does each make of every workload?

Measured by `make scoreboard` (`jitproof score`, docs/score.md), %s, Linux %s, %s. Each cell
was asked %s, with another seed each time. A cell lists what is wrong; `ok`: nothing is; `varies`:
the rounds differ, and each result is shown; `-`: not asked; figures that a profiler cannot give
are not listed (below). Percentages are of samples in emitted code, or of judged stacks; `wrong`,
`invented`, `tasks` and `lost` are counts. `?`: a cause of the cell is unconfirmed.

"""

UNCONFIRMED = "unconfirmed: "
DOUBT = " ?"  # mark of a cell with an unconfirmed cause
FINDING = re.compile(r"\((?:FINDINGS\.md|[a-z]+\.[a-z][a-z0-9-]+)\)")

Known = Sequence[dict[str, str]]


class Cells(Protocol):
    """The part of a board that causes() uses."""
    profiler: str
    cells: dict[str, Cell]


class Board:
    """A profiler's cells, one for each scene."""

    def __init__(self, rounds: Rounds, profiler: str) -> None:
        self.profiler = profiler
        self.words = " ".join(["jitproof", *rounds.score_command(profiler)])
        versions, rows = set[str](), dict[str, list[Row]]()
        for score in rounds.read_scores(profiler):
            versions.add(score["version"])
            for row in score["workloads"]:
                rows.setdefault(row["workload"], []).append(row)
        self.version = " and ".join(sorted(versions))
        self.cells = {scene: Cell(rows[scene]) for scene in sorted(rows)}
        self.doubtful: set[str] = set()

    def find_doubtful_scenes(self, known_causes: Known) -> None:
        """Stores in `doubtful` the scenes whose cells have an unconfirmed cause."""
        self.doubtful = {scene for scene, _, reason in explain_scenes(self, known_causes)
                         if not all(is_confirmed(text) for text, _ in reason)}

    @property
    def rows(self) -> list[Row]:
        return [row for cell in self.cells.values() for row in cell.rows]

    def format_cell(self, scene: str) -> str:
        return str(self.cells[scene]) if scene in self.cells else "-"

    def format_seen_share(self) -> str:
        """Returns the samples of all scenes as a share of the number that follows from CPU time."""
        counts = [row["seen"] for row in self.rows if row.get("seen", {}).get("n")]
        return "%.0f %%" % (100 * sum(cell["k"] for cell in counts) / sum(
            cell["n"] for cell in counts)) if counts else "-"

    def format_cpu_share(self) -> str:
        """Returns the profiler's CPU time as a share of the watched time."""
        rows = [row for row in self.rows if "cpu_ns" in row and row["watched_ns"]]
        return "%.1f %%" % (100 * sum(row["cpu_ns"] for row in rows) /
                            sum(row["watched_ns"] for row in rows)) if rows else "-"

    def summarize(self) -> str:
        """Returns in how many scenes nothing is wrong, in total and by column."""
        judged = [cell for cell in self.cells.values() if cell.judged]
        parts = ["%d of %d workloads without a fault" % (sum(cell.good for cell in judged),
                                                         len(judged))]
        for column in COLUMNS:
            rows = [[row[column]["good"] for row in cell.rows if column in row] for cell in judged]
            rows = [row for row in rows if row]
            if rows:
                nothing = "nothing " if column in COUNTS and column != "tasks" else ""
                parts.append("%s%s %d/%d" % (nothing, column, sum(map(all, rows)), len(rows)))
        return "; ".join([parts[0], ", ".join(parts[1:])])

    def list_lacks(self) -> str:
        """Returns what the profiler declares to lack, each with the validators that skip it."""
        lacks: dict[str, set[str]] = {}
        for row in self.rows:
            for validator, lack in row["skipped"].items():
                lacks.setdefault(lack, set()).add(validator)
        return "; ".join("%s: %s" % (lack, ", ".join(sorted(names)))
                         for lack, names in sorted(lacks.items())) or "nothing"


def is_confirmed(reason: str) -> bool:
    return bool(reason) and not reason.startswith(UNCONFIRMED)


def has_evidence(entry: dict[str, str]) -> bool:
    """Returns whether an entry of results/profilers.toml proves its text: by a finding; by a
    function of the profiler's source and a raw sample; or because it is about the scene, not about
    a profiler."""
    return "by" in entry or {"source", "sample"} <= set(entry) or \
        bool(FINDING.search(entry["text"]))


def mark_text(entry: dict[str, str]) -> str:
    """Returns the text of an entry, marked as unconfirmed if it has no evidence."""
    text = entry["text"]
    proven = has_evidence(entry) or text.startswith((UNCONFIRMED, "ours: "))
    return text if proven else UNCONFIRMED + text


def expand_braces(pattern: str) -> Iterator[str]:
    """Expands braces: yields ab and ac for `a{b,c}`."""
    before, brace, remainder = pattern.partition("{")
    if not brace:
        yield pattern
        return
    inner, _, after = remainder.partition("}")
    for choice in inner.split(","):
        yield from expand_braces(before + choice + after)


def match_text(text: str, pattern: str) -> bool:
    return any(fnmatch.fnmatchcase(text, expanded) for expanded in expand_braces(pattern))


def find_reason(known_causes: Known, profiler: str, scene: str, cause: str) -> tuple[str, str]:
    """Returns (text, threads) of the first entry that matches, or empty strings."""
    for reason in known_causes:
        if match_text(profiler, reason.get("profiler", "*")) and \
                match_text(scene, reason.get("scene", "*")) and match_text(cause, reason["cause"]):
            return reason["text"], reason.get("thread", "")
    return "", ""


def describe_outcome(row: Row) -> str:
    # Leave out paths of this machine.
    return "%s: %s" % (row["outcome"], re.sub(r"/\S+/", "", row["why"].split("\n")[0]))


def list_causes(cell: Cell) -> list[tuple[str, str]]:
    """Returns [(cause, count)]: outcomes of rows that were not judged, then the two most frequent
    causes."""
    causes = [(describe_outcome(row), "") for row in cell.rows if not was_judged(row)]
    causes += [(cause, " (%d)" % count) for cause, count in list(cell.count_causes())[:2]]
    return list(dict.fromkeys(causes)) or [("see the figures", "")]


def explain_scenes(board: Cells, known: Known) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yields (scene, causes, reasons) for each scene in which something is wrong."""
    for scene, cell in board.cells.items():
        if not cell.measured or cell.good:
            continue
        causes = list_causes(cell)
        reason = dict.fromkeys(find_reason(known, board.profiler, scene, cause) for cause, _
                               in causes)
        yield scene, "; ".join(cause + count for cause, count in causes), list(reason)


def render_variations(boards: list[Board], reasons: Known) -> Iterator[str]:
    """Yields lines about the cells that differ between rounds, one line for each reason."""
    scenes_of: dict[tuple[str, str], list[str]] = {}
    nr_repeated = 0
    for board in boards:
        for scene, cell in board.cells.items():
            nr_repeated += len(cell.rows) > 1
            if cell.do_rounds_differ:
                reason = explain_variation(board.profiler, scene, reasons)
                scenes_of.setdefault((board.profiler, reason), []).append(scene)
    if scenes_of:
        yield from ("## Where the rounds differ", "",
                    "In %d of the %d cells that were measured more than once." %
                    (sum(map(len, scenes_of.values())), nr_repeated), "",
                    "| profiler | workloads | why |", "|---|---|---|")
        yield from ("| %s | %s | %s |" % (profiler, ", ".join(scenes), reason)
                    for (profiler, reason), scenes in scenes_of.items())
        yield ""


def explain_variation(profiler: str, scene: str, reasons: Known) -> str:
    return next((cause["text"] for cause in reasons if match_text(profiler, cause["profiler"]) and
                 match_text(scene, cause["scene"])), "")


def find_unexplained(board: Board, known: Known) -> Iterator[str]:
    """Yields a line for each scene with a cause that has no known reason."""
    for scene, text, explanation in explain_scenes(board, known):
        if not all(reason for reason, _ in explanation):
            yield "%s %s: %s" % (board.profiler, scene, text)


def render_rows(boards: list[Board], asked: Iterable[tuple[str, str]], head: str) -> Iterator[str]:
    yield "| %s | %s |" % (head, " | ".join(board.profiler for board in boards))
    yield "|---" * (len(boards) + 1) + "|"
    for label, scene in asked:
        cells = [board.format_cell(scene) + DOUBT * (scene in board.doubtful) for board in boards]
        if any(cell != "-" for cell in cells):
            yield "| %s | %s |" % (label, " | ".join(cells))


def render_tables(boards: list[Board]) -> Iterator[str]:
    yield "## What users ask for"
    yield ""
    yield from render_rows(boards, ASKED, "asked")
    yield "| samples of the CPU time burnt | %s |" % " | ".join(map(Board.format_seen_share,
                                                                    boards))
    yield "| CPU time of the profiler | %s |" % " | ".join(map(Board.format_cpu_share, boards))
    other_scenes = sorted({scene for board in boards for scene in board.cells} -
                          {scene for _, scene in ASKED})
    yield from ("", "## The other workloads", "")
    yield from render_rows(boards, [(scene, scene) for scene in other_scenes], "workload")
    yield ""


def label_scenes(scenes: Iterable[str]) -> dict[str, str]:
    """Returns the label of each scene: first those that users ask for, then the others."""
    labels = {scene: label for label, scene in ASKED}
    known_scenes = set(scenes)
    return {**{scene: label for scene, label in labels.items() if scene in known_scenes},
            **{scene: scene for scene in sorted(known_scenes - set(labels))}}


def render_summary(boards: list[Board]) -> Iterator[str]:
    cells = {(board.profiler, scene): board.format_cell(scene)
             for board in boards for scene in board.cells}
    yield from summary.render(cells, [board.profiler for board in boards],
                              label_scenes(scene for _, scene in cells))


def render_section(board: Board, known: Known) -> Iterator[str]:
    yield from ("## %s %s" % (board.profiler, board.version), "",
                "`%s`: %s." % (board.words, board.summarize()), "",
                "Not judged: %s." % board.list_lacks(), "")
    explanations = list(explain_scenes(board, known))
    if explanations:
        yield from ("| workload | causes | why | threads |", "|---|---|---|---|")
    for scene, text, explanation in explanations:
        yield "| %s | %s | %s | %s |" % (
            scene, text.replace("|", "\\|"),
            "; ".join(reason for reason, _ in explanation if reason),
            "; ".join(dict.fromkeys(thread for _, thread in explanation if thread)))
    if explanations:
        yield ""


def read_known(table: str) -> Known:
    """Reads a table of results/profilers.toml: `known` (causes), or `varies` or `guests`
    (reasons)."""
    known_causes: Known = tomllib.loads(files.read(os.path.join(ROOT, "results",
                                                                "profilers.toml")))[
        table]
    return [{**entry, "text": mark_text(entry)} for entry in known_causes]


def describe_rounds(boards: list[Board]) -> str:
    counts = sorted({len(cell.rows) for board in boards for cell in board.cells.values()})
    words = {1: "once", 2: "twice"}
    return " to ".join(dict.fromkeys(words.get(count, "%d times" % count)
                                     for count in (counts[0], counts[-1])))


def render(boards: list[Board], missing: dict[str, str], day: str, kernel: str,
           machine: str) -> str:
    known_causes = read_known("known")
    for board in boards:
        board.find_doubtful_scenes(known_causes)
    lines = [HEAD % (day, kernel, machine, describe_rounds(boards)), *render_summary(boards),
             *render_tables(boards),
             *render_variations(boards, read_known("varies"))]
    for board in boards:
        lines += render_section(board, known_causes)
    if missing:
        lines += ["## Not here", ""]
        lines += ["* %s: %s" % (name, reason) for name, reason in sorted(missing.items())]
    return "\n".join(lines).rstrip("\n") + "\n"
