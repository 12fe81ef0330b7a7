# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix report: makes results/MATRIX.md from the stored results."""

import argparse
import difflib
import os
import sys

from ci.base import files, jsonl, status
from ci.matrix.option_types import Subparsers
from ci.matrix.results import explained, markdown, stored


def run(options: argparse.Namespace) -> int:
    # dirname() does not return the parent of "." or "matrix/".
    parent = os.path.dirname(os.path.abspath(options.folder))
    target = options.output or os.path.join(parent, "MATRIX.md")
    text = markdown.make_page(stored.load_folder(options.folder), explained.load(options.folder))
    if not options.check:
        files.replace(os.path.dirname(target), {os.path.basename(target): text})
        print(os.path.relpath(target))
        return 0
    old = jsonl.read_bytes(target).decode("utf-8", errors="replace")
    if old == text:
        return 0
    print("%s differs from the stored results; run python3 ci/matrix report:" % target)
    sys.stdout.writelines(list(difflib.unified_diff(
        old.splitlines(True), text.splitlines(True), "is", "should be"))[:40])
    return 1


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("report", help="make results/MATRIX.md from the stored results",
                                   description=__doc__)
    parser.add_argument("--folder", default=stored.FOLDER, help="default: results/matrix")
    parser.add_argument("-o", "--output", metavar="FILE",
                        help="default: MATRIX.md beside the folder")
    parser.add_argument("--check", action="store_true",
                        help="write nothing; exit with 1 if the file would change")
    parser.set_defaults(run=status.guard_command("ci/matrix report", run))
