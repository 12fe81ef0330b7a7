# SPDX-License-Identifier: GPL-2.0-only
"""The results of one profiler on one scene, over all rounds."""

from typing import Iterator

from ci.scoreboard.rounds import Row

COLUMNS = ("seen", "mapped", "right", "wrong", "whole", "invented", "tasks", "lost")
COUNTS = ("wrong", "invented", "tasks", "lost")
# Prefixes of the metrics whose exceptions make a column wrong.
METRICS = {"seen": ("cpu.",), "mapped": ("coverage.", "broken."), "whole": ("broken.",),
           "right": ("names.", "load.", "callers."), "wrong": ("names.", "load.", "callers."),
           "invented": ("wrong.", "extra."), "lost": ("lost.",),
           "tasks": ("fork.", "exit.", "comm.", "threads.", "tasks.")}

Verdict = tuple[str, ...]


def was_judged(row: Row) -> bool:
    return "whole" in row or "seen" in row


def find_wrong(row: Row) -> Verdict:
    """Returns the wrong columns, or the outcome if the row was not judged."""
    if not was_judged(row):
        return (row["outcome"],)
    return tuple(column for column in COLUMNS if column in row and not row[column]["good"])


def format_figure(column: str, rows: list[Row]) -> str:
    k, n = (sum(row[column][part] for row in rows) for part in "kn")
    if column in COUNTS:
        return "%s %d" % (column, k) if len(rows) == 1 else "%s %d of %d" % (column, k, n)
    share = 100 * k / n
    # Print 100 % only if no sample is missing.
    return "%s %s %%" % (column, "%.3g" % share if share < 99.95 else "99.9")


class Cell:
    """The rows of one scene in the order of rounds. A cell varies if the verdicts differ."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.verdicts = list(dict.fromkeys(map(find_wrong, rows)))
        self.judged = any(map(was_judged, rows))

    @property
    def do_rounds_differ(self) -> bool:
        return len(self.verdicts) > 1

    @property
    def measured(self) -> bool:
        return any(row["outcome"] != "SKIP" for row in self.rows)

    @property
    def good(self) -> bool:
        return self.verdicts == [()]

    def describe(self, verdict: Verdict) -> str:
        """Returns the text of a verdict, with the figures of the rounds that have it."""
        rows = [row for row in self.rows if find_wrong(row) == verdict]
        if not was_judged(rows[0]):
            return verdict[0]
        return ", ".join(format_figure(column, rows) for column in verdict) or "ok"

    def __str__(self) -> str:
        if not self.measured:
            return "-"
        text = " / ".join(map(self.describe, self.verdicts))
        return "varies: " + text if self.do_rounds_differ else text

    def count_causes(self) -> Iterator[tuple[str, int]]:
        """Yields ("METRIC: CAUSE", count) of the exceptions, the most frequent first."""
        begins = tuple(begin for verdict in self.verdicts for column in verdict
                       for begin in METRICS.get(column, ()))
        counts: dict[str, int] = {}
        for row in self.rows:
            for exception in row["exceptions"]:
                if begins and exception["metric"].startswith(begins):
                    name = "%s: %s" % (exception["metric"], exception["cause"])
                    counts[name] = counts.get(name, 0) + exception["count"]
        yield from sorted(counts.items(), key=lambda item: -item[1])
