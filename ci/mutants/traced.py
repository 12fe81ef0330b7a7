# SPDX-License-Identifier: GPL-2.0-only
"""Finds out once which oracle runs which line, so that only these oracles are used for a mutant
there."""

import bisect
import itertools
import json
import os
import re

from ci.base import files, process
from ci.mutants.build import Build

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = "-O0 -g -w -fsanitize-coverage=trace-pc"
CALL = re.compile(r"^ +([0-9a-f]+):\s.*\bcall\b.*<__sanitizer_cov_trace_pc>")
ROW = re.compile(r"^(\S+\.[ch])\s+(\d+)\s+0x([0-9a-f]+)")
CALL_SIZE = 5  # bytes; the trace records the address behind the call
Blocks = dict[tuple[str, int], list[int]]


class Traced:
    """A build that traces its blocks. For each oracle, files with the oracle's name hold its
    trace and its duration."""

    def __init__(self, tree: str, folder: str) -> None:
        self.tree, self.folder = tree, os.path.join(folder, "traced")
        self.notes, self.binary = os.path.join(self.folder, "notes"), ""
        self.of: Blocks = {}
        self.bits: dict[str, bytes] = {}
        self.seconds: dict[str, float] = {}
        self.texts: dict[str, list[str]] = {}

    def path(self, question: str) -> str:
        return os.path.join(self.notes, question.replace("/", "%"))

    def make(self) -> None:
        """Builds the program. Each object has the same place as in every unit test."""
        os.makedirs(self.notes, exist_ok=True)
        trace = os.path.join(self.folder, "trace.o")
        process.run_or_raise(["gcc", "-O1", "-c", "-o", trace, os.path.join(HERE, "trace.c")])
        build = Build(self.tree, os.path.join(self.folder, "build"),
                      ["WERROR=", "CFLAGS=" + FLAGS, "LDFLAGS=" + trace])
        build.linker.remove(trace)
        main = build.find_object("harness/command/main.c")
        build.objects = [trace, *(path for path in build.objects if path != main), main]
        self.binary = build.link("", "", self.folder)
        path = os.path.join(self.folder, "blocks")
        if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(build.binary):
            files.write(path, json.dumps([(*key, place) for key, place in
                                          self.map_blocks(self.binary).items()]))
        self.of = {(file, line): place for file, line, place in json.loads(files.read(path))}

    def load(self, question: str) -> None:
        self.bits[question] = files.read_bytes(self.path(question))
        self.seconds[question] = float(files.read(self.path(question) + ".seconds"))

    def load_script(self, script: str) -> None:
        """Loads the trace of each method that passed, together with the preparations of its
        class."""
        folder = self.path(script)
        common = os.path.join(folder, "before")
        old_bytes = files.read_bytes(common) if os.path.exists(common) else b""
        for name in sorted(os.listdir(folder)):
            method, dot, suffix = name.rpartition(".")
            if dot and suffix == "seconds" and os.path.exists(os.path.join(folder, method)):
                key = script + " " + method
                own_bits = files.read_bytes(os.path.join(folder, method))
                self.bits[key] = bytes(a | b for a, b in itertools.zip_longest(
                    own_bits, old_bytes, fillvalue=0)) if old_bytes else own_bits
                self.seconds[key] = float(files.read(os.path.join(folder, name)))

    def find_running(self, file: str, line: int) -> list[tuple[float, str]]:
        """Returns (seconds, "ORACLE" or "SCRIPT METHOD") of each oracle that runs the line, fastest
        first."""
        return sorted((seconds, key) for key, seconds in self.seconds.items()
                      if self.runs_line(key, file, line))

    def runs_line(self, question: str, file: str, line: int) -> bool:
        """Returns whether an oracle runs @line, counted from 1."""
        bits = self.bits[question]
        return any(place // 8 < len(bits) and bits[place // 8] >> place % 8 & 1
                   for place in self.find_places(file, line))

    def find_places(self, file: str, line: int) -> list[int]:
        """Returns the blocks of the statement that contains the line; for a table, all blocks of
        the file."""
        if file not in self.texts:
            self.texts[file] = files.read(os.path.join(self.tree, file)).split("\n")
        for number in range(line, 0, -1):
            if (file, number) in self.of:
                return self.of[file, number]
            if self.texts[file][number - 1][:1] not in ("\t", "{", ""):
                break
        return [place for (name, _), places in self.of.items() if name == file for place in places]

    def map_blocks(self, binary: str) -> Blocks:
        """Returns the blocks of each line: those that begin in it, or the block that continues in
        it."""
        symbols = process.run_or_raise(["nm", binary])
        start = next(int(line.split()[0], 16) for line in symbols.splitlines()
                     if line.endswith(" __sanitizer_cov_trace_pc"))
        code = process.run_or_raise(["objdump", "-d", "--no-show-raw-insn", binary]).splitlines()
        calls = [int(match.group(1), 16) for match in map(CALL.match, code) if match]
        rows = sorted({(int(match.group(3), 16), match.group(1), int(match.group(2)))
                       for match in map(ROW.match, process.run_or_raise(
                           ["objdump", "--dwarf=decodedline", "-WL", binary]).splitlines())
                       if match})
        blocks: Blocks = {}
        paths = self.map_names()
        for i, (addr, name, line) in enumerate(rows):
            end = rows[i + 1][0] if i + 1 < len(rows) else addr + 1
            low, high = bisect.bisect_left(calls, addr), bisect.bisect_left(calls, end)
            calls_of_line = calls[low:high] or calls[max(low - 1, 0):low]
            for file in paths.get(os.path.basename(name), []):
                blocks.setdefault((file, line), []).extend(call + CALL_SIZE - start for call
                                                           in calls_of_line)
        return blocks

    def map_names(self) -> dict[str, list[str]]:
        """Returns the paths of each file name. Files of the same name share the blocks of their
        lines, so a few too many oracles are used."""
        paths_of: dict[str, list[str]] = {}
        for folder in ("harness", "validators"):
            for top, _, names in os.walk(os.path.join(self.tree, folder)):
                for name in names:
                    if name.endswith(".c"):
                        path = os.path.relpath(os.path.join(top, name), self.tree)
                        paths_of.setdefault(name, []).append(path)
        return paths_of
