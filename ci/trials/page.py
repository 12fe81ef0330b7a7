# SPDX-License-Identifier: GPL-2.0-only
"""results/JITS.md: what trials found, a row for each runtime."""

from typing import Mapping, NamedTuple, Sequence

Cells = dict[str, dict[str, int]]

HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-only -->
# JITs on trial

Written by `make trials`, for JIT authors and for users who profile their code. `build/jitproof
trial NAME` repeats a row. [trace](../docs/trace.md#cells-of-a-trial) explains the cells,
[FINDINGS](FINDINGS.md#runtimes) the defects behind them.
"""
TABLE = """
A percentage is the share of the code that ran in a burst and is affected, in the first of two
rounds. A cell in parentheses was red in one round only: it concerns little code. Cells without
evidence are left out.

| runtime | red | ok |
|---|---|---|"""


class Tried(NamedTuple):
    name: str
    rounds: Sequence[Cells]
    seconds: float

    def list_verdicts(self, cell: str) -> list[bool]:
        """Returns for each round with evidence whether the cell is red."""
        return [cells[cell]["bad"] > 0 for cells in self.rounds if cells[cell]["of"]]

    @property
    def red_cells(self) -> list[str]:
        """The cells that are red in the first round."""
        return [cell for cell, count in self.rounds[0].items() if count["bad"]]

    @property
    def unsteady_cells(self) -> list[str]:
        return [cell for cell in self.rounds[0] if len(set(self.list_verdicts(cell))) > 1]


def describe(tried: Tried, cell: str) -> str:
    """Returns the text of a red cell."""
    count = max((cells[cell] for cells in tried.rounds),
                key=lambda cell_counts: cell_counts["bad"] > 0)
    share = 100 * count["bad"] / count["of"]
    text = "%s %s" % (cell, "%.3g %%" % share if share >= 0.1 else "< 0.1 %")
    return "(%s)" % text if cell in tried.unsteady_cells else text


def make_row(tried: Tried) -> str:
    verdicts = {cell: tried.list_verdicts(cell) for cell in tried.rounds[0]}
    red = [describe(tried, cell) for cell, verdict in verdicts.items() if any(verdict)]
    without_fault = [cell for cell, verdict in verdicts.items() if verdict and not any(verdict)]
    return "| %s | %s | %s |" % (tried.name, ", ".join(red) or "-", ", ".join(without_fault) or "-")


def make_page(results: Sequence[Tried], skipped: Mapping[str, str]) -> str:
    steady = sum(not tried.unsteady_cells for tried in results)
    minutes = sum(result.seconds for result in results) / 60
    lines = [HEAD, "%d runtimes were tried in %.0f minutes; both rounds agree in each cell of %d."
             % (len(results), minutes, steady), TABLE,
             *(make_row(tried) for tried in results)]
    if skipped:
        lines += ["", "Skipped:", ""]
        lines += ["* %s: %s" % (name, reason.partition(": ")[0])
                  for name, reason in skipped.items()]
    return "\n".join(lines) + "\n"
