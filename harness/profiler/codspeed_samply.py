#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for samply with CodSpeed's options, which make it write symbols next to the profile. It
uses upstream's samply, since no registry has CodSpeed's fork."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import samply
from adapting import gecko
from adapting.protocol import main


class CodSpeedSamply(samply.Samply):
    more = ("--unstable-presymbolicate",)

    def symbols(self) -> gecko.Symbols:
        return gecko.load_symbols(self.path("profile.json.syms.json"))


if __name__ == "__main__":
    main(CodSpeedSamply)
