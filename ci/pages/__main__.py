#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes static pages of the stored results: of kernels, and of profilers.

The pages need no server and no network. They are built from the same sources as those of
`jitproof report`, which make joins in O.
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import files, status
from ci.matrix.results import explained, stored
from ci.pages import board, kernels, profilers

START = ("jitproof checks what Linux and profilers make of JIT-compiled code. These pages show "
         "what is stored.")


def make_pages() -> dict[str, str]:
    """Returns the data of all pages by their file."""
    scores = files.read(os.path.join(stored.ROOT, "results", "PROFILERS.md"))
    stored_cells = stored.load_folder(stored.FOLDER)
    differs = [*profilers.list_differences(scores), *kernels.list_differences(stored_cells)[:2]]
    return {"index.html": board.format_page("jitproof: stored results", START, "", "", differs, []),
            "profilers.html": profilers.make_page(scores),
            "matrix.html": kernels.make_page(stored_cells, explained.load(stored.FOLDER))}


def run(options: argparse.Namespace) -> int:
    build = os.environ.get("O", os.path.join(stored.ROOT, "build"))
    head, tail = (files.read(os.path.join(build, "page." + part)) for part in ("head", "tail"))
    os.makedirs(options.output, exist_ok=True)
    # Escaped, no text can end the script element.
    files.replace(options.output, {name: head + data.replace("<", "\\u003c") + "\n" + tail
                                   for name, data in make_pages().items()})
    print(os.path.join(options.output, "index.html"))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", dest="output", metavar="DIR", required=True)
    return status.guard_command("pages", run)(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
