# SPDX-License-Identifier: GPL-2.0-only
"""Finds the programs called perf, and their versions."""

import contextlib
import functools
import glob
import os
import re
import shutil
from typing import Iterator

from adapting import script, shown
from adapting.protocol import Missing, one_line, output_of


def find_perf() -> str:
    program = os.environ.get("JITPROOF_PERF") or "perf"
    path = shutil.which(program)
    if not path:
        raise Missing("%s: not found" % program)
    return path


def clean_environment(**more: str) -> dict[str, str]:
    """Returns an environment without the user's configuration of perf and without the network."""
    return {**os.environ, "PERF_CONFIG": "/dev/null", "DEBUGINFOD_URLS": "", **more}


def find_perfs() -> Iterator[str]:
    """Yields paths of the programs called perf on this machine: first the program that records,
    then those that ci/perf/perf_tools.py has unpacked."""
    with contextlib.suppress(Missing):
        yield find_perf()
    yield from sorted(glob.glob(os.path.join(
        glob.escape(os.environ.get("JITPROOF_PERFS") or "/nonexistent"), "*", "perf")))


def list_readers(only_own: bool) -> Iterator[shown.Reader]:
    """Yields a reader for each version of perf. @own: only for the program that records."""
    versions = set()
    for perf in [find_perf()] if only_own else find_perfs():
        version = version_of(perf)
        if version not in versions:
            versions.add(version)
            yield shown.Reader("perf", version, functools.partial(script.show, perf))


def version_of(perf: str) -> str:
    output = output_of(perf, "--version")
    match = re.search(r"^perf version (\d\S*)", output, re.M)
    if not match:
        raise Missing("%s: %s" % (perf, one_line(output)))
    return match.group(1)


def number_of(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
