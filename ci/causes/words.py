# SPDX-License-Identifier: GPL-2.0-only
"""The causes that `jitproof explain` can find, as the binary lists them."""

import json
from typing import NamedTuple

from ci.base import process

NONE = "none"


class Causes(NamedTuple):
    """What each cause costs, and why a capture cannot show some causes."""

    costs: dict[str, str]  # {id of the cause: "stacks", "names", "both" or "samples"}
    unknowable: dict[str, str]  # {validators' word for the cause: why a capture cannot show it}

    @staticmethod
    def load(jitproof: str) -> "Causes":
        table = json.loads(process.run_or_raise([jitproof, "explain", "--causes", "--json"]))
        return Causes({cause["id"]: cause["costs"] for cause in table["causes"]},
                      {word["word"]: word["text"] for word in table["words"]})
