#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs the suite on many kernels and with many profilers: python3 ci/matrix --help.

Each file vm/cmd_*.py and results/cmd_*.py is a subcommand. Its add(subparsers) adds a parser and
sets the default `run`: a function that takes the options and returns the exit status.
"""

import argparse
import importlib
import io
import os
import sys
from typing import Iterator

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = ("results", "vm")


def list_commands() -> Iterator[str]:
    """Yields the names of the modules that add a subcommand, in a fixed order."""
    for part in PARTS:
        for name in sorted(os.listdir(os.path.join(HERE, part))):
            if name.startswith("cmd_") and name.endswith(".py"):
                yield "ci.matrix.%s.%s" % (part, name.removesuffix(".py"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 ci/matrix", description=__doc__.splitlines()[0])
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in list_commands():
        importlib.import_module(name).add(subparsers)
    # Escape characters that the terminal's encoding does not have.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
