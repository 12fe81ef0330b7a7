# SPDX-License-Identifier: GPL-2.0-only
"""Makes the page results/TAMPER.md: a table of kinds, and a list of failures."""

import collections
from typing import NamedTuple, Sequence

from ci.tamper.kinds import KINDS

HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-only -->
# What judging notices

`make tamper` alters each recorded case of the set check in one way (a kind), and judges it again.
*Noticed*: a case that passed does not. A harmless kind changes nothing that a file states, and
must not be noticed. *Unobservable*: nobody can see it in that case, with the proof from its files.
Cases that hold nothing of a kind are not in its row.

The program itself was altered once, instead of its files: a capture that dropped every fifth
sample while it drained the rings, and did not count it. None of the 98 cases with samples of our
capture passed (commits edc462a and 36afa4e1). `peers/launch.names` uses perf's own capture.

"""


class Trial(NamedTuple):
    case: str
    kind: str
    state: str  # noticed, unnoticed, absent, unobservable, broken, unusable
    why: str


def is_right(trial: Trial) -> bool | None:
    """Returns whether judging was right, or None if nothing was tried."""
    if trial.state in ("absent", "unobservable"):
        return None
    if trial.state in ("broken", "unusable"):
        return False
    return (trial.state == "unnoticed") == KINDS[trial.kind].harmless


def format_row(kind: str, trials: Sequence[Trial]) -> str:
    states = collections.Counter(trial.state for trial in trials)
    nr_made = states["noticed"] + states["unnoticed"] + states["broken"]
    return "| %s | %d | %d | %d |" % (kind, states["noticed"], nr_made, states["unobservable"])


def format_section(title: str, kinds: Sequence[str], of: dict[str, list[Trial]]) -> list[str]:
    lines = ["## " + title, "", "| kind | noticed | made | unobservable |", "|---|---|---|---|"]
    lines += [format_row(kind, of[kind]) for kind in kinds]
    trials = [trial for kind in kinds for trial in of[kind]]
    return lines + [format_row("all", trials), ""]


def list_failures(trials: Sequence[Trial], limit: int | None) -> list[str]:
    """Makes a line for each kind that failed, with at most @most of its cases."""
    wrong: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for trial in trials:
        if is_right(trial) is False:
            reason = "" if trial.state == "unnoticed" else ": " + trial.why.splitlines()[0][:200]
            wrong[trial.kind, trial.state + reason].append(trial.case)
    lines = []
    for (kind, outcome), cases in wrong.items():
        named = ", ".join("`%s`" % name for name in cases[:limit])
        hidden = " and %d more" % (len(cases) - limit) if limit and len(cases) > limit else ""
        lines.append("* %s%s in %s%s" % (kind + " " if kind else "", outcome, named, hidden))
    return ["## Wrong", ""] + lines + [""] if lines else []


def list_proofs(trials: Sequence[Trial]) -> list[str]:
    reasons: dict[tuple[str, str], int] = collections.Counter(
        (trial.kind, trial.why) for trial in trials if trial.state == "unobservable")
    if not reasons:
        return []
    return ["## Unobservable", ""] + ["* %s, %d cases: %s" % (kind, count, reason)
                                      for (kind, reason), count in sorted(reasons.items())] + [""]


def make_page(trials: Sequence[Trial], seed: int, limit: int | None) -> str:
    rows: dict[str, list[Trial]] = collections.defaultdict(list)
    for record in trials:
        if record.kind:
            rows[record.kind].append(record)
    kinds = [kind for kind in KINDS if any(is_right(row) is not None for row in rows[kind])]
    lines = [HEAD + "Seed %d, %d cases.\n" % (seed, len({trial.case for trial in trials}))]
    for title, harmless in (("Alterations", False), ("Harmless", True)):
        lines += format_section(title, [kind for kind in kinds if KINDS[kind].harmless == harmless],
                                rows)
    return "\n".join(lines + list_failures(trials, limit) + list_proofs(trials)).rstrip("\n") + "\n"
