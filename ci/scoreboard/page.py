# SPDX-License-Identifier: GPL-2.0-only
"""results/PROFILERS.md, from all that was asked."""

import fnmatch
import os
import re
import tomllib
from typing import Iterable, Iterator, Protocol, Sequence

from ci.base import files
from ci.scoreboard.cells import COLUMNS, COUNTS, Cell, was_judged
from ci.scoreboard.rounds import ROOT, Row, Rounds

# What users ask for, and the scene that shows it.
ASKED = (
    ("attach to older code", "anon_exec"), ("the same, RW then RX", "older_flip"),
    ("code in a memfd", "memfd_double"), ("a heap that grows", "coalesced_growth"),
    ("W^X toggled", "wx_toggle"), ("addresses used again", "address_reuse"),
    ("code that moves", "code_move"), ("fork", "prefork"), ("exec", "fork_exec"),
    ("short-lived processes", "short_lived"), ("pids used again", "pid_reuse"),
    ("container, from outside", "namespaces"), ("the same, nested", "nested"),
    ("container, from inside", "inside"), ("main thread gone", "thread_churn"),
    ("target ends first", "ends_first"), ("map written late", "map_late"),
    ("map written in part", "map_partial"), ("map of another owner", "map_owner"),
    ("deep stacks", "deep_stacks"), ("native frames between", "native_holes"),
    ("signals", "signals"), ("coroutines", "coroutines"))
HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-only -->
# Profilers: what does each make of every workload?

Measured by `make scoreboard` (`jitproof score`, docs/score.md), %s, Linux %s, %s. Each cell
was asked %s, with another seed each time. A cell lists what is wrong; `ok`: nothing is; `varies`:
the rounds differ, and here is what each said; `-`: not asked; what a profiler cannot tell is
not listed (below). Percentages are of samples in emitted code, or of judged stacks; `wrong`,
`invented`, `tasks` and `lost` are counts.

