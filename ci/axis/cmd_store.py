# SPDX-License-Identifier: GPL-2.0-only
"""ci/matrix store: from the folders of runs to results/matrix/LABEL.jsonl."""

import os
import sys
import tempfile

from axis import cells, jsonl, stored

DESCRIPTION = """Each DIR is the folder of a run (of `ci/matrix run` or `ci/matrix tools`) or of
one cell of it. Runs of one kernel or tool with different seeds become one file: counts are summed,
the worst outcome counts. Nothing is written where any of them was lost or is not whole. The same
runs always give the same bytes."""


def write(path, text, encoding="ascii"):
    """All or nothing: whoever reads meanwhile sees the old file or the new one."""
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    fd, scratch = tempfile.mkstemp(dir=folder, prefix=".new-")
    try:
        with open(fd, "w", encoding=encoding) as file:
            file.write(text)
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise


def run(options):
    by_label = {}
    try:
        for folder in options.dirs:
            found = cells.find(folder)
            if not found:
                raise cells.Partial("%s: no %s is in it or one level below" % (folder, cells.CELL))
            for made in map(cells.load_whole, found):
                by_label.setdefault(made.label, []).append(made)
        merged = [cells.merge(several) for several in by_label.values()]
    except (jsonl.Malformed, cells.Partial) as problem:
        print("ci/matrix store: %s" % problem, file=sys.stderr)
        return 99
    for made in sorted(merged, key=lambda made: made.order):
        path = os.path.join(options.to, made.label + ".jsonl")
        write(path, stored.text_of(made))
        stored.load(path)
        print("%s: %d cases, %d facts, seeds %s" % (
            os.path.relpath(path), len(made.cases), len(made.facts),
            " ".join(map(str, made.header["seeds"]))))
    print("now: ci/matrix report")
    return 0


def add(subparsers):
    parser = subparsers.add_parser("store", help="keep what runs came to in results/matrix/",
                                   description=DESCRIPTION)
    parser.add_argument("dirs", metavar="DIR", nargs="+")
    parser.add_argument("--to", default=stored.FOLDER, metavar="FOLDER",
                        help="default: results/matrix")
    parser.set_defaults(run=run)
