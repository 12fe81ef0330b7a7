#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make lint: the tree's own rules. Prints FILE:LINE: WHAT: WHY, exits 1 when it printed any.

Usage: lint.py [--no-format] [ROOT]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import urllib.parse

COLUMNS = 100
TAB = 8
MACRO_LINES = 6
FORBIDDEN_FOLDERS = {"util", "utils", "common", "misc", "lib", "libs", "helpers"}
C_FOLDERS = ("harness", "workloads", "validators", "facts")

WORKLOADS_MAY = re.compile(
    r"harness/base/|harness/format/(truth/(format|write)|jit/jitdump_format)\.h$|workloads/")
VALIDATORS_MAY_NOT = re.compile(
    r"^(sys/(mman|ioctl|wait|socket|ptrace|prctl|syscall|epoll|resource)\.h|unistd\.h|fcntl\.h|"
    r"signal\.h|poll\.h|pthread\.h|sched\.h|dirent\.h|linux/.*|"
    r"harness/(capture|run|command)/.*|harness/report/report\.h|"
    r"workloads/.*)$")
SYSTEM_CALLS = re.compile(
    r"(?<![\w.>])(open|openat|fopen|read|write|mmap|munmap|ioctl|fork|execv\w*|system|popen|"
    r"syscall|socket|clock_gettime|getenv|time|pthread_create)\s*\(")


class Lint:
    def __init__(self, root):
        self.root = root
        self.found = []

    def say(self, path, line, what, why):
        self.found.append(f"{path}:{line}: {what}: {why}")


def files(root):
    """Paths below @root, relative, of what git knows, or of everything where there is no git."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    top = subprocess.run(["git", "-C", root, "rev-parse", "--show-prefix"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if listed.returncode == 0 and not top.stdout.strip():
        paths = listed.stdout.decode().splitlines()
    else:
        paths = []
        for folder, _, names in os.walk(root):
            paths += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(path for path in paths if os.path.isfile(os.path.join(root, path)))


def text_of(root, path):
    with open(os.path.join(root, path), "rb") as file:
        return file.read().decode("utf-8", errors="replace")


def without_comments(text):
    """C text with comments and strings blanked, lines kept."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text,
                  flags=re.S)


def includes(text):
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"\s*#\s*include\s*[<\"]([^>\"]+)[>\"]", line)
        if match:
            yield number, match.group(1)


def check_spdx(lint, path, text):
    lines = text.split("\n")
    # An interpreter line must be first; the licence then comes second.
    first = 1 if lines[0].startswith("#!") else 0
    if len(lines) <= first or "SPDX-License-Identifier: GPL-2.0-only" not in lines[first]:
        lint.say(path, first + 1, "no SPDX line", "each source file names its licence first")


def check_folders(lint, path):
    for part in path.split("/")[:-1]:
        if part.lower() in FORBIDDEN_FOLDERS:
            lint.say(path, 1, f"folder '{part}'", "a helper lives with the noun that it serves")
    stem = path.split("/")[-1].split(".")[0]
    if stem.lower() in FORBIDDEN_FOLDERS and path.endswith((".c", ".h", ".py")):
        lint.say(path, 1, f"file '{stem}'", "a helper lives with the noun that it serves")


def check_lines(lint, path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line.expandtabs(TAB)) > COLUMNS:
            lint.say(path, number, f"{len(line.expandtabs(TAB))} columns",
                     f"lines end at column {COLUMNS}")
        if line != line.rstrip():
            lint.say(path, number, "blanks at the end", "they make noise in differences")


def check_conflicts(lint, path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"(<{7}|>{7}) ", line):
            lint.say(path, number, "a conflict of a merge", "one side, or both, and no mark")


