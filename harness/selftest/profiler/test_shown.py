# SPDX-License-Identifier: GPL-2.0-only
"""Tests which failures of a reader mean that it is older than the file's format, and the rows of
`perf report` that count."""

import os
import sys
import unittest

sys.path.insert(0, os.path.abspath(__file__ + "/../../../profiler"))
from adapting import script, shown


class Refusals(unittest.TestCase):
    def test_messages(self) -> None:
        for message, refused in (
                ("incompatible file format (rerun with -v to learn more)", True),
                ("Reserved bits are set unexpectedly. Please update perf tool.", True),
                ("0xb9c [0x7a0]: failed to process type: 83", True),
                ("0xb70 [0x8]: failed to process type: 82", False)):
            with self.assertRaises(shown.Failed) as raised:
                shown.output_of("perf", "sh", "-c", 'echo "$0" >&2; exit 3', message)
            self.assertEqual(isinstance(raised.exception, shown.Refused), refused, message)
            self.assertIn(message, str(raised.exception))

    def test_failure_with_status_0(self) -> None:
        for message in ("wrong feature ID: 33", "bad"):
            with self.assertRaises(shown.Failed) as raised:
                shown.output_of("perf", "sh", "-c", 'echo "$0\nfailed to process sample" >&2',
                                message)
            self.assertEqual(isinstance(raised.exception, shown.Refused), message != "bad")


class Shares(unittest.TestCase):
    def test_rows_without_a_name(self) -> None:
        """Kernel functions do not count, nor addresses: that of a file's first byte has no 0x."""
        rows = ("[.] run", "[.] 0x0000000000000835", "[.] 0000000000000000", "[k] do_idle",
                "[.] 0000000000000000_f")
        text = "".join(" %d\t  7:jit\t%s  \n" % row for row in enumerate(rows, 1))
        self.assertEqual(script.parse_shares(text), {(7, "run"): 1, (7, "0000000000000000_f"): 5})
