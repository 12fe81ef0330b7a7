# SPDX-License-Identifier: GPL-2.0-only
"""Makes results/MATRIX.md from the stored results. Every cell links to the record it shows."""

import itertools
import json
import re
import textwrap
from typing import Any, Iterable, Iterator

from ci.matrix.results import differences, explained, stored, summary

HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-only -->
<!-- Made by `python3 ci/matrix report` from results/matrix/: change nothing here. -->
# The matrix

What each kernel and each profiler came to. Each cell leads to the record that it was made from, a
line of a file in [matrix/](matrix/); [how to run, store and compare](../docs/matrix.md).
"""
COMMIT = "https://git.kernel.org/linus/"
DIFFER = "Rates whose 95 % intervals do not meet, and counts that a case expects exactly."
LONGEST = 160  # characters of a value in a table; the record has the whole value


def escape(text: str, longest: int = LONGEST) -> str:
    """Escapes any text for a cell of a table."""
    text = " ".join(text.split())
    if len(text) > longest:
        text = text[:longest - 1] + "…"
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_|\[\]#~])", r"\\\1", text)


def format_code(text: str) -> str:
    """Formats any text as code, or as escaped text if a code span cannot hold it."""
    text = " ".join(text.split())
    if not text:
        return "-"
    if "`" in text or "|" in text or len(text) > LONGEST:
        return escape(text)
    return "`%s`" % text


def format_link(cell: stored.Stored, identity: str, text: str) -> str:
    return "[%s](matrix/%s.jsonl#L%d)" % (text, cell.label, cell.lines[identity])


def format_case_link(cell: stored.Stored, name: str, text: str) -> str:
    return format_link(cell, stored.make_case_id(cell.label, name), text)


def format_header_link(cell: stored.Stored) -> str:
    return format_link(cell, cell.label, escape(cell.label))


def format_row(*cells: str) -> str:
    return "| %s |" % " | ".join(cells)


def format_table(*titles: str) -> Iterator[str]:
    yield format_row(*titles)
    yield "|---" * len(titles) + "|"


def format_outcome(case: dict[str, Any]) -> str:
    """Formats the outcome, the signal of a crash, and the number of seeds if outcomes differ."""
    text = differences.format_outcome(case)
    if len(set(case["outcomes"])) > 1:
        text += " (%d of %d)" % (case["outcomes"].count(case["outcome"]), len(case["outcomes"]))
    return text


def format_cpu_counts(cells: list[stored.Stored], names: Iterable[str]) -> str:
    """Lists the numbers of processors that the cases ran on."""
    counts = sorted({cell.cases[name]["smp"] for cell in cells for name in names
                    if name in cell.cases})
    return ", ".join(map(str, counts))


def make_outcome_table(stored_cells: list[stored.Stored]) -> Iterator[str]:
    """Makes a table with a row for each case and a column for each kernel or tool."""
    names = sorted({name for cell in stored_cells for name in cell.cases})
    yield from format_table("case", "CPUs", *map(format_header_link, stored_cells))
    for name in names:
        cells = [format_case_link(cell, name, escape(format_outcome(cell.cases[name])))
                 if name in cell.cases else "" for cell in stored_cells]
        yield format_row(format_code(name), format_cpu_counts(stored_cells, [name]), *cells)
    counts = ["%d of %d" % (sum(case["outcome"] in differences.GOOD
                                for case in cell.cases.values()), len(cell.cases))
              for cell in stored_cells]
    yield format_row("PASS or XFAIL, of all cases", "", *counts)


def do_any_differ(values: list[list[int]]) -> bool:
    """Returns whether any two values of a metric differ by more than chance."""
    return any(itertools.starmap(stored.differ_significantly, itertools.combinations(values, 2)))


def format_metric(metric: list[int]) -> str:
    if len(metric) == 1:
        return str(metric[0])
    if not metric[1]:
        return "0 of 0"
    return "%.1f %% (%d of %d)" % (100 * metric[0] / metric[1], *metric)


def find_changed_metrics(cells: list[stored.Stored]) -> Iterator[tuple[str, str]]:
    """Yields (case, metric) of rates that differ by more than chance, and of plain counts that
    differ although a case expects an exact count."""
    for name in sorted({name for cell in cells for name in cell.cases}):
        cases = [cell.cases[name] for cell in cells if name in cell.cases]
        metrics = sorted({metric for case in cases for metric in case["metrics"]})
        for metric in metrics:
            if metric in stored.AREAS:
                continue
            values = [case["metrics"][metric] for case in cases if metric in case["metrics"]]
            counted = any(len(value) == 1 for value in values)
            # Counts vary with the number of samples, unless a case expects an exact count.
            if counted and not any(is_exact(case["expect"].get(metric)) for case in cases):
                continue
            if do_any_differ(values):
                yield name, metric


def is_exact(expected: list[Any] | None) -> bool:
    return expected is not None and expected[0] == expected[1]


def make_figure_table(stored_cells: list[stored.Stored]) -> Iterator[str]:
    yield from format_table("case", "metric", *map(format_header_link, stored_cells))
    for name, metric in find_changed_metrics(stored_cells):
        cells = [format_case_link(cell, name, format_metric(cell.cases[name]["metrics"][metric]))
                 if metric in cell.cases.get(name, {"metrics": ()})["metrics"] else ""
                 for cell in stored_cells]
        yield format_row(format_code(name), format_code(metric), *cells)


def format_fact(fact: dict[str, Any]) -> str:
    """Formats the value of a fact, or the reason why it has none."""
    value = fact["value"]
    if value is None:
        return "not there: " + fact.get("why", "")
    if isinstance(value, list):
        return ", ".join(map(differences.format_value, value)) or "nothing"
    return differences.format_value(value)


def group_by_value(cells: list[stored.Stored],
                   name: str) -> list[tuple[str, list[stored.Stored]]]:
    """Groups neighbours with the same value of a fact. Returns (value, results) of each group."""
    with_fact = (cell for cell in cells if name in cell.facts)
    runs = [list(run) for _, run in itertools.groupby(
        with_fact, lambda cell: json.dumps(cell.facts[name]["value"]))]
    return [(format_fact(run[0].facts[name]), run) for run in runs]


def link_facts(members: list[stored.Stored], name: str) -> str:
    return " ".join(format_link(cell, stored.make_fact_id(cell.label, name), escape(cell.label))
                    for cell in members)


def link_commits(text: str) -> str:
    """Escapes a text and links each hash to its commit."""
    return re.sub(r"\b[0-9a-f]{12}\b",
                  lambda match: "[%s](%s%s)" % (match.group(0), COMMIT, match.group(0)),
                  escape(text, 1000))


def explain_changes(explanations: list[dict[str, str]], name: str,
                    kernels: list[stored.Stored]) -> Iterator[str]:
    """Yields both labels and the explanations of each change of a fact."""
    for before, after in summary.list_changes(kernels, name):
        reasons = "; ".join("%s *(%s)*" % (link_commits(reason["why"]), escape(reason["source"]))
                            for reason in explained.find_explanations(explanations, name, before,
                                                                      after))
        yield "%s → %s: %s" % (escape(before), escape(after), reasons or "**unexplained**")


def make_fact_table(kernels: list[stored.Stored],
                    explanations: list[dict[str, str]]) -> Iterator[str]:
    names = sorted({name for kernel in kernels for name in kernel.facts})
    yield from format_table("fact", "what it is", "values", "between which kernels, and why")
    for name in names:
        runs = group_by_value(kernels, name)
        if len(runs) > 1:
            meaning = next(cell.facts[name].get("about", "") for cell in kernels
                           if name in cell.facts)
            yield format_row(format_code(name), escape(meaning),
                             "<br>".join("%s: %s" % (link_facts(members, name), format_code(value))
                                         for value, members in runs),
                             "<br>".join(explain_changes(explanations, name, kernels)))


def make_same_fact_table(kernels: list[stored.Stored]) -> Iterator[str]:
    yield from format_table("fact", "value", "kernels")
    for name in sorted({name for kernel in kernels for name in kernel.facts}):
        runs = group_by_value(kernels, name)
        if len(runs) == 1:
            yield format_row(format_code(name), format_code(runs[0][0]), link_facts(runs[0][1],
                                                                                    name))


def crash_table(cells: list[stored.Stored]) -> Iterator[str]:
    yield from format_table("by", "case", "signal", "last words")
    for cell in cells:
        for name, case in sorted(cell.cases.items()):
            if case.get("crashed"):
                yield format_row(format_header_link(cell), format_code(name),
                                 format_case_link(cell, name, escape(case["crashed"])),
                                 escape(differences.get_first_line(case["why"])))


def make_bad_table(several: list[stored.Stored]) -> Iterator[str]:
    """Makes a table of every case that did not pass, grouped by outcome and reason."""
    yield from format_table("by", "outcome", "cases", "why")
    for cell in several:
        names_of: dict[tuple[str, str], list[str]] = {}
        for name, case in sorted(cell.cases.items()):
            if case["outcome"] != "PASS":
                names_of.setdefault((format_outcome(case), case["why"]), []).append(name)
        for (outcome, reason), names in sorted(names_of.items()):
            yield format_row(format_header_link(cell), escape(outcome),
                             " ".join(format_case_link(cell, name, escape(name)) for name in names),
                             escape(reason.replace("\n", "; ")))


def make_built_table(cells: list[stored.Stored]) -> Iterator[str]:
    yield from format_table("", "version", "package", "CPUs", "runs on", "suite", "seeds",
                            "cases, facts", "run", "command")
    for cell in cells:
        header = cell.header
        package = header["package"] or "-"
        if header.get("sha256"):
            package += ", sha256 " + header["sha256"][:12]
        # A kernel runs on an emulator, a tool on a kernel.
        runs_on = header["accelerator"] if header["kind"] == "kernel" else \
            "kernel %s, %s" % (header["kernel"], header["accelerator"])
        if header.get("qemu"):
            runs_on = "QEMU %s, %s" % (header["qemu"], runs_on)
        yield format_row(format_header_link(cell), escape(header["version"]), escape(package),
                         format_cpu_counts([cell], cell.cases), escape(runs_on),
                         escape(header["suite"]), " ".join(map(str, header["seeds"])),
                         "%d, %d" % (header["cases"], header["facts"]),
                         escape(" ".join([header["outcome"], header.get("reason", "")])),
                         format_code(header["command"]))


def format_section(title: str, rows: Iterable[str], text: str = "",
                   empty_text: str | None = None) -> Iterator[str]:
    """Yields a heading, a text and a table. @empty_text: replaces an empty table."""
    rows = list(rows)
    yield "\n## %s\n" % title
    if text:
        yield text + "\n"
    if len(rows) > 2:
        yield from rows
    else:
        yield empty_text or "Nothing is stored."


def make_change_table(kernels: list[stored.Stored],
                      explanations: list[dict[str, str]]) -> Iterator[str]:
    """Makes a table of the facts that change between kernels: how many, which, by which commits."""
    yield from format_table("between", "facts", "such as", "commits")
    for change, facts in summary.find_changes(kernels).items():
        commits = summary.list_commits(explanations, change, facts)
        yield format_row("%s → %s" % (escape(change[0]), escape(change[1])), str(len(facts)),
                         summary.list_first(map(format_code, facts)),
                         summary.list_first(map(link_commits, commits)) or "-")


def make_summary(kernels: list[stored.Stored], tools: list[stored.Stored],
                 known: list[dict[str, str]]) -> Iterator[str]:
    """Yields what differs between kernels and between tools, and why it matters."""
    yield "\n## What differs\n"
    yield textwrap.fill(summary.WHY, 100) + "\n"
    for cells in kernels, tools:
        yield from ("* " + escape(line, 1000) for line in summary.list_cases(cells))
    changes = list(make_change_table(kernels, known))
    if len(changes) > 2:
        yield "\nBehaviour of kernels that changes, and the commits that explain it:\n"
        yield from changes


def make_page(cells: list[stored.Stored], known: list[dict[str, str]]) -> str:
    """Returns the text of MATRIX.md. @known: the explanations of facts."""
    kernels = [cell for cell in cells if cell.header["kind"] == "kernel"]
    tools = [cell for cell in cells if cell.header["kind"] == "tool"]
    lines = [HEAD.rstrip("\n"), *make_summary(kernels, tools, known)]
    lines += format_section("Kernels and cases", make_outcome_table(kernels) if kernels else ())
    if kernels:
        lines += format_section("Figures that differ between kernels", make_figure_table(kernels),
                                DIFFER, "None.")
        lines += format_section("Facts that differ between kernels", make_fact_table(kernels,
                                                                                     known),
                                "[explained.toml](matrix/explained.toml) states the causes and how "
                                "they are known.", "None.")
        lines += format_section("Facts that are the same in all runs",
                                make_same_fact_table(kernels), "", "None.")
    lines += format_section("Tools and cases", make_outcome_table(tools) if tools else ())
    if tools:
        lines += format_section("Figures that differ between tools", make_figure_table(tools),
                                DIFFER + " These ran on one host by its wall clock: figures vary a "
                                "little from run to run.", "None.")
    lines += format_section("Crashes of tools", crash_table(cells), "", "None.")
    lines += format_section("What did not pass, and why", make_bad_table(cells), "", "Nothing.")
    lines += format_section("How each was made", make_built_table(cells) if cells else ())
    return "\n".join(lines) + "\n"
