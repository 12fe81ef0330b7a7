#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""samply by CodSpeed's command line, which has symbols looked up at once and put beside the
profile. CodSpeed's own samply is a fork that no registry has: this is samply's.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import samply
from adapting import gecko
from adapting.protocol import main


class CodSpeedSamply(samply.Samply):
    more = ("--unstable-presymbolicate",)

    def symbols(self) -> gecko.Symbols:
        return gecko.Symbols.load(self.path("profile.json.syms.json"))


if __name__ == "__main__":
    main(CodSpeedSamply)
