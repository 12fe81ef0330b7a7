# SPDX-License-Identifier: GPL-2.0-only
"""Types of ci/matrix's options, for argparse's type=."""

import argparse
from typing import TypeAlias

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def parse_positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("expected 1 or more, found %s" % text)
    return number


def parse_seed(text: str) -> int:
    """Parses a seed of `jitproof run`: an unsigned 64-bit number."""
    number = int(text)
    if not 0 <= number < 1 << 64:
        raise argparse.ArgumentTypeError("expected 0 to 2^64 - 1, found %s" % text)
    return number
