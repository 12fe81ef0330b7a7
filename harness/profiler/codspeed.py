#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Adapter for perf with CodSpeed's options: perf's default event starts disabled and is enabled
through a FIFO; samples have user callchains and no registers. `perf script` reads the recording.
"""

import os
import sys
from typing import Iterator

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf
import perf_script


class CodSpeed(perf_script.Script):
    name = "perf by CodSpeed's command line"

    def arguments(self) -> Iterator[str]:
        options = self.options
        yield from (self.perf, "record", "--timestamp", "-k", "mono", "--freq=%d" % options.freq,
                    "--delay=-1", "-g", "--user-callchains", "--call-graph=" + (
                        "dwarf,%d" % options.stack if options.stack else "fp"),
                    "--control=fifo:" + ",".join(self.fifos), "-o", self.file.path)
        if options.command:
            yield from ("--", *options.command)
        else:
            yield from ("-p", str(options.pid))

    def start(self) -> None:
        super().start()
        if self.options.command and not self.options.gated:
            self.send_command("enable")


if __name__ == "__main__":
    perf.main(CodSpeed)
