# SPDX-License-Identifier: GPL-2.0-only
"""Checks rules for C: calls, macros, registrations, tags."""

import re
from typing import Iterator

from ci.lint.tree import Found, Source, Tree, blank_comments

MACRO_LINES = 6  # most lines of a macro
FIELDS = 8  # most fields of a registration
SLEEPS = re.compile(r"(?<![\w.>])(u?sleep|nanosleep|clock_nanosleep)\s*\(")
SYSTEM_CALLS = re.compile(
    r"(?<![\w.>])(open|openat|fopen|read|write|mmap|munmap|ioctl|fork|execv\w*|system|popen|"
    r"syscall|socket|clock_gettime|getenv|time|pthread_create)\s*\(")

OPENS = re.compile(r"(?<![\w.>])(open|openat|fopen|opendir|scandir|creat|mkostemp)\s*\(")
# Files and folders that may open files without harness/base/, and the reason.
MAY_OPEN = {
    "harness/base/": "implements the functions",
    "harness/selftest/": "tests play the part of others",
    "harness/facts/": "tests the kernel",
    "harness/capture/": "/proc, tracefs and FIFOs of the workload",
    "harness/run/": "files that the workload and the runner share",
    "harness/repro/": "copies by descriptors of folders",
    "harness/lint/process.c": "/proc of a process",
    "harness/model/files/file_finder.c": "lists /tmp, or opens a folder of the command line",
    "harness/model/files/residence.c": "the root of a process",
    "harness/format/rundir/run_dir.c": "creates the folders",
    "harness/format/truth/write.c": "runs in the workload",
    "harness/format/perfdata/reduce.c": "changes its own copy",
    "harness/outcome/case_folder.c": "lists a folder of the command line",
    "harness/command/cmd_repro.c": "a folder of the command line",
    "harness/command/main.c": "/dev/null",
}


def check_opens(source: Source) -> Iterator[Found]:
    """Only harness/base opens files: it handles links, FIFOs, devices, owners and confinement."""
    if not source.path.startswith("harness/") \
            or source.path.startswith(tuple(MAY_OPEN)):
        return
    for number, line in enumerate(blank_comments(source.text).split("\n"), 1):
        if called := OPENS.search(line):
            yield source.found(number, f"calls {called.group(1)}()",
                               "open input with harness/base/untrusted_file.h, output with "
                               "new_file.h or file.h")


def check_calls(source: Source) -> Iterator[Found]:
    for number, line in enumerate(blank_comments(source.text).split("\n"), 1):
        sleeping = SLEEPS.search(line)
        if sleeping and source.path.startswith(("harness/", "workloads/")):
            yield source.found(number, f"calls {sleeping.group(1)}()",
                               "wait by a handshake or a deadline")
        called = SYSTEM_CALLS.search(line)
        if called and source.path.startswith("validators/"):
            yield source.found(number, f"calls {called.group(1)}()",
                               "a validator is a pure function of its evidence")


def check_macros(source: Source) -> Iterator[Found]:
    for match in re.finditer(r"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*", source.text, re.M):
        line, count = source.line_of(match.start()), match.group().count("\n") + 1
        if count > MACRO_LINES:
            yield source.found(line, f"macro of {count} lines",
                               f"at most {MACRO_LINES}: write a function")
        # A `return` hides no control flow if the macro defines the function that returns.
        if re.search(r"\breturn\b", blank_comments(match.group())) and \
                not re.search(r"\\\n\s*static \w+ \w+\(", match.group()):
            yield source.found(line, "macro with a return", "it hides control flow of the caller")


def check_registrations(source: Source) -> Iterator[Found]:
    """A registration must be short const data in the file of its function."""
    code = blank_comments(source.text)
    for match in re.finditer(r"^JP_DEFINE\(\w+, (\w+)\) = {(.*?)};", code, re.M | re.S):
        if len(re.findall(r"^\s*\.\w+\s*=", match.group(2), re.M)) > FIELDS:
            yield source.found(source.line_of(match.start(1)),
                               f"{match.group(1)} has more than eight fields",
                               "a registration is short data")
    for match in re.finditer(r"^\s*JP_REGISTER_ROWS\((\w+),\s*(\w+)\)", code, re.M):
        definition = "static const struct jp_{}[] = {{".format(" ".join(match.groups()))
        if definition not in code:
            yield source.found(source.line_of(match.start(2)), f"registers {match.group(2)}",
                               f"expected '{definition}' in this file")


def check_tags(tree: Tree) -> Iterator[Found]:
    """A tag of a struct, union or enum must be unique in the tree."""
    first: dict[str, str] = {}
    for source in tree.c:
        for match in re.finditer(r"\b(?:struct|union|enum)\s+(\w+)\s*\{",
                                 blank_comments(source.text)):
            line, tag = source.line_of(match.start()), match.group(1)
            if tag in first:
                yield source.found(line, f"a second '{tag}'", f"{first[tag]} defines it: tags are "
                                   "unique in the tree")
            first.setdefault(tag, f"{source.path}:{line}")