def check_links(lint, path, text):
    """Links of Markdown that lead into the tree must lead to something in it."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    prose = re.sub(r"^( {0,3})(```+|~~~+).*?(^ {0,3}\2[`~]*[ \t]*$|\Z)|(?<!`)(`+)(?!`)[^\n]*?"
                   r"(?<!`)\4(?!`)", blank, text, flags=re.M | re.S)
    links = r"\]\(\s*<?([^\s()<>]+)|^ {0,3}\[[^\]]+\]:\s*<?([^\s<>]+)"
    for match in re.finditer(links, prose, re.M):
        target = match.group(1) or match.group(2)
        if re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.I):
            continue
        number = prose.count("\n", 0, match.start()) + 1
        name, _, place = urllib.parse.unquote(target).partition("#")
        there = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        full = os.path.join(lint.root, there)
        if name.startswith("/") or there.split("/")[0] == ".." or not os.path.exists(full):
            lint.say(path, number, f"link to {target}", "nothing in the tree is there")
        elif re.fullmatch(r"L[0-9]+", place) and os.path.isfile(full) \
                and text_of(lint.root, there).count("\n") < int(place[1:]):
            lint.say(path, number, f"link to {target}", "the file has fewer lines")
        elif place and there.endswith(".md") and place not in anchors(text_of(lint.root, there)):
            lint.say(path, number, f"link to {target}", "the page has no such heading")


def anchors(text):
    """What the headings of a page are called in links to it."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ +(.*?)[ #]*$", text, re.M)}


def check_homes(lint, path, text):
    homes = (
        (r"^(gelf|libelf)\.h$|^libelf/", r"^harness/format/elf/elf_file\.c$",
         "libelf: harness/format/elf/"),
        (r"^elfutils/libdw|^libdw|^dwarf\.h$", r"^harness/model/unwind/cfi\.c$",
         "libdw: harness/model/unwind/cfi.c"),
        (r"^zstd.*\.h$", r"^harness/format/perfdata/zstd\.c$",
         "libzstd: harness/format/perfdata/zstd.c"),
        (r"^linux/perf_event\.h$",
         r"^harness/capture/|^harness/format/perfdata/|^harness/facts/",
         "linux/perf_event.h: harness/capture/, the perf.data files and facts/"),
    )
    for number, name in includes(text):
        for wanted, home, why in homes:
            if re.search(wanted, name) and not re.search(home, path) \
                    and not path.startswith("harness/selftest/"):
                lint.say(path, number, f"includes {name}", f"it has one home ({why})")


def check_direction(lint, path, text):
    core = path.startswith("harness/") and not path.startswith(
        ("harness/capture/", "harness/run/", "harness/case/", "harness/command/", "harness/facts/",
         "harness/profiler/", "harness/selftest/"))
    for number, name in includes(text):
        ours = name.startswith(("harness/", "workloads/", "validators/", "facts/"))
        # `jitproof workload` lives with what it starts, and is a command all the same.
        command = name == "harness/command/command.h" and re.match(r"workloads/cmd_\w+\.c$", path)
        if path.startswith("workloads/") and ours and not WORKLOADS_MAY.match(name) and not command:
            lint.say(path, number, f"includes {name}",
                     "a workload knows the emitter and the truth writer, nothing else of ours")
        if path.startswith("validators/") and VALIDATORS_MAY_NOT.match(name):
            lint.say(path, number, f"includes {name}",
                     "a validator knows replay and truth, and makes no system call")
        if path.startswith("harness/capture/") and name.startswith("validators/"):
            lint.say(path, number, f"includes {name}", "a capture never sees validators")
        if path.startswith("harness/capture/") and name.startswith("workloads/"):
            lint.say(path, number, f"includes {name}", "a capture never sees workloads")
        if path.startswith("harness/facts/") and name.startswith(("workloads/", "validators/")):
            lint.say(path, number, f"includes {name}",
                     "a fact acts and watches by itself, and nobody judges it")
        if name.startswith("harness/facts/") and not path.startswith(
                ("harness/facts/", "harness/command/", "harness/selftest/")):
            lint.say(path, number, f"includes {name}", "nobody names a fact: they register")
        if core and name.startswith("validators/"):
            lint.say(path, number, f"includes {name}", "the core names no validator: they register")
        if core and name.startswith("harness/capture/"):
            lint.say(path, number, f"includes {name}", "the core names no capture: they register")
        # `jitproof workload` carries out any registered workload: the interface, not one of them.
        if core and name.startswith("workloads/") and name != "workloads/emit/workload.h":
            lint.say(path, number, f"includes {name}", "the core names no workload: they register")


