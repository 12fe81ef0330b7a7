#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make mutants: which lines it changes and how, and the list of what nobody can notice."""

import os
import sys
import unittest

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base.status import Malformed
from ci.mutants import operators, survivors
from harness.selftest.scratch import Folder

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
    def changed(self, number: int) -> set[str]:
        return {one.new.strip() for one in operators.of_file("a.c", C) if one.line == number}

    def test_condition(self) -> None:
        self.assertEqual(self.changed(5), {
            "if (a <= b && b != 0)", "if (a >= b && b != 0)", "if (a < b && b == 0)",
            "if (a < b || b != 0)", "if (!(a < b && b != 0))", "if (a < b && b != 1)"})

    def test_return(self) -> None:
        self.assertEqual(self.changed(6), {"return a - 1;", "return a;", "return 0;"})
        self.assertEqual(self.changed(8), {"return 1;"})

    def test_statement_goes_and_strings_stay(self) -> None:
        self.assertEqual(self.changed(7), {";"})

    def test_no_comment_no_declaration(self) -> None:
        self.assertEqual({one.line for one in operators.of_file("a.c", C)}, {5, 6, 7, 8})
        self.assertEqual({one.function for one in operators.of_file("a.c", C)}, {"less"})


class Survivors(Folder):
    def read(self, text: str) -> dict[survivors.Key, str]:  # type: ignore[override]
        self.write(text, "results", "mutants", "survivors")
        return survivors.read(self.home)

    def test_reasons(self) -> None:
        known = self.read("# head\n\na.c less\n\tif (a < b)\n\tif (a <= b)\n"
                          "\t# both are\n\t# fine\n")
        self.assertEqual(known, {("a.c", "less", "if (a < b)", "if (a <= b)"): "both are fine"})

    def test_none_without_a_reason(self) -> None:
        for text in ("a.c less\n\tif (a < b)\n\tif (a <= b)\n", "a.c\n\ta\n\tb\n\t# why\n"):
            with self.assertRaises(Malformed):
                self.read(text)

    def test_none_twice(self) -> None:
        one = "a.c less\n\tif (a < b)\n\tif (a <= b)\n\t# why\n\n"
        with self.assertRaises(Malformed):
            self.read(one + one)


if __name__ == "__main__":
    unittest.main()
