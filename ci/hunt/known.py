# SPDX-License-Identifier: GPL-2.0-only
"""Recognizes known findings: results/expected names the finding of a tool's defect in the reason of
the line that allows it."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Iterable

from ci.base import files, text
from ci.hunt.trial import Signature

LINE = re.compile(r"^\s*(?:where \S+.*?: )?(?:when (?P<tool>\S+) (?P<versions>\S+): )?"
                  r"(?P<allows>[^#]*)#(?P<reason>.*)$")
ALLOW = re.compile(r"([\w.]+) allow (\S+)")
ID = re.compile(r"\b((?:perf|kernel|elfutils|gcc)\.[a-z][a-z0-9-]+)\b")


@dataclasses.dataclass(frozen=True)
class Known:
    """An exception that a finding explains. @first and @last: versions of the tool, or ()."""
    finding: str
    metric: str
    cause: str
    tool: str = ""
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()

    def is_cause_of(self, signature: Signature) -> bool:
        # A cause is an id of explain, with the validator's word in parentheses, or the word alone.
        if self.metric != signature.metric or self.cause not in re.findall(r"[^ ()]+",
                                                                           signature.cause):
            return False
        tool, _, version = signature.tools.partition(" ")
        if tool != (self.tool or "perf"):
            return False
        number = text.parse_numbers(version)
        return number >= self.first and (
            not self.last or number[:len(self.last)] <= self.last)


def read_lines(lines: Iterable[str]) -> list[Known]:
    found = []
    for line in lines:
        match = LINE.match(line)
        name = match and ID.search(match.group("reason"))
        if not match or not name:
            continue
        first, dots, last = (match.group("versions") or "").partition("..")
        for metric, cause in ALLOW.findall(match.group("allows")):
            found.append(Known(name.group(1), metric, cause, match.group("tool") or "",
                               text.parse_numbers(first),
                               text.parse_numbers(last if dots else first)))
    return found


def read_folder(folder: str) -> list[Known]:
    """Returns the known failures in a folder such as results/expected."""
    return [known for name in sorted(os.listdir(folder))
            for known in read_lines(files.read(os.path.join(folder, name)).splitlines())]


def find_id(known: Iterable[Known], signature: Signature) -> str:
    """Returns the id of the finding that explains @signature, or "". The cause of a difference that
    a reader shows is such an id."""
    if ID.fullmatch(signature.cause):
        return signature.cause
    return next((one.finding for one in known if one.is_cause_of(signature)), "")
