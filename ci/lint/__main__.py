#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make lint: checks the rules of this tree. Prints FILE:LINE: WHAT: WHY for each finding, and exits
with 1 if there is one.

Usage: python3 ci/lint [ROOT]
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
import os
import sys
from typing import Iterator

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.lint import c_rules, comments, expectations, floors, text_rules, tools, words
from ci.lint.tree import Found, Source, Tree


def check_source(tree: Tree, source: Source) -> Iterator[Found]:
    yield from text_rules.check_conflicts(source)
    for rule in (words.check_dialect, words.check_names, words.check_public,
                 words.check_sentences):
        yield from rule(source)
    if source.path.endswith(".md"):
        yield from text_rules.check_links(tree, source)
    if not source.is_code:
        return
    yield from text_rules.check_spdx(source)
    yield from text_rules.check_lines(source)
    if source.is_c:
        yield from c_rules.check_calls(source)
        yield from c_rules.check_opens(source)
        yield from c_rules.check_macros(source)
        yield from c_rules.check_registrations(source)


def check_comments(tree: Tree) -> Iterator[Found]:
    names = comments.find_names(tree)
    for source in tree.sources:
        if source.is_code:
            yield from comments.check_files(tree, source, names)
        if source.is_c:
            yield from comments.check_parameters(tree, source)


def check(root: str, with_tools: bool = True) -> tuple[list[Found], str]:
    """Returns all findings, and a line with the figures of the floors."""
    tree = Tree(root)
    with ThreadPoolExecutor() as pool:
        started = tools.start(tree, pool) if with_tools else []
        findings, figures = check_rules(tree)
        return findings + [finding for tool in started for finding in tool.result()], figures


def check_rules(tree: Tree) -> tuple[list[Found], str]:
    """Returns the findings of our own rules, and a line with the figures of the floors."""
    violations, figures = floors.check(tree)
    found = [finding for path in tree.paths for finding in text_rules.check_name(path)]
    found += [finding for source in tree.sources for finding in check_source(tree, source)]
    found += [*check_comments(tree), *c_rules.check_tags(tree), *expectations.check(tree),
              *violations]
    if not tree.c:
        found.append(Found(".", 1, "no C file", "this is not the project's root"))
    return found, figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", default=os.path.abspath(__file__ + "/../../.."))
    options = parser.parse_args()
    findings, figures = check(options.root)
    for finding in findings:
        print(finding)
    print(figures)
    print(f"lint: {len(findings)} found")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
