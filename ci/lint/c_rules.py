# SPDX-License-Identifier: GPL-2.0-only
"""Rules for C: calls, macros, registrations, tags."""

import re
from typing import Iterator

from ci.lint.tree import Found, Source, Tree, without_comments

MACRO_LINES = 6
FIELDS = 8  # of a registration
SLEEPS = re.compile(r"(?<![\w.>])(u?sleep|nanosleep|clock_nanosleep)\s*\(")
SYSTEM_CALLS = re.compile(
    r"(?<![\w.>])(open|openat|fopen|read|write|mmap|munmap|ioctl|fork|execv\w*|system|popen|"
    r"syscall|socket|clock_gettime|getenv|time|pthread_create)\s*\(")

OPENS = re.compile(r"(?<![\w.>])(open|openat|fopen|opendir|scandir|creat|mkostemp)\s*\(")
# Who opens files otherwise than by harness/base/ does it for one of these reasons.
MAY_OPEN = {
    "harness/base/": "it is the way",
    "harness/selftest/": "tests stand for others",
    "harness/facts/": "it asks the kernel",
    "harness/capture/": "/proc, tracefs and FIFOs of what is watched",
    "harness/run/": "what the workload and the runner share",
    "harness/repro/": "it copies by open folders",
    "harness/lint/process.c": "/proc of a process",
    "harness/model/files/file_finder.c": "it lists /tmp, or opens the folder that was named",
    "harness/model/files/residence.c": "the root of a process",
    "harness/format/rundir/run_dir.c": "it makes the folders",
    "harness/format/truth/write.c": "it is written by the workload",
    "harness/format/perfdata/reduce.c": "it changes a copy of our own",
    "harness/outcome/case_folders.c": "it lists the folder that was named",
    "harness/command/cmd_repro.c": "the folder that was named",
    "harness/command/main.c": "/dev/null",
}


def check_opens(source: Source) -> Iterator[Found]:
    """One way to open: harness/base knows links, FIFOs, devices, owners and confinement."""
    if not source.path.startswith("harness/") \
            or source.path.startswith(tuple(MAY_OPEN)):
        return
    for number, line in enumerate(without_comments(source.text).split("\n"), 1):
        if called := OPENS.search(line):
            yield source.found(number, f"calls {called.group(1)}()",
                               "what others wrote is opened by harness/base/untrusted_file.h, what "
                               "is written by new_file.h or file.h")


def check_calls(source: Source) -> Iterator[Found]:
    for number, line in enumerate(without_comments(source.text).split("\n"), 1):
        sleeping = SLEEPS.search(line)
        if sleeping and source.path.startswith(("harness/", "workloads/")):
            yield source.found(number, f"calls {sleeping.group(1)}()",
                               "where one waits, a handshake or a deadline belongs")
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
        if re.search(r"\breturn\b", without_comments(match.group())):
            yield source.found(line, "macro with a return", "it hides the way out")


def check_registrations(source: Source) -> Iterator[Found]:
    """A registration is short const data in the file of its function."""
    code = without_comments(source.text)
    for match in re.finditer(r"^\s*JP_REGISTER(_ROWS)?\((\w+),\s*(\w+)\)", code, re.M):
        number, (rows, kind, name) = source.line_of(match.start(3)), match.groups()
        wanted = f"static const struct jp_{kind} {name}{'[]' if rows else ''} = {{"
        data = re.search(re.escape(wanted) + r"(.*?)\};", code, re.S)
        if not data:
            yield source.found(number, f"registers {name}", f"expected '{wanted}' in this file")
        elif not rows and len(re.findall(r"^\s*\.\w+\s*=", data.group(1), re.M)) > FIELDS:
            yield source.found(number, f"{name} has more than eight fields",
                               "a registration is short data")


def check_tags(tree: Tree) -> Iterator[Found]:
    """A tag of a struct, union or enum means one thing in the whole tree."""
    first: dict[str, str] = {}
    for source in tree.c:
        for match in re.finditer(r"\b(?:struct|union|enum)\s+(\w+)\s*\{",
                                 without_comments(source.text)):
            line, tag = source.line_of(match.start()), match.group(1)
            if tag in first:
                yield source.found(line, f"a second '{tag}'", f"{first[tag]} defines it: tags are "
                                   "unique in the tree")
            first.setdefault(tag, f"{source.path}:{line}")
