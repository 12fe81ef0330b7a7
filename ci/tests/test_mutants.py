# SPDX-License-Identifier: GPL-2.0-only
"""Tests of make mutants: the changed lines and operators, and the list of survivors."""

import os
import signal
import sys
import unittest
import unittest.mock

from ci.base import files, process
from ci.base.status import Unusable
from ci.mutants import choice, operators, oracles, survivors, table
from ci.mutants.scripts import Script
from ci.mutants.traced import Traced
from harness.selftest.support.scratch import JITPROOF, ROOT, Folder

C = """/* a < b */
static int less(int a, int b)
{
	int both;

	if (a < b && b != 0)
		return a + 1;
	print("a < b", a);
	return 0;
}
"""


class Operators(unittest.TestCase):
    def compare_change(self, number: int) -> set[str]:
        return {mutant.new.strip() for mutant in operators.make_file_mutants("a.c",
                                                                       C) if mutant.line == number}

    def test_changes_of_a_condition(self) -> None:
        self.assertEqual(self.compare_change(5), {
            "if (a <= b && b != 0)", "if (a >= b && b != 0)", "if (a < b && b == 0)",
            "if (a < b || b != 0)", "if (!(a < b && b != 0))", "if (a < b && b != 1)"})

    def find_new(self, line: str) -> dict[str, set[str]]:
        by_operator: dict[str, set[str]] = {}
        for operator, new in operators.make_line_mutants("\t" + line):
            by_operator.setdefault(operator, set()).add(new.strip())
        return by_operator

    def test_classes_of_defects(self) -> None:
        changes: tuple[tuple[str, str, str], ...] = (
                ("continue;", "dropped", ";"), ("break;", "dropped", ";"),
                ("put(a, b, c);", "swapped", "put(b, a, c);"),
                ("put(a, b, c);", "swapped", "put(a, c, b);"),
                ("if (ret)", "lost-error", "if (0)"),
                ("failed = read(one);", "lost-error", "read(one);"),
                ("return -EINVAL;", "lost-error", "return 0;"),
                ("uint64_t end;", "width", "uint32_t end;"),
                ("\t   uint32_t pid)", "width", "uint16_t pid)"),
                ("memcpy(to, from, size);", "bound", "memcpy(to, from, size - 1);"),
                ("while (a < b)", "bound", "while (a < 1 + b)"))
        for line, operator, expected in changes:
            self.assertIn(expected, self.find_new(line).get(operator, ()), line)
        self.assertNotIn("width", self.find_new("for (uint64_t i = 0; i < n; i++)"))

    def test_changes_of_a_return(self) -> None:
        self.assertEqual(self.compare_change(6), {"return a - 1;", "return a;", "return 0;"})
        self.assertEqual(self.compare_change(8), {"return 1;"})

    def test_call_is_dropped_and_strings_stay(self) -> None:
        self.assertEqual(self.compare_change(7), {";"})

    def test_comments_and_declarations_stay(self) -> None:
        self.assertEqual({mutant.line for mutant in operators.make_file_mutants("a.c", C)},
                         {5, 6, 7, 8})
        self.assertEqual({mutant.function for mutant in operators.make_file_mutants("a.c", C)},
                         {"less"})


class Choice(unittest.TestCase):
    def test_choice_is_stable_and_spread_over_operators(self) -> None:
        mutants = list(operators.make_file_mutants("a.c", C))
        chosen = choice.choose(mutants, 4)
        self.assertEqual(len({mutant.line for mutant in chosen}), 4)
        self.assertEqual(len({mutant.operator for mutant in chosen}), 4)
        moved = list(operators.make_file_mutants("a.c", "/* one line more */\n" + C))
        self.assertEqual({mutant.key() for mutant in chosen},
                         {mutant.key() for mutant in choice.choose(moved[::-1], 4)})

    def test_all_where_there_are_few(self) -> None:
        self.assertEqual(len(choice.choose(list(operators.make_file_mutants("a.c", C)), 99)), 4)


