# SPDX-License-Identifier: GPL-2.0-only
"""A finding about files of the other byte order; see __main__.py."""

import re

from ci.base import files
from ci.findings.context import Context, perf_finding
from ci.perf.perf_tools import Perf
from harness.selftest.support import byte_order, run_directory as rd


def count_executable(text: str) -> tuple[int, int]:
    """Returns (all, executable) MMAP2 records of a dump."""
    flag_words = re.findall(r"PERF_RECORD_MMAP2 .*\]: (\S{4}) ", text)
    return len(flag_words), sum("x" in flags for flags in flag_words)


@perf_finding("byte-order.protection")
def show_protection(context: Context, perf: Perf) -> tuple[bool, str]:
    fixture, swapped = "validators/fixtures/mappings/perf.data", context.path("swapped.data")
    files.write_bytes(swapped, byte_order.swap_file(rd.PerfData.load(fixture)))
    judged = count_executable(perf.run("script", "-D", "-i", fixture).stdout)
    theirs = count_executable(perf.run("script", "-D", "-i", swapped).stdout)
    return judged[0] == theirs[0] and theirs[1] < judged[1], \
        "%d of %d mappings executable as recorded, %d of %d in the other byte order" % (
            judged[1], judged[0], theirs[1], theirs[0])
