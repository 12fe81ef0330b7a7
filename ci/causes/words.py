# SPDX-License-Identifier: GPL-2.0-only
"""The causes, as the binary lists them."""

import json
from typing import NamedTuple

from ci.base import process

NONE = "none"


class Causes(NamedTuple):
    """All ids, what they cost, and what no capture tells."""

    costs: dict[str, str]  # by id: "stacks", "names", "both" or "samples"
    unknowable: dict[str, str]  # by word: why

    @staticmethod
    def of(jitproof: str) -> "Causes":
        table = json.loads(process.must([jitproof, "explain", "--causes", "--json"]))
        return Causes({one["id"]: one["costs"] for one in table["causes"]},
                      {one["word"]: one["text"] for one in table["words"]})
