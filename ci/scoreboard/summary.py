# SPDX-License-Identifier: GPL-2.0-only
"""The first half page of results/PROFILERS.md: what differs between profilers, and why it
matters."""

import collections
import textwrap
from typing import Iterable, Iterator, Mapping

Cells = Mapping[tuple[str, str], str]
# What a fault in a column means to a user; `mapped` has no figure of its own for most profilers.
MEANS = {"right": "names are missing", "wrong": "names are wrong", "whole": "stacks are broken",
         "invented": "stacks are invented", "seen": "samples are missing",
         "tasks": "processes or threads are missing", "lost": "losses are not reported"}
HARDEST = 5
WHY = ("A profiler that is right here shows JIT code as it ran. Where it is not, a user optimizes "
       "the wrong function, or does not see a process at all.")


def is_good(cell: str) -> bool:
    return cell == "ok"


def list_faults(cell: str) -> Iterator[str]:
    """Yields the columns that are wrong in a cell, in any of its rounds, or "failed" for a round
    without figures."""
    for verdict in cell.removeprefix("varies: ").split(" / "):
        for part in verdict.split(", ") if verdict not in ("ok", "-") else ():
            word = part.split()[0]
            yield word if word in MEANS or word == "mapped" else "failed"


def count_means(cells: Iterable[str]) -> Iterator[str]:
    """Yields "MEANING (COUNT)" for each kind of fault, the most frequent first."""
    counts = collections.Counter(fault for cell in cells for fault in set(list_faults(cell)))
    for fault, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if fault in MEANS:
            yield "%s (%d)" % (MEANS[fault], count)


def make_rows(cells: Cells, profilers: list[str],
              scenes: list[str]) -> Iterator[tuple[str, int, int, str]]:
    """Yields (profiler, right scenes, asked scenes, faults), the best first."""
    rows = []
    for profiler in profilers:
        of_profiler = [cells[profiler, scene] for scene in scenes
                 if cells.get((profiler, scene), "-") != "-"]
        rows.append((profiler, sum(map(is_good, of_profiler)), len(of_profiler),
                     ", ".join(list(count_means(of_profiler))[:3])))
    yield from sorted(rows, key=lambda row: (-row[1], row[0]))


def list_hardest(cells: Cells, profilers: list[str],
                 labels: Mapping[str, str]) -> Iterator[str]:
    """Yields "LABEL (RIGHT of ASKED)" of the scenes in which most profilers fail."""
    counts = []
    for scene, label in labels.items():
        of_scene = [cells[profiler, scene] for profiler in profilers
                 if cells.get((profiler, scene), "-") != "-"]
        if of_scene:
            counts.append((sum(map(is_good, of_scene)) / len(of_scene), label,
                           "%s (%d of %d)" % (label, sum(map(is_good, of_scene)), len(of_scene))))
    yield from (text for _, _, text in sorted(counts)[:HARDEST])


def list_lines(cells: Cells, profilers: list[str], labels: Mapping[str, str]) -> list[str]:
    """Returns sentences about the best and the worst profiler, and the hardest scenes."""
    rows = list(make_rows(cells, profilers, list(labels)))
    best, worst = rows[0], rows[-1]
    return ["No profiler is right everywhere: %s is in %d of %d workloads, %s in %d of %d." %
            (*best[:3], *worst[:3]) if best[1] < best[2] else
            "%s is right in all %d workloads, %s in %d of %d." % (best[0], best[2], *worst[:3]),
            "Few profilers are right with: %s." % ", ".join(list_hardest(cells, profilers, labels))]


def render(cells: Cells, profilers: list[str], labels: Mapping[str, str]) -> Iterator[str]:
    """Yields the lines of the summary. @labels: the label of each scene."""
    yield from ("## What differs", "", *textwrap.wrap(WHY, 100), "")
    yield from ("* " + line for line in list_lines(cells, profilers, labels))
    yield from ("", "| profiler | right in | what users notice most (workloads) |", "|---|---|---|")
    yield from ("| %s | %d of %d | %s |" % (*row[:3], row[3] or "-")
                for row in make_rows(cells, profilers, list(labels)))
    yield ""
