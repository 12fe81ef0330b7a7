# SPDX-License-Identifier: GPL-2.0-only
"""Texts that programs print, taken apart."""

import re


def numbers(version: str) -> tuple[int, ...]:
    """(6, 12, 107) of 6.12.107+deb13 or perf-6.12.107."""
    match = re.search(r"\d+(\.\d+)*", version)
    return tuple(map(int, match.group(0).split("."))) if match else ()


def found(pattern: str | re.Pattern[str], text: str) -> re.Match[str]:
    """Where the pattern is in the text; ValueError where it is not."""
    match = re.search(pattern, text)
    if not match:
        raise ValueError("expected %s, found: %s" % (
            pattern if isinstance(pattern, str) else pattern.pattern, text.strip()[-200:]))
    return match
