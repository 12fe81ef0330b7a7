# SPDX-License-Identifier: GPL-2.0-only
"""What a kernel's log says went wrong: splats, and why a machine was lost."""

import dataclasses
import re
from typing import Sequence

# What kernels print in front of a report, since 5.10. \b and case as they print it.
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
# Of /dev/kmsg: PRIORITY,NUMBER,MICROSECONDS,FLAGS;TEXT
RECORD = re.compile(r"(\d+),(\d+),(\d+),([^;]*);(.*)")


class Unscannable(Exception):
    """Why a log could not be scanned: that is a failure, never a clean log."""


@dataclasses.dataclass(frozen=True)
class Allowed:
    """A splat that is known, and why it is no news."""
    pattern: str
    reason: str
    kernels: str = ""  # a regular expression of releases; "": all


def allowed(entries: Sequence[dict[str, str]]) -> list[Allowed]:
    """The allow list of the configuration."""
    return [Allowed(**entry) for entry in entries]


def lines_of(text: str) -> list[str]:
    """The texts of the records of /dev/kmsg; a log with a hole cannot be scanned."""
    found: list[str] = []
    expected: int | None = None
    for line in text.splitlines():
        if line.startswith(" "):
            continue  # the record's dictionary
        match = RECORD.fullmatch(line)
        if not match:
            raise Unscannable("kernel log: no record is %r" % line[:80])
        sequence = int(match.group(2))
        if expected is not None and sequence != expected:
            raise Unscannable("kernel log: records %d to %d are missing" % (expected, sequence - 1))
        expected = sequence + 1
        found.append("[%12.6f] %s" % (int(match.group(3)) / 1e6, match.group(5)))
    if not any("Linux version " in line for line in found):
        raise Unscannable("kernel log: it does not begin with the kernel's first line")
    return found


def splats(lines: list[str], allow: list[Allowed], release: str) -> list[str]:
    """Lines of splats that nothing allows."""
    return [line for line in lines if SPLATS.search(line) and not any(
        re.search(one.pattern, line) and re.match(one.kernels or "", release) for one in allow)]


def why_lost(console: str) -> str | None:
    """The first line of a console that tells why the kernel died, or None."""
    for line in console.splitlines():
        if SPLATS.search(line):
            return line.strip()
    return None
