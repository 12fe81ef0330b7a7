# SPDX-License-Identifier: GPL-2.0-only
"""Finds splats in a kernel's log, and on a VM's console the reason why the VM was lost."""

import dataclasses
import re
from typing import Sequence

# The words that kernels since 5.10 print in the first lines of a report.
SPLATS = re.compile(
    r"\bBUG: |\bWARNING: |\bOops\b|\bgeneral protection fault\b|Kernel panic|"
    r"\bINFO: (?:rcu|task|trying to|possible|suspicious|inconsistent|lockdep)|"
    r"\brcu: INFO:|rcu_\w+ (?:self-)?detected stall|soft lockup|hard LOCKUP|blocked for more than|"
    r"Unable to handle kernel|unable to handle page fault|kernel NULL pointer|"
    r"\bKASAN\b|\bKCSAN\b|\bKFENCE: (?!initialized)|\bUBSAN\b|\bkmemleak: \d|"
    r"\bDEBUG_LOCKS_WARN_ON\b|unregister_netdevice: waiting|"
    r"refcount_t: |list_(?:add|del) corruption|"
    r"Bad page state|Bad rss-counter|\bcut here\b|traps: .* trap invalid opcode|"
    r"nobody cared|Out of memory: |invoked oom-killer|segfault at")
# A record of /dev/kmsg: PRIORITY,NUMBER,MICROSECONDS,FLAGS;TEXT
RECORD = re.compile(r"(\d+),(\d+),(\d+),([^;]*);(.*)")


class Unscannable(Exception):
    """A log is incomplete or malformed, so it may hide a splat; the message is the reason."""


@dataclasses.dataclass(frozen=True)
class Allowed:
    """A known splat, and why it is allowed."""
    pattern: str
    reason: str
    kernels: str = ""  # a regular expression of releases; "": all


def parse_allowed(entries: Sequence[dict[str, str]]) -> list[Allowed]:
    return [Allowed(**entry) for entry in entries]


def parse_records(text: str) -> list[str]:
    """Returns a line for each record of /dev/kmsg. Raises Unscannable if records are missing."""
    records: list[str] = []
    expected: int | None = None
    for line in text.splitlines():
        if line.startswith(" "):
            continue  # the record's dictionary
        match = RECORD.fullmatch(line)
        if not match:
            raise Unscannable("kernel log: expected a record; found %r" % line[:80])
        sequence = int(match.group(2))
        if expected is not None and sequence != expected:
            raise Unscannable("kernel log: records %d to %d are missing" % (expected, sequence - 1))
        expected = sequence + 1
        records.append("[%12.6f] %s" % (int(match.group(3)) / 1e6, match.group(5)))
    if not any("Linux version " in line for line in records):
        raise Unscannable("kernel log: it does not begin with the kernel's first line")
    return records


def find_splats(lines: list[str], allow: list[Allowed], release: str) -> list[str]:
    return [line for line in lines if SPLATS.search(line) and not any(
        re.search(entry.pattern, line) and re.match(entry.kernels or "",
                                                    release) for entry in allow)]


def find_first_splat(console: str) -> str | None:
    """Returns the first line of a splat on a console, or None."""
    return next((line.strip() for line in console.splitlines() if SPLATS.search(line)), None)