def check_calls(lint, path, text):
    code = without_comments(text)
    for number, line in enumerate(code.split("\n"), 1):
        sleeping = re.search(r"(?<![\w.>])(u?sleep|nanosleep|clock_nanosleep)\s*\(", line)
        if sleeping and path.startswith(("harness/", "workloads/", "facts/")):
            lint.say(path, number, f"calls {sleeping.group(1)}()",
                     "where one waits, a handshake or a deadline belongs")
        called = SYSTEM_CALLS.search(line)
        if called and path.startswith("validators/"):
            lint.say(path, number, f"calls {called.group(1)}()",
                     "a validator is a pure function of its evidence")


def check_macros(lint, path, text):
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        start = number
        if re.match(r"\s*#\s*define\b", lines[number]):
            while lines[number].endswith("\\") and number + 1 < len(lines):
                number += 1
            count = number - start + 1
            if count > MACRO_LINES:
                lint.say(path, start + 1, f"macro of {count} lines",
                         f"at most {MACRO_LINES}: write a function")
            body = without_comments("\n".join(lines[start:number + 1]))
            if re.search(r"\breturn\b", body):
                lint.say(path, start + 1, "macro with a return", "it hides the way out")
        number += 1


def check_registrations(lint, path, text):
    """A registration is const data of at most eight fields in the file of its function."""
    code = without_comments(text)
    for match in re.finditer(r"^\s*JP_REGISTER\((\w+),\s*(\w+)\)", code, re.M):
        number = code.count("\n", 0, match.start(2)) + 1
        kind, name = match.groups()
        data = re.search(r"static const struct jp_%s(?:_family)? %s\s*=\s*\{(.*?)\};"
                         % (kind, name), code, re.S)
        if not data:
            lint.say(path, number, f"registers {name}",
                     f"expected 'static const struct jp_{kind} {name} = {{' in this file")
        elif len(re.findall(r"^\s*\.\w+\s*=", data.group(1), re.M)) > 8:
            lint.say(path, number, f"{name} has more than eight fields",
                     "a registration is short data")


def check_format(lint, paths):
    tool = shutil.which("clang-format")
    if not tool:
        print("# SKIP clang-format is not installed: the C style was not checked")
        return
    for path in paths:
        done = subprocess.run([tool, "--dry-run", "-Werror", path], cwd=lint.root, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode == 0:
            continue
        place = re.search(r":(\d+):\d+: ", done.stderr)
        lint.say(path, place.group(1) if place else 1, "not as clang-format has it",
                 f"run clang-format -i {path}")


def check(root, formatted=True):
    lint = Lint(root)
    c_files = []
    for path in files(root):
        check_folders(lint, path)
        # What tests were recorded from is data, whatever its name ends in.
        if "/golden/" in path or "/fixtures/" in path or "/corpus/" in path:
            continue
        c_file = path.endswith((".c", ".h")) and path.startswith(tuple(f + "/" for f in C_FOLDERS))
        script = path.endswith((".py", ".sh")) or path in ("Makefile", "ci/setup", ".ci/run")
        text = text_of(root, path)
        check_conflicts(lint, path, text)
        if path.endswith(".md"):
            check_links(lint, path, text)
        if not c_file and not script:
            continue
        check_spdx(lint, path, text)
        check_lines(lint, path, text)
        if not c_file:
            continue
        c_files.append(path)
        check_homes(lint, path, text)
        check_direction(lint, path, text)
        check_calls(lint, path, text)
        check_macros(lint, path, text)
        check_registrations(lint, path, text)
    if not c_files:
        lint.say(".", 1, "no C file was found", "this is not the project's root")
    if formatted:
        check_format(lint, c_files)
    return lint.found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-format", action="store_true", help="leave clang-format out")
    parser.add_argument("root", nargs="?",
                        default=os.path.abspath(__file__ + "/../../.."))
    arguments = parser.parse_args()
    found = check(arguments.root, not arguments.no_format)
    for line in found:
        print(line)
    print(f"lint: {len(found)} found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
