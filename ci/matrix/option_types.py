# SPDX-License-Identifier: GPL-2.0-only
"""What an option of a subcommand of ci/matrix may be: for argparse's type=."""

import argparse
from typing import TypeAlias

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def positive(text: str) -> int:
    """A number of something that there is."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("expected 1 or more, found %s" % text)
    return number


def seed(text: str) -> int:
    """As jitproof run takes it: 64 bits."""
    number = int(text)
    if not 0 <= number < 1 << 64:
        raise argparse.ArgumentTypeError("expected 0 to 2^64 - 1, found %s" % text)
    return number
