#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""samply as a reader of a perf.data: the names that `samply import` gives the frames of a recording
by perf.py. Names alone, as in samply.py.
"""

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
        self.command_of(samply.Samply.program(), "import", "--save-only", "--no-open", "-o",
                        profile, self.file.path)
        samply.tell(stream, profile)


if __name__ == "__main__":
    perf.main(Import)
