#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks that KTAP output follows the kernel's Documentation/dev-tools/ktap.rst, as widely used
parsers read it. Prints FILE:LINE: PROBLEM for each violation. Exits 1 if there is any, 99 if a file
cannot be read.

Usage: ktap_check.py [FILE...]     (standard input without FILE)
"""

import argparse
import re
import sys

STEP = 2  # blanks per level of nesting
# CRASH is specific to jitproof; other parsers treat it as a plain "not ok".
DIRECTIVES = ("SKIP", "TODO", "XFAIL", "TIMEOUT", "ERROR", "CRASH")
NOT_OK_ONLY = ("TIMEOUT", "ERROR", "CRASH")
# Directives with which a subtest may be "not ok" while its parent is "ok".
FORGIVEN = ("SKIP", "TODO", "XFAIL")

VERSION = re.compile(r"(KTAP|TAP) version (\S*)$")
PLAN = re.compile(r"(\d+)\.\.(\d+)(.*)$")
RESULT = re.compile(r"(not ok|ok)(?: (\S+))?(?: (.*))?$")


class Level:
    """The results between a version line and the parent's result."""

    def __init__(self, line: int) -> None:
        self.line, self.count = line, 0
        self.plan: int | None = None
        self.failed = False


class Checker:
    def __init__(self, tap: bool = False) -> None:
        self.tap, self.number = tap, 0
        self.found: list[tuple[int, str]] = []
        self.levels: list[Level] = []  # unfinished levels, outermost first
        self.closed: Level | None = None  # a finished level whose parent has no result line yet

    def report(self, breach: str, line: int | None = None) -> None:
        self.found.append((line or self.number, breach))

    def check_version(self, depth: int, kind: str, number: str) -> None:
        if depth == 0 and self.levels:
            self.report("a second version line at the outermost level")
            return
        if depth != len(self.levels):
            self.report(f"a version line indented by {depth} levels; expected {len(self.levels)}")
        if self.closed:
            self.report("subtests without their parent's result line", self.closed.line)
            self.closed = None
        expected = [("KTAP", "1")]
        if self.tap and not self.levels:
            expected += [("TAP", "13"), ("TAP", "14")]
        if (kind, number) not in expected:
            self.report(f"'{kind} version {number}'; expected 'KTAP version 1'")
        self.levels.append(Level(self.number))

    def close_deeper(self, depth: int) -> None:
        """Ends the levels that are nested deeper than @depth."""
        while len(self.levels) > depth + 1:
            level = self.levels.pop()
            self.check_plan(level)
            if self.closed:
                self.report("subtests without their parent's result line", self.closed.line)
            self.closed = level

    def check_plan(self, level: Level) -> None:
        if level.plan is None:
            self.report("no plan follows this version line", level.line)
        elif level.plan != level.count:
            self.report(f"{level.count} results; planned were {level.plan}", level.line)

    def find_level(self, depth: int, breach: str) -> Level | None:
        if depth >= len(self.levels):
            self.report(f"{breach} indented by {depth} levels, without a version line there")
            return None
        self.close_deeper(depth)
        return self.levels[depth]

    def handle_plan(self, depth: int, first: str, last: str, remainder: str) -> None:
        level = self.find_level(depth, "a plan")
        if not level:
            return
        if level.plan is not None:
            self.report("a second plan")
        elif level.count:
            self.report("a plan after results; expected right after the version line")
        if first != "1" or remainder or (last[0] == "0" and last != "0"):
            self.report(f"'{first}..{last}{remainder}'; expected '1..N'")
        level.plan = int(last)

    def check_result(self, depth: int, word: str, number: str, remainder: str | None) -> None:
        level = self.find_level(depth, "a result")
        if not level:
            return
        level.count += 1
        if number != str(level.count):
            self.report(f"result number {number}; expected {level.count}")
        name, hash_sign, data = (remainder or "").partition("#")
        if hash_sign and (name[-1:] not in ("", " ") or data[:1] not in ("", " ")):
            self.report("a '#' in the description; expected ' # ' before a directive")
        directive = data.split()[0] if data.split() else ""
        if hash_sign and not data.strip():
            self.report("nothing after '#'")
        if re.fullmatch(r"[A-Za-z]+:?", directive) and directive.rstrip(":").upper() in DIRECTIVES \
                and directive not in DIRECTIVES:
            self.report(f"directive '{directive}'; expected '{directive.rstrip(':').upper()}'")
        elif re.fullmatch(r"[A-Z]{3,}", directive) and directive not in DIRECTIVES:
            self.report(f"unknown directive '{directive}'")
        if directive in NOT_OK_ONLY and word == "ok":
            self.report(f"ok with the directive {directive}")
        failed = word == "not ok" and directive not in FORGIVEN
        if self.closed:
            if self.closed.failed and word == "ok":
                self.report("ok, although a subtest failed")
            self.closed = None
        level.failed = level.failed or failed

    def check_line(self, text: str) -> None:
        self.number += 1
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text):
            self.report("a control character")
        bare = text.lstrip(" ")
        depth, remainder = divmod(len(text) - len(bare), STEP)
        version, plan, result = VERSION.match(bare), PLAN.match(bare), RESULT.match(bare)
        if not bare or bare.startswith("#"):
            if re.match(r"# Subtest:", bare):
                self.report("'# Subtest:' in a comment: parsers take it for the start of a subtest")
            return
        if bare.startswith("Bail out!"):
            self.report("bailed out: the results are not complete")
            return
        if not (version or plan or result):
            self.report("unknown kind of line; expected '# ' before a comment")
            return
        if remainder:
            self.report(f"indented by {len(text) - len(bare)} blanks; "
                        f"expected a multiple of {STEP}")
        if version:
            self.check_version(depth, *version.groups())
        elif not self.levels:
            self.report("before any version line")
        elif plan:
            self.handle_plan(depth, *plan.groups())
        elif result:
            self.check_result(depth, *result.groups())

    def end(self) -> None:
        if not self.levels:
            self.report("no version line", 1)
            return
        self.close_deeper(0)
        if self.closed:
            self.report("subtests without their parent's result line", self.closed.line)
        self.check_plan(self.levels[0])


def check(text: str, tap: bool = False) -> list[tuple[int, str]]:
    """Returns [(line, problem)] of @text, in the order of lines. @tap: the outermost version may
    also be TAP 13 or 14, as the kselftest runner prints it."""
    checker = Checker(tap)
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    else:
        checker.report("no newline at the end of the last line", len(lines))
    for line in lines:
        checker.check_line(line)
    checker.end()
    return sorted(checker.found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE")
    arguments = parser.parse_args()
    nr_breaches = 0
    for path in arguments.files or ["-"]:
        try:
            with open(0 if path == "-" else path, encoding="utf-8", errors="replace",
                      newline="\n") as file:
                breaches = check(file.read())
        except OSError as error:
            print(f"{path}: {error.strerror}", file=sys.stderr)
            return 99
        nr_breaches += len(breaches)
        for line, breach in breaches:
            print(f"{path}:{line}: {breach}")
    return 1 if nr_breaches else 0


if __name__ == "__main__":
    sys.exit(main())
