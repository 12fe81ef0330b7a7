#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make lint: the tree's own rules. Prints FILE:LINE: WHAT: WHY, exits 1 when it printed any.

Usage: python3 ci/lint [--no-tools] [ROOT]
"""

import argparse
import os
import sys
from typing import Iterator

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.lint import c_rules, comments, floors, text_rules, tools
from ci.lint.tree import Found, Source, Tree


# Counted, and not yet held against anybody: python3 ci/lint --pending lists them.
PENDING = {"floors", "tags", "comments"}


def check_source(tree: Tree, source: Source) -> Iterator[Found]:
    yield from text_rules.check_conflicts(source)
    if source.path.endswith(".md"):
        yield from text_rules.check_links(tree, source)
    if not source.is_code:
        return
    yield from text_rules.check_spdx(source)
    yield from text_rules.check_lines(source)
    if source.is_c:
        yield from c_rules.check_calls(source)
        yield from c_rules.check_macros(source)
        yield from c_rules.check_registrations(source)


def check_comments(tree: Tree) -> Iterator[Found]:
    names = comments.known(tree)
    for source in tree.sources:
        if source.is_code:
            yield from comments.check_files(tree, source, names)
        if source.is_c:
            yield from comments.check_parameters(tree, source)


def check(root: str, with_tools: bool = True) -> tuple[dict[str, list[Found]], str]:
    """All that is found, by the kind of rule; and the figures of the floors."""
    tree = Tree(root)
    wrong, figures = floors.check(tree)
    found = {"names": [one for path in tree.paths for one in text_rules.check_name(path)],
             "sources": [one for source in tree.sources for one in check_source(tree, source)],
             "comments": list(check_comments(tree)), "tags": list(c_rules.check_tags(tree)),
             "floors": wrong, "tools": list(tools.check(tree)) if with_tools else []}
    if not tree.c:
        found["names"].append(Found(".", 1, "no C file was found",
                                    "this is not the project's root"))
    return found, figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-tools", action="store_true", help="only our own rules")
    parser.add_argument("--pending", action="store_true", help="list these, too")
    parser.add_argument("root", nargs="?", default=os.path.abspath(__file__ + "/../../.."))
    options = parser.parse_args()
    found, figures = check(options.root, not options.no_tools)
    wrong = [one for rule in found for one in found[rule] if rule not in PENDING]
    later = [one for rule in found for one in found[rule] if rule in PENDING]
    for one in wrong + (later if options.pending else []):
        print(one)
    print(figures)
    print(f"lint: {len(wrong)} found" + (f", {len(later)} pending" if later else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
