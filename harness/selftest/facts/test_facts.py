# SPDX-License-Identifier: GPL-2.0-only
"""Tests `jitproof facts`: its output is well-formed and equal in each run; a failing probe affects
only its own fact."""

import json
import re
import subprocess
import time
from typing import Any
import unittest

from harness.selftest.support.scratch import BINARY, JITPROOF


def start_facts(*arguments: str, binary: str = JITPROOF) -> subprocess.Popen[str]:
    return subprocess.Popen([binary, "facts", *arguments], stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish_facts(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Returns (status, standard output, standard error)."""
    output, errors = process.communicate(timeout=240)
    return process.returncode, output, errors


def read_facts(process: subprocess.Popen[str]) -> dict[str, dict[str, Any]]:
    """Returns the printed facts by name, in order."""
    status, output, errors = finish_facts(process)
    if status or errors:
        raise AssertionError("status %d: %s" % (status, errors))
    facts = [json.loads(line) for line in output.splitlines()]
    by_name = {fact["fact"]: fact for fact in facts}
    if len(by_name) != len(facts):
        raise AssertionError("a fact is printed twice")
    return by_name


class Facts(unittest.TestCase):
    first: dict[str, dict[str, Any]]
    more: list[dict[str, dict[str, Any]]]

    @classmethod
    def setUpClass(cls) -> None:
        cls.first = read_facts(start_facts("--json"))
        # Two runs at the same time, as load must not alter facts.
        pair = [start_facts("--json"), start_facts("--json")]
        cls.more = [read_facts(process) for process in pair]

    def test_number_of_facts(self) -> None:
        self.assertGreaterEqual(len(self.first), 40)

    def test_well_formed(self) -> None:
        for name, fact in self.first.items():
            with self.subTest(name):
                self.assertRegex(name, r"^[a-z0-9_]+(\.[a-z0-9_]+)+$")
                self.assertRegex(fact["about"], r"^[A-Za-z0-9/].*\.$")
                if fact["value"] is None:
                    self.assertEqual(sorted(fact), ["about", "fact", "value", "why"])
                    self.assertTrue(fact["why"])
                else:
                    self.assertEqual(sorted(fact), ["about", "fact", "value"])
                    values = fact["value"]
                    for value in values if isinstance(values, list) else [values]:
                        self.assertIsInstance(value, (str, int))

    def test_sorted(self) -> None:
        self.assertEqual(list(self.first), sorted(self.first))

    def test_same_in_each_run(self) -> None:
        for other_run in self.more:
            self.assertEqual(self.first, other_run)

    def test_no_addresses(self) -> None:
        for name, fact in self.first.items():
            with self.subTest(name):
                self.assertNotRegex(json.dumps(fact["value"]), r"0x[0-9a-f]{7}|[0-9a-f]{9}")

    def test_lines(self) -> None:
        status, output, _ = finish_facts(start_facts("merge.*"))
        self.assertEqual(status, 0)
        names = [line.split()[0] for line in output.splitlines()]
        self.assertEqual(names, [name for name in self.first if name.startswith("merge.")])

    def test_explanations(self) -> None:
        status, output, _ = finish_facts(start_facts("-v", "attr.size"))
        self.assertEqual(status, 0)
        self.assertEqual(output.split()[2:], self.first["attr.size"]["about"].split())

    def test_globs(self) -> None:
        facts = read_facts(start_facts("--json", "attr.size", "chain.leaf.*"))
        self.assertIn("attr.size", facts)
        self.assertTrue(all(re.match(r"attr\.size$|chain\.leaf\.", name) for name in facts))

    def test_wrong_command_lines(self) -> None:
        for arguments in (["no-such-fact"], ["--limit=0"], ["--limit=x"], ["--limit="], ["--x"]):
            status, output, errors = finish_facts(start_facts(*arguments))
            self.assertEqual((status, output), (2, ""), arguments)
            self.assertTrue(errors)


class Bad(unittest.TestCase):
    """A failing probe gives a reason instead of a value; the next probes run nevertheless."""

    facts: dict[str, dict[str, Any]]
    seconds: float

    @classmethod
    def setUpClass(cls) -> None:
        began = time.monotonic()
        cls.facts = read_facts(start_facts("--json", "--limit=1000", "bad.*", binary=BINARY))
        cls.seconds = time.monotonic() - began

    def why_missing(self, name: str) -> str:
        fact = self.facts[name]
        self.assertIsNone(fact["value"])
        return fact["why"]

    def test_why_a_fact_is_missing(self) -> None:
        for name, reason in (("crash", "a complete answer: SIGSEGV killed the probe"),
                          ("leave", "a complete answer: the probe exited with 3"),
                          ("lack", "one thing, another 2"),
                          ("nothing", "a value: the probe gave 0"),
                          ("flood", "space for the value")):
            self.assertEqual(self.why_missing("bad." + name), reason)

    def test_probe_that_hangs(self) -> None:
        self.assertEqual(self.why_missing("bad.hang"), "an end of the probe within 1000 ms")
        # The probe's child must not keep the pipe open.
        self.assertLess(self.seconds, 30)

    def test_kinds_of_answers(self) -> None:
        self.assertEqual(self.facts["bad.kinds"]["value"], ["a \"text\"\n", 2 ** 64 - 1])
