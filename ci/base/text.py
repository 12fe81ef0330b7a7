# SPDX-License-Identifier: GPL-2.0-only
"""Parses text that programs print."""

import re


def parse_numbers(version: str) -> tuple[int, ...]:
    """Returns (6, 12, 107) for "6.12.107+deb13" or "perf-6.12.107"; () if there is no number."""
    match = re.search(r"\d+(\.\d+)*", version)
    return tuple(map(int, match.group(0).split("."))) if match else ()


def find_match(pattern: str | re.Pattern[str], text: str) -> re.Match[str]:
    """Returns the match of @pattern in @text; ValueError if there is none."""
    match = re.search(pattern, text)
    if not match:
        raise ValueError("expected %s, found: %s" % (
            pattern if isinstance(pattern, str) else pattern.pattern, text.strip()[-200:]))
    return match
