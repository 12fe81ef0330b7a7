#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for `samply import` on a recording of perf.py. See samply.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf
import samply
from adapting import gecko
from adapting.observations import Stream
from adapting.reading import Reader


class Import(Reader):
    name = "samply import"
    declares = gecko.DECLARES

    @classmethod
    def version(cls) -> str:
        return "%s by perf %s" % (samply.Samply.version(), super().version())

    def read(self, stream: Stream) -> None:
        profile = os.path.join(self.options.dir, "profile.json.gz")
        self.output_of(samply.Samply.program(), "import", "--save-only", "--no-open", "-o",
                       profile, self.file.path)
        samply.write_samples(stream, profile)


if __name__ == "__main__":
    perf.main(Import)
