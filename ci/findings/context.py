# SPDX-License-Identifier: GPL-2.0-only
"""What findings are measured with."""

import argparse
import os
from typing import Callable, Iterator

from ci.peer import perf_tools

# What it was seen with, whether it shows, figures.
Shown = tuple[str, bool, str]


class Context:
    def __init__(self, options: argparse.Namespace, folder: str) -> None:
        self.jitproof: str = os.path.abspath(options.jitproof)
        self.folder = folder
        self.program = os.path.join(folder, "busy")
        self.wanted: list[str] = options.perf or [perf_tools.INSTALLED]
        self.perf_dir: str = options.perf_dir

    def perfs(self) -> list[perf_tools.Perf]:
        """The perfs to measure with, oldest first."""
        found = [perf_tools.find(self.perf_dir, wanted) for wanted in self.wanted]
        return sorted(found, key=lambda perf: perf.number)

    def path(self, name: str) -> str:
        """Of a file that may be overwritten."""
        return os.path.join(self.folder, name)


Finding = Callable[[Context], Iterator[Shown]]
