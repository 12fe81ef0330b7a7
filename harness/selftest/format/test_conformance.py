# SPDX-License-Identifier: GPL-2.0-only
"""Tests the conformance set: jitproof's readers read each file as its JSON describes."""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
from typing import Any, Callable
import unittest

from ci.base import files, process
from harness.selftest.support.scratch import FIXTURES, PROGRAMS

SET = os.path.join(FIXTURES, "conformance")
READER = os.path.join(PROGRAMS[-1], "format", "test_conformance")
SUFFIX = {"procmaps": ".maps", "perf_map": ".map", "jitdump": ".dump"}
TYPES = ["load", "move", "debug_info", "close", "unwinding_info"]


def run_reader(kind: str, path: str, *addresses: str) -> Any:
    result = process.run([READER, kind, path, *addresses], timeout=240)
    if result.returncode or result.stderr:
        raise AssertionError(f"{path}: status {result.returncode}: {result.stderr}")
    return json.loads(result.stdout)


def convert_expected(value: Any) -> Any:
    """Converts an expectation to our readers' form: numbers, and names as hex digits."""
    if isinstance(value, list):
        return [convert_expected(one) for one in value]
    if isinstance(value, str):
        return int(value, 16)
    if not isinstance(value, dict):
        return value
    result = {}
    for key, one in value.items():
        if key in ("name", "file"):
            result[key] = one if one is None else one.encode().hex()
        elif key.endswith("_hex"):
            result[key[:-len("_hex")]] = one
        elif key == "type":
            result[key] = TYPES.index(one)
        else:
            result[key] = convert_expected(one)
    return result


class Readers(unittest.TestCase):
    maxDiff = None

    def compare_files(self, kind: str, compare: Callable[..., Any]) -> None:
        for path in sorted(glob.glob(os.path.join(SET, kind, "*" + SUFFIX[kind]))):
            with self.subTest(path=os.path.relpath(path, SET)):
                compare(path, json.loads(files.read(path[:-len(SUFFIX[kind])] + ".json")))

    def test_procmaps(self) -> None:
        self.compare_files("procmaps", self.compare_procmaps)

    def compare_procmaps(self, path: str, expected: dict[str, Any]) -> None:
        wanted = convert_expected([{key: value for key, value in mapping.items()
                                    if key != "permissions"}
                                   for mapping in expected["mappings"]])
        for made, mapping in zip(wanted, expected["mappings"]):
            flags = mapping["permissions"]
            made["prot"] = sum(1 << i for i, letter in enumerate("rwx") if flags[i] == letter)
            made["shared"] = flags[3] == "s"
        found = run_reader("procmaps", path)
        if not expected["error"]:
            self.assertIsNone(found["error"])
            self.assertEqual(found["mappings"], wanted)
            return
        line = expected["error"]["line"]
        self.assertRegex(found["error"], fr"\bline {line}\b")
        self.assertEqual(found["mappings"], [])
        # The lines before the bad line are valid.
        with open(path, "rb") as file, tempfile.NamedTemporaryFile() as good:
            good.write(b"".join(file.readlines()[:line - 1]))
            good.flush()
            found = run_reader("procmaps", good.name)
        self.assertEqual(found, {"mappings": wanted, "error": None})

    def test_perf_map(self) -> None:
        self.compare_files("perf_map", self.compare_perf_map)

    def compare_perf_map(self, path: str, expected: dict[str, Any]) -> None:
        lookups = expected["lookups"]
        result = run_reader("perf_map", path, *(lookup["address"] for lookup in lookups))
        self.assertIsNone(result["error"])
        self.assertEqual([{"address": one["address"], "name": name}
                          for one, name in zip(lookups, result["names"])],
                         [{**one, "name": convert_expected(one)["name"]} if "name" in one else
                          {"address": one["address"], "name": one["name_hex"]} for one in lookups])
        self.assertEqual(result["bad_lines"],
                         len(expected["passed_over"]) + len(expected["no_number"]))
        with open(path, "rb") as file:
            lines = file.readlines()
        self.assertEqual(sorted(expected["passed_over"] + [one["line"] for one in
                                                           expected["lines"]]),
                         list(range(1, len(lines) + 1)))
        for number, line in enumerate(lines, 1):
            self.compare_line(line, number in expected["no_number"],
                              [convert_expected(one) for one in expected["lines"]
                               if one["line"] == number])

    def compare_line(self, line: bytes, no_number: bool,
                     entries: list[dict[str, Any]]) -> None:
        """Compares the entry that a reader finds in a map of @line alone."""
        with tempfile.NamedTemporaryFile() as map_:
            map_.write(line)
            map_.flush()
            if not entries:
                result = run_reader("perf_map", map_.name)
                self.assertEqual(result["bad_lines"], 1)
                return
            start, size, name = (entries[0][key] for key in ("start", "size", "name"))
            end = (start + size) % 2**64
            ask = {start: name if end >= start else None}
            if size and end >= start:
                ask.update({end - 1: name, end: None})
            if start:
                ask[start - 1] = None
            result = run_reader("perf_map", map_.name, *map(hex, ask))
            self.assertEqual(dict(zip(ask, result["names"])), ask)
            self.assertEqual(result["bad_lines"], int(no_number))

    def test_jitdump(self) -> None:
        self.compare_files("jitdump", self.compare_jitdump)

    def compare_jitdump(self, path: str, expected: dict[str, Any]) -> None:
        result = run_reader("jitdump", path)
        self.assertEqual(result.get("header"), convert_expected(expected["header"]))
        for record in result["records"]:
            if TYPES[record["type"]] not in ("load", "move"):
                self.assertEqual((record.pop("pid"), record.pop("tid")), (0, 0))
            if "entries" in record:
                self.assertEqual(record.pop("count"), len(record["entries"]))
        self.assertEqual(result["records"], convert_expected(expected["records"]))
        self.assertEqual(result["unknown"], len(expected["passed_over"]))
        if not expected["error"]:
            self.assertIsNone(result["error"])
            return
        self.assertEqual(re.findall(r": offset (\d+): ", result["error"] or ""),
                         [str(expected["error"]["offset"])], result["error"])


class Set(unittest.TestCase):
    def test_as_made(self) -> None:
        """Neither files nor expectations were changed by hand, and no file is left over."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", os.path.join(SET, "make.py"), folder],
                           check=True, timeout=240)
            for kind in SUFFIX:
                result = sorted(os.listdir(os.path.join(folder, kind)))
                self.assertEqual(sorted(os.listdir(os.path.join(SET, kind))), result)
                for name in result:
                    with self.subTest(name), \
                            open(os.path.join(folder, kind, name), "rb") as fresh, \
                            open(os.path.join(SET, kind, name), "rb") as kept:
                        self.assertEqual(fresh.read(), kept.read())
