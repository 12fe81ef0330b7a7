# SPDX-License-Identifier: GPL-2.0-only
"""Tests which failures of a reader mean that it is older than the file's format."""

import os
import sys
import unittest

sys.path.insert(0, os.path.abspath(__file__ + "/../../../profiler"))
from adapting import shown


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
