# SPDX-License-Identifier: GPL-2.0-only
"""What the board says of one profiler and one scene, from all rounds that asked for it."""

from typing import Iterator

from ci.scoreboard.rounds import Row

COLUMNS = ("seen", "mapped", "right", "wrong", "whole", "invented", "tasks", "lost")
COUNTS = ("wrong", "invented", "tasks", "lost")
# Whose exceptions make a column red: how their metrics begin.
METRICS = {"seen": ("cpu.",), "mapped": ("coverage.", "broken."), "whole": ("broken.",),
           "right": ("names.", "load.", "callers."), "wrong": ("names.", "load.", "callers."),
           "invented": ("wrong.", "extra."), "lost": ("lost.",),
           "tasks": ("fork.", "exit.", "comm.", "threads.", "tasks.")}

Verdict = tuple[str, ...]


def was_judged(row: Row) -> bool:
    return "whole" in row or "seen" in row


def verdict(row: Row) -> Verdict:
    """What is wrong; the outcome of what was not judged."""
    if not was_judged(row):
        return (row["outcome"],)
    return tuple(column for column in COLUMNS if column in row and not row[column]["good"])


def figure(column: str, rows: list[Row]) -> str:
    k, n = (sum(row[column][of] for row in rows) for of in "kn")
    if column in COUNTS:
        return "%s %d" % (column, k) if len(rows) == 1 else "%s %d of %d" % (column, k, n)
    share = 100 * k / n
    # What rounds to all of them is not all of them.
    return "%s %s %%" % (column, "%.3g" % share if share < 99.95 else "99.9")


class Cell:
    """The rows of one scene, in the order of rounds; the same verdict in all, or it varies."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.verdicts = list(dict.fromkeys(map(verdict, rows)))
        self.judged = any(map(was_judged, rows))

    @property
    def varies(self) -> bool:
        return len(self.verdicts) > 1

    @property
    def asked(self) -> bool:
        return any(row["outcome"] != "SKIP" for row in self.rows)

    @property
    def good(self) -> bool:
        return self.verdicts == [()]

    def says(self, one: Verdict) -> str:
        """One verdict with the figures of the rounds that gave it."""
        rows = [row for row in self.rows if verdict(row) == one]
        if not was_judged(rows[0]):
            return one[0]
        return ", ".join(figure(column, rows) for column in one) or "ok"

    def __str__(self) -> str:
        if not self.asked:
            return "-"
        told = " / ".join(map(self.says, self.verdicts))
        return "varies: " + told if self.varies else told

    def causes(self) -> Iterator[tuple[str, int]]:
        """(METRIC: CAUSE, how often) of what makes it red, the most frequent first."""
        begins = tuple(begin for one in self.verdicts for column in one
                       for begin in METRICS.get(column, ()))
        counts: dict[str, int] = {}
        for row in self.rows:
            for one in row["exceptions"]:
                if begins and one["metric"].startswith(begins):
                    name = "%s: %s" % (one["metric"], one["cause"])
                    counts[name] = counts.get(name, 0) + one["count"]
        yield from sorted(counts.items(), key=lambda item: -item[1])
