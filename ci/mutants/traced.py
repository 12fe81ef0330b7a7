# SPDX-License-Identifier: GPL-2.0-only
"""Which Python test runs which line, found out once: only these are asked about a mutant there."""

from __future__ import annotations

import bisect
import json
import os
import re
import shutil
import sys

from ci.base import files, process

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = "-O0 -g -no-pie -fno-pie -w"
CALL = re.compile(r"^ +([0-9a-f]+):\s.*\bcall\b.*<__sanitizer_cov_trace_pc>")
ROW = re.compile(r"^(\S+\.[ch])\s+(\d+)\s+0x([0-9a-f]+)")
Tests = dict[str, list[str]]


class Traced:
    """Of each file's line the tests that run it: SCRIPT CLASS.METHOD, fastest script first."""

    def __init__(self, tree: str, folder: str) -> None:
        self.tree, self.folder = tree, os.path.join(folder, "traced")
        self.path = os.path.join(self.folder, "tests.json")
        self.groups: list[list[str]] = []  # of tests; lines share them
        self.of: dict[str, dict[str, int]] = {}
        if os.path.exists(self.path):
            self.groups, self.of = json.loads(files.read(self.path))

    def tests(self, file: str, line: int) -> Tests:
        """@line counts from 1."""
        found: Tests = {}
        group = self.of.get(file, {}).get(str(line))
        for name in self.groups[group] if group is not None else ():
            script, test = name.split()
            found.setdefault(script, []).append(test)
        return found

    def learn(self, scripts: list[str]) -> None:
        binary = self.build()
        blocks = self.blocks(binary)
        ran: dict[tuple[str, int], list[str]] = {}
        for script in scripts:
            traces = os.path.join(self.folder, script)
            shutil.rmtree(traces, ignore_errors=True)
            os.makedirs(traces)
            process.run([sys.executable, os.path.join(HERE, "trace_script.py"),
                         os.path.join(self.tree, "harness/selftest", script), traces],
                        cwd=self.tree, env={**os.environ, "JITPROOF": binary})
            for name in sorted(os.listdir(traces)):
                bits = files.read_bytes(os.path.join(traces, name))
                for (file, line), places in blocks.items():
                    if any(at // 8 < len(bits) and bits[at // 8] >> at % 8 & 1 for at in places):
                        ran.setdefault((file, line), []).append("%s %s" % (script, name))
        numbers: dict[tuple[str, ...], int] = {}
        for (file, line), tests in ran.items():
            number = numbers.setdefault(tuple(tests), len(numbers))
            self.of.setdefault(file, {})[str(line)] = number
        self.groups = [list(tests) for tests in numbers]
        files.write(self.path, json.dumps([self.groups, self.of]))

    def build(self) -> str:
        out = os.path.join(self.folder, "build")
        trace = os.path.join(out, "trace.o")
        os.makedirs(out, exist_ok=True)
        process.must(["gcc", "-O1", "-c", "-o", trace, os.path.join(HERE, "trace.c")])
        done = process.run(
            ["make", "-j2", "O=" + out, "WERROR=", "CFLAGS=%s -fsanitize-coverage=trace-pc" % FLAGS,
             "LDFLAGS=-no-pie " + trace, os.path.join(out, "jitproof"),
             os.path.join(out, "profiler")], cwd=self.tree)
        if done.returncode:
            raise RuntimeError("make: " + done.stderr[-300:])
        return os.path.join(out, "jitproof")

    def blocks(self, binary: str) -> dict[tuple[str, int], list[int]]:
        """The blocks of each line: those that begin in it, or the one that it goes on with."""
        symbols = process.must(["nm", binary])
        start = next(int(line.split()[0], 16) for line in symbols.splitlines()
                     if line.endswith(" __executable_start"))
        code = process.must(["objdump", "-d", "--no-show-raw-insn", binary]).splitlines()
        calls = [int(match.group(1), 16) for match in map(CALL.match, code) if match]
        # What is noted is the address behind the call, five bytes long.
        rows = sorted({(int(match.group(3), 16), match.group(1), int(match.group(2)))
                       for match in map(ROW.match, process.must(
                           ["objdump", "--dwarf=decodedline", "-WL", binary]).splitlines())
                       if match})
        found: dict[tuple[str, int], list[int]] = {}
        names = self.names()
        for i, (addr, name, line) in enumerate(rows):
            end = rows[i + 1][0] if i + 1 < len(rows) else addr + 1
            low, high = bisect.bisect_left(calls, addr), bisect.bisect_left(calls, end)
            mine = calls[low:high] or calls[max(low - 1, 0):low]
            for file in names.get(os.path.basename(name), []):
                found.setdefault((file, line), []).extend(at + 5 - start for at in mine)
        return found

    def names(self) -> dict[str, list[str]]:
        """Files of one name share their lines' tests: a few too many are asked."""
        found: dict[str, list[str]] = {}
        for folder in ("harness", "validators"):
            for top, _, names in os.walk(os.path.join(self.tree, folder)):
                for name in names:
                    if name.endswith(".c"):
                        path = os.path.relpath(os.path.join(top, name), self.tree)
                        found.setdefault(name, []).append(path)
        return found
