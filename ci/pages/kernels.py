# SPDX-License-Identifier: GPL-2.0-only
"""The boards of kernels and of perfs, from results/matrix/."""

from typing import Any, Iterator

from ci.matrix.results import explained, markdown, stored, summary
from ci.pages import board, upstream

OUTCOMES = "Blue: passed. Yellow: fails as expected. Grey: cannot run. Orange: failed."
GRADES = {"PASS": "good", "XFAIL": "vary", "SKIP": "none"}


def describe_record(cell: stored.Stored, identity: str) -> str:
    return "results/matrix/%s.jsonl, line %d" % (cell.label, cell.lines[identity])


def make_case_cell(known_upstream: upstream.Upstream, cell: stored.Stored,
                   name: str) -> dict[str, str] | None:
    if name not in cell.cases:
        return None
    case = cell.cases[name]
    return board.make_cell(
        markdown.format_outcome(case), GRADES.get(case["outcome"], "bad"), why=case["why"],
        command="%s && jitproof show %s DIR" % (cell.header["command"], name),
        see="\n".join([describe_record(cell, stored.make_case_id(cell.label, name)),
                       *known_upstream.describe_case(name, case["outcome"], case["why"] or "")]))


def make_case_table(title: str, about: str, known: upstream.Upstream,
                    stored_cells: list[stored.Stored]) -> board.Table:
    table = board.Table(title, about, "case", [cell.label for cell in stored_cells])
    for name in sorted({name for cell in stored_cells for name in cell.cases}):
        table.add(name, (make_case_cell(known, cell, name) for cell in stored_cells))
    return table


def format_commits(whys: list[dict[str, str]]) -> str:
    """Returns the text of explanations, with a link for each commit that they name."""
    lines = []
    for reason in whys:
        lines.append("%s (%s)" % (reason["why"], reason["source"]))
        lines += [markdown.COMMIT + commit for commit in summary.find_commits(reason["why"])]
    return "\n".join(lines)


def explain_fact(kernels: list[stored.Stored], explanations: list[dict[str, str]], name: str,
                 index: int) -> str:
    """Returns why a fact last changed, up to this kernel, or "" if it never did."""
    before = stored.find_predecessor(kernels, index, name)
    if not before:
        return ""
    if before.facts[name]["value"] == kernels[index].facts[name]["value"]:
        return explain_fact(kernels, explanations, name, kernels.index(before))
    return "%s to %s: " % (before.label, kernels[index].label) + format_commits(
        explained.find_explanations(explanations, name, before.label, kernels[index].label))


def make_fact_cells(kernels: list[stored.Stored], explanations: list[dict[str, str]],
                    name: str) -> Iterator[dict[str, str] | None]:
    values = [markdown.format_fact(kernel.facts[name]) if name in kernel.facts else None
              for kernel in kernels]
    grades = list(board.grade_values(values))
    for index, (cell, value) in enumerate(zip(kernels, values)):
        if value is None:
            yield None
            continue
        fact: dict[str, Any] = cell.facts[name]
        yield board.make_cell(
            value, grades[index], value=value + ("\n" + fact["about"] if "about" in fact else ""),
            why=explain_fact(kernels, explanations, name, index), command="jitproof facts " + name,
            see=describe_record(cell, stored.make_fact_id(cell.label, name)))


def make_fact_table(kernels: list[stored.Stored],
                    explanations: list[dict[str, str]]) -> board.Table:
    table = board.Table("Facts of kernels", "Equal values of a row have the same colour.", "fact",
                        [kernel.label for kernel in kernels])
    for name in sorted({name for cell in kernels for name in cell.facts}):
        table.add(name, make_fact_cells(kernels, explanations, name))
    return table


def list_differences(stored_cells: list[stored.Stored]) -> list[str]:
    kernels, tools = select(stored_cells, "kernel"), select(stored_cells, "tool")
    lines = [line for group in (kernels, tools) for line in summary.list_cases(group)]
    return lines + ["From %s to %s, facts change: %s." % (*change, summary.list_first(facts))
                    for change, facts in summary.find_changes(kernels).items()]


def select(stored_cells: list[stored.Stored], kind: str) -> list[stored.Stored]:
    return [cell for cell in stored_cells if cell.header["kind"] == kind]


def make_page(stored_cells: list[stored.Stored], known: list[dict[str, str]]) -> str:
    kernels, tools = select(stored_cells, "kernel"), select(stored_cells, "tool")
    above = upstream.Upstream()
    return board.format_page(
        "Kernels: where do they differ?", summary.WHY, "case or fact", "kernel or perf",
        list_differences(stored_cells),
        [make_fact_table(kernels, known),
         make_case_table("Cases on each kernel", "In virtual machines. " + OUTCOMES, above,
                         kernels),
         make_case_table("Cases with each perf", "On one kernel. " + OUTCOMES, above, tools)])
