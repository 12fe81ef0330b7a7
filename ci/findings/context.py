# SPDX-License-Identifier: GPL-2.0-only
"""The options and folders with which findings are measured."""

import argparse
import os
from typing import Callable, Iterator

from ci.perf import perf_tools

# (version that was measured, whether the finding shows, figures)
Shown = tuple[str, bool, str]


class Context:
    def __init__(self, options: argparse.Namespace, folder: str) -> None:
        self.jitproof: str = os.path.abspath(options.jitproof)
        self.folder = folder
        self.program = os.path.join(folder, "busy")
        self.wanted: list[str] = options.perf or [perf_tools.INSTALLED]
        self.perf_dir: str = options.perf_dir

    def list_perfs(self) -> list[perf_tools.Perf]:
        """Returns the perfs to measure with, oldest first."""
        perfs = [perf_tools.find(self.perf_dir, version) for version in self.wanted]
        return sorted(perfs, key=lambda perf: perf.number)

    def path(self, name: str) -> str:
        """Returns a path for a temporary file, which may exist."""
        return os.path.join(self.folder, name)


Finding = Callable[[Context], Iterator[Shown]]
# Returns (whether the finding shows, figures).
PerfFinding = Callable[[Context, perf_tools.Perf], tuple[bool, str]]
FINDINGS: dict[str, Finding] = {}


def finding(name: str) -> Callable[[Finding], Finding]:
    """Registers the decorated function."""
    def register(measure: Finding) -> Finding:
        FINDINGS[name] = measure
        return measure
    return register


def perf_finding(name: str) -> Callable[[PerfFinding], PerfFinding]:
    """Registers the decorated function, which measures with one perf."""
    def register(measure: PerfFinding) -> PerfFinding:
        FINDINGS[name] = lambda context: (
            (perf.version, *measure(context, perf)) for perf in context.list_perfs())
        return measure
    return register
