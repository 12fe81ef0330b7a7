# SPDX-License-Identifier: GPL-2.0-only
"""The progress of a hunt, which a later call continues: DIR/hunt.json. DIR/crossings has a line for
each crossing."""

import dataclasses
import json
import os
from typing import Any, Iterable

from ci.base import files, jsonl
from ci.base.status import Malformed
from ci.hunt.clusters import Cluster, Clusters
from ci.hunt.cover import PATIENCE, Cover
from ci.hunt.line import format_line
from ci.hunt.trial import Trial

NAME = "hunt.json"
LOG = "crossings"


@dataclasses.dataclass
class Progress:
    """The progress of a hunt: its seed, the number of crossings tried, how many had each outcome,
    and how many had no verdict for each reason."""
    seed: int
    tried: int = 0
    outcomes: dict[str, int] = dataclasses.field(default_factory=dict)
    unjudged: dict[str, int] = dataclasses.field(default_factory=dict)

    def note_unjudged(self, reasons: Iterable[str]) -> None:
        for reason in reasons:
            self.unjudged[reason] = self.unjudged.get(reason, 0) + 1


def parse_crossing(stored: Any) -> Any:
    return tuple((str(name), str(value)) for name, value in stored)


def save(folder: str, progress: Progress, cover: Cover, clusters: Clusters) -> None:
    pairs = [(pair, cover.judged[pair], cover.unjudged[pair], pair in cover.hidden)
             for pair in sorted({*cover.judged, *cover.unjudged})]
    value = {**dataclasses.asdict(progress), "pairs": pairs,
             "impossible": [sorted(items) for items in cover.impossible],
             "lacking": [(sorted(items), name) for items, name in cover.lacking],
             "clusters": [one.store() for one in clusters.found]}
    files.replace(folder, {NAME: json.dumps(value) + "\n"})


def log(folder: str, trial: Trial) -> None:
    """Appends @trial to the log: outcome, case line, reasons of the outcome, and folder of the
    kept files."""
    with open(os.path.join(folder, LOG), "a", encoding="utf-8") as file:
        file.write("\t".join([trial.outcome, format_line(trial.crossing),
                              trial.why.strip().replace("\n", " | "), trial.kept]) + "\n")


def read(folder: str) -> dict[str, Any] | None:
    """Returns what save() stored, or None if there is nothing."""
    path = os.path.join(folder, NAME)
    return jsonl.read_one(path) if os.path.exists(path) else None


def restore(folder: str, stored: dict[str, Any], cover: Cover, clusters: Clusters,
            seed: int) -> Progress:
    """Continues a stored hunt with @seed; pairs that the space no longer has are dropped."""
    try:
        for stored_pair, judged, unjudged, is_hidden in stored["pairs"]:
            pair = parse_crossing(stored_pair)
            if not is_hidden:
                cover.hidden.discard(pair)
            # Draw a pair that never had a verdict once more: the machine may be less busy now.
            cover.unjudged[pair] = min(unjudged, PATIENCE - 1)
            if judged and pair in cover.open:
                cover.judged[pair] = judged
                cover.covered.add(pair)
                cover.open.remove(pair)
        for items in stored["impossible"]:
            cover.exclude(dict(parse_crossing(items)))
        for items, name in stored["lacking"]:
            cover.add_lacking(dict(parse_crossing(items)), name)
        for one in stored["clusters"]:
            clusters.found.append(Cluster.load(one))
        progress = Progress(seed, stored["tried"], stored["outcomes"],
                            stored["unjudged"])
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(os.path.join(folder, NAME), 0,
                        "expected the state of a hunt: %s" % error) from error
    cover.random.seed("%d %d" % (progress.seed, progress.tried))
    return progress
