# SPDX-License-Identifier: GPL-2.0-only
"""Runs of the matrix that no kernel made: for the tests of ci/matrix."""

import argparse
import contextlib
import io
import json
import os
import subprocess
from typing import Any, Sequence

from ci.matrix.results import cmd_compare, cmd_report, cmd_store, cmd_tools
from harness.selftest.support.scratch import Folder

DEFINITION = "case one check : anon_exec : attach --synth=exec : samples=100\n\tbroken.chain =0\n"


def run_matrix(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `ci/matrix ARGUMENTS` in this process."""
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers()
    for command in (cmd_compare, cmd_report, cmd_store, cmd_tools):
        command.add(subparsers)
    options = parser.parse_args(arguments)
    with contextlib.redirect_stdout(io.StringIO()) as out, \
            contextlib.redirect_stderr(io.StringIO()) as errors:
        status = options.run(options)
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), errors.getvalue())


def make_case(name: str, outcome: str = "PASS", why: str = "", k: int = 0, n: int = 1000,
              **more: Any) -> dict[str, Any]:
    """Returns a line of results.jsonl."""
    return {"case": name, "study": name.split("/")[0], "control": False, "outcome": outcome,
            "why": why, "seconds": 1.5,
            "metrics": {"broken.chain": {"k": k, "n": n, "lo": 0, "hi": 0.1, "expect": [0, 0],
                                         "unit": "count"},
                        "judged.chain": {"k": n}, "distinct": {"k": 40}},
            "verdicts": {"chain": {"exact": n - k}}, "exceptions": [],
            "facts": {"policy": "exec"}, "lost": {"sideband": 0, "samples": 0}, **more}


FACTS: list[dict[str, Any]] = [
    {"fact": "merge.anon", "value": 2, "about": "pages of a record"},
    {"fact": "name.heap", "value": "//anon", "about": "of the heap"},
    {"fact": "sizes", "value": [112, 120], "about": "accepted"}]
CELL: dict[str, Any] = {
    "kernel": "6.1", "package": "linux-image-6.1 6.1.190-1", "package_sha256": "cd" * 32,
    "version": "6.1.190-1", "sha256": "ab" * 32, "qemu": "10.0.2", "accelerator": "tcg", "seed": 1,
    "command": "ci/matrix run --kernel 6.1", "suite": "short", "outcome": "DONE",
    "groups": [{"name": "one", "smp": 1, "outcome": "DONE", "reason": ""}]}


class Made(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.store_dir = self.place("results", "matrix")

    def run_dir(self, name: str, cases: list[dict[str, Any]] | None = None,
                facts: list[dict[str, Any]] | None = None, label: str = "6.1",
                definition: str = DEFINITION, cpus: int = 1, **cell: Any) -> str:
        if cell.get("kind") == "tool":
            cell["label"] = label
        cases = [make_case("a/one"), make_case("a/two")] if cases is None else cases
        lines = {"results.jsonl": cases, "facts.jsonl": FACTS if facts is None else facts}
        for file, records in lines.items():
            self.write("".join(json.dumps(record) + "\n" for record in records), name, label, file)
        self.write("KTAP version 1\n1..%d\n" % len(cases), name, label, "ktap.txt")
        self.write(json.dumps({**CELL, "kernel": label, "version": label + ".190-1", **cell}),
                   name, label, "cell.json")
        for case in cases:
            path_parts = (name, label, "cases", case["case"])
            self.write(definition, *path_parts, "case")
            self.write(json.dumps({"cpus": cpus}), *path_parts, "env.json")
        return self.place(name)

    def store(self, *dirs: str, to: str | None = None) -> None:
        result = run_matrix("store", "--to", to or self.store_dir, *dirs)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def expect_refusal(self, *dirs: str, says: str) -> None:
        result = run_matrix("store", "--to", self.store_dir, *dirs)
        self.assertEqual(result.returncode, 99, result.stdout)
        self.assertRegex(result.stderr, says)
        self.assertFalse(os.path.exists(self.store_dir) and os.listdir(self.store_dir))

    def store_cell(self, label: str = "6.1", folder: str | None = None) -> str:
        return os.path.join(folder or self.store_dir, label + ".jsonl")

    def compare(self, first: str, other: str, status: int, *says: str,
                arguments: Sequence[str] = ()) -> str:
        result = run_matrix("compare", first, other, "--folder", self.store_dir, *arguments)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        for text in says:
            self.assertRegex(result.stdout, text)
        return result.stdout