TRACED = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	if (argc > 1)
		puts("one");
	else
		puts("none");
	if (argc > 2)
		abort();
	return 0;
}
"""


class Blocks(Folder):
    """Tests that tracing finds the lines that a run reached, even if it aborted."""

    def test_traced_lines(self) -> None:
        folder = os.path.dirname(os.path.abspath(choice.__file__))
        source, binary = self.write(TRACED, "harness", "a.c"), self.place("a")
        trace = self.place("trace.o")
        for command in (["-O1", "-c", "-o", trace, os.path.join(folder, "trace.c")],
                        ["-O0", "-g", "-fsanitize-coverage=trace-pc", "-o",
                         binary, trace, source]):
            process.run_or_raise(["gcc", *command])
        blocks = Traced(self.home, self.home).map_blocks(binary)
        cases: tuple[tuple[list[str], int], ...] = (([], 9), (["1"], 7), (["1", "2"], 11))
        for arguments, line in cases:
            bits = self.place("bits%d" % len(arguments))
            process.run([binary, *arguments], env={"MUTANTS_TRACE": bits})
            data = files.read_bytes(bits)
            lines_run = {number for (_, number), places in blocks.items()
                   if any(data[bit_number // 8] >> bit_number % 8 & 1 for bit_number in places)}
            self.assertEqual(lines_run & {7, 9, 11}, {line} | ({7} if arguments else set()))


class Failing(oracles.Oracle):
    def ask(self, binary: str, scratch: str, timeout: float) -> str:
        return "1 6"


class Bound(unittest.TestCase):
    """A program that waits for a busy CPU must not count as hung."""

    def test_limit_of_cpu_time(self) -> None:
        self.assertEqual(oracles.run(["sleep", "1.5"], 1, ROOT)[0], 0)
        with unittest.mock.patch.object(oracles, "WAIT", 600):
            self.assertEqual(oracles.run([sys.executable, "-c", "while True: pass"], 1, ROOT)[0],
                             -signal.SIGKILL)

    def test_unit_test_that_fails_without_mutant(self) -> None:
        unit = Failing("test_a")
        unit.expected = oracles.Done("0 7", 0)
        with self.assertRaises(Unusable):
            unit.find_killer("mutant", "")


class Asked(Folder):
    def test_every_program_is_the_mutant(self) -> None:
        """The program that test_hostile.py runs must be the mutant, too."""
        script = Script(ROOT, "hostile/test_hostile.py")
        script.methods = ["RunDirectory.test_outcome_of_an_unjudged_run"]
        self.assertEqual(script.ask(JITPROOF, "", 0), "0")
        self.assertNotEqual(script.ask("/bin/false", "", 0), "0")


class Killed(Folder):
    def test_there_and_back(self) -> None:
        mutant = next(iter(operators.make_file_mutants("a.c", C)))
        progress = table.Progress(self.home)
        progress.add(mutant, {"state": "killed", "by": "run's files"})
        self.write(table.render_tried([mutant], table.Progress(self.home), {}),
                   *table.TRIED.split("/"))
        self.assertEqual(table.read_killers(self.home), {choice.digest(mutant): "run's files"})
        progress.add(mutant, {"state": "survived", "by": ""})
        self.write(table.render_tried([mutant], progress, {}), *table.TRIED.split("/"))
        self.assertEqual(table.read_killers(self.home), {choice.digest(mutant): table.OPEN})


class Survivors(Folder):
    def test_stale_survivors(self) -> None:
        mutant = next(iter(operators.make_file_mutants("a.c", C)))
        stale_key = (*mutant.key()[:2], "no such line", ";")
        self.assertEqual(survivors.find_stale([mutant], [mutant.key(), stale_key]), [stale_key])

    def test_committed_list_is_not_stale(self) -> None:
        known = survivors.read(ROOT)
        self.assertFalse(survivors.find_stale(choice.list_mutants(ROOT), known))
        self.assertLessEqual(len(known), survivors.MAX_SURVIVORS)

    def read(self, text: str) -> dict[survivors.Key, str]:  # type: ignore[override]
        self.write(text, "results", "mutants", "survivors")
        return survivors.read(self.home)