"""

Known = Sequence[dict[str, str]]


class Cells(Protocol):
    """What causes() needs of a board."""
    profiler: str
    cells: dict[str, Cell]


class Board:
    """One profiler: a cell for each scene."""

    def __init__(self, rounds: Rounds, profiler: str) -> None:
        self.profiler, self.words = profiler, " ".join(["jitproof", *rounds.words(profiler)])
        versions, rows = set[str](), dict[str, list[Row]]()
        for score in rounds.kept(profiler):
            versions.add(score["version"])
            for row in score["workloads"]:
                rows.setdefault(row["workload"], []).append(row)
        self.version = " and ".join(sorted(versions))
        self.cells = {scene: Cell(rows[scene]) for scene in sorted(rows)}

    @property
    def rows(self) -> list[Row]:
        return [row for cell in self.cells.values() for row in cell.rows]

    def cell(self, scene: str) -> str:
        return str(self.cells[scene]) if scene in self.cells else "-"

    def seen(self) -> str:
        """Samples of all scenes against what the CPU time says."""
        told = [row["seen"] for row in self.rows if row.get("seen", {}).get("n")]
        return "%.0f %%" % (100 * sum(cell["k"] for cell in told) / sum(
            cell["n"] for cell in told)) if told else "-"

    def cost(self) -> str:
        told = [row for row in self.rows if "cpu_ns" in row and row["watched_ns"]]
        return "%.1f %%" % (100 * sum(row["cpu_ns"] for row in told) /
                            sum(row["watched_ns"] for row in told)) if told else "-"

    def summary(self) -> str:
        """In how many scenes nothing is wrong, at all and by column."""
        judged = [cell for cell in self.cells.values() if cell.judged]
        told = ["%d of %d workloads without a fault" % (sum(cell.good for cell in judged),
                                                        len(judged))]
        for column in COLUMNS:
            rows = [[row[column]["good"] for row in cell.rows if column in row] for cell in judged]
            rows = [row for row in rows if row]
            if rows:
                nothing = "nothing " if column in COUNTS and column != "tasks" else ""
                told.append("%s%s %d/%d" % (nothing, column, sum(map(all, rows)), len(rows)))
        return "; ".join([told[0], ", ".join(told[1:])])

    def lacks(self) -> str:
        """What it declares to lack, by what was not judged for it."""
        found: dict[str, set[str]] = {}
        for row in self.rows:
            for validator, lack in row["skipped"].items():
                found.setdefault(lack, set()).add(validator)
        return "; ".join("%s: %s" % (lack, ", ".join(sorted(names)))
                         for lack, names in sorted(found.items())) or "nothing"


def patterns(pattern: str) -> Iterator[str]:
    """Of `a{b,c}`: ab and ac."""
    before, brace, rest = pattern.partition("{")
    if not brace:
        yield pattern
        return
    inner, _, after = rest.partition("}")
    for one in inner.split(","):
        yield from patterns(before + one + after)


def fits(text: str, pattern: str) -> bool:
    return any(fnmatch.fnmatchcase(text, one) for one in patterns(pattern))


def reason(known: Known, profiler: str, scene: str, cause: str) -> tuple[str, str]:
    """Why, and the threads about it; the first entry that fits says it."""
    for one in known:
        if fits(profiler, one.get("profiler", "*")) and fits(scene, one.get("scene", "*")) and \
                fits(cause, one["cause"]):
            return one["text"], one.get("thread", "")
    return "", ""


def outcome(row: Row) -> str:
    # Where a program lies here is nobody's business.
    return "%s: %s" % (row["outcome"], re.sub(r"/\S+/", "", row["why"].split("\n")[0]))


def told_causes(cell: Cell) -> list[tuple[str, str]]:
    """(cause, how often): of what was not judged, and the two most frequent ones."""
    told = [(outcome(row), "") for row in cell.rows if not was_judged(row)]
    told += [(cause, " (%d)" % count) for cause, count in list(cell.causes())[:2]]
    return list(dict.fromkeys(told)) or [("see the figures", "")]


def causes(board: Cells, known: Known) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """(scene, causes, reasons) of each scene in which something is wrong."""
    for scene, cell in board.cells.items():
        if not cell.asked or cell.good:
            continue
        told = told_causes(cell)
        why = dict.fromkeys(reason(known, board.profiler, scene, cause) for cause, _ in told)
        yield scene, "; ".join(cause + count for cause, count in told), list(why)


def variations(boards: list[Board], reasons: Known) -> Iterator[str]:
    """Which cells differ from round to round, and why; those of one reason in one line."""
    found: dict[tuple[str, str], list[str]] = {}
    asked = 0
    for board in boards:
        for scene, cell in board.cells.items():
            asked += len(cell.rows) > 1
            if cell.varies:
                why = why_varies(board.profiler, scene, reasons)
                found.setdefault((board.profiler, why), []).append(scene)
    if found:
        yield from ("## Where the rounds differ", "",
                    "In %d of the %d cells that were asked more than once." %
                    (sum(map(len, found.values())), asked), "",
                    "| profiler | workloads | why |", "|---|---|---|")
        yield from ("| %s | %s | %s |" % (profiler, ", ".join(scenes), why)
                    for (profiler, why), scenes in found.items())
        yield ""


def why_varies(profiler: str, scene: str, reasons: Known) -> str:
    return next((one["text"] for one in reasons
                 if fits(profiler, one["profiler"]) and fits(scene, one["scene"])), "")


def unexplained(board: Board, known: Known) -> Iterator[str]:
    for scene, said, why in causes(board, known):
        if not all(text for text, _ in why):
            yield "%s %s: %s" % (board.profiler, scene, said)


def lines_of(boards: list[Board], asked: Iterable[tuple[str, str]], head: str) -> Iterator[str]:
    yield "| %s | %s |" % (head, " | ".join(board.profiler for board in boards))
    yield "|---" * (len(boards) + 1) + "|"
    for label, scene in asked:
        cells = [board.cell(scene) for board in boards]
        if any(cell != "-" for cell in cells):
            yield "| %s | %s |" % (label, " | ".join(cells))


def tables(boards: list[Board]) -> Iterator[str]:
    yield "## What users ask for"
    yield ""
    yield from lines_of(boards, ASKED, "asked")
    yield "| samples of the CPU time burnt | %s |" % " | ".join(map(Board.seen, boards))
    yield "| CPU time of the profiler | %s |" % " | ".join(map(Board.cost, boards))
    others = sorted({scene for board in boards for scene in board.cells} -
                    {scene for _, scene in ASKED})
    yield from ("", "## The other workloads", "")
    yield from lines_of(boards, [(scene, scene) for scene in others], "workload")
    yield ""


def section(board: Board, known: Known) -> Iterator[str]:
    yield from ("## %s %s" % (board.profiler, board.version), "",
                "`%s`: %s." % (board.words, board.summary()), "",
                "Not judged: %s." % board.lacks(), "")
    found = list(causes(board, known))
    if found:
        yield from ("| workload | causes | why | threads |", "|---|---|---|---|")
    for scene, said, why in found:
        yield "| %s | %s | %s | %s |" % (
            scene, said.replace("|", "\\|"), "; ".join(text for text, _ in why if text),
            "; ".join(dict.fromkeys(thread for _, thread in why if thread)))
    if found:
        yield ""


def written(table: str) -> Known:
    """`known` (causes) or `varies` (reasons), as people wrote them down."""
    found: Known = tomllib.loads(files.read(os.path.join(ROOT, "results", "profilers.toml")))[
        table]
    return found


def times(boards: list[Board]) -> str:
    counts = sorted({len(cell.rows) for board in boards for cell in board.cells.values()})
    said = {1: "once", 2: "twice"}
    return " to ".join(dict.fromkeys(said.get(count, "%d times" % count)
                                     for count in (counts[0], counts[-1])))


def render(boards: list[Board], missing: dict[str, str], day: str, kernel: str,
           machine: str) -> str:
    known = written("known")
    lines = [HEAD % (day, kernel, machine, times(boards)), *tables(boards),
             *variations(boards, written("varies"))]
    for board in boards:
        lines += section(board, known)
    if missing:
        lines += ["## Not here", ""]
        lines += ["* %s: %s" % (name, why) for name, why in sorted(missing.items())]
    return "\n".join(lines).rstrip("\n") + "\n"
