# SPDX-License-Identifier: GPL-2.0-only
"""Tests which failures of a reader mean that it is older than the file's format, and the rows of
`perf report` that count."""

import argparse
import contextlib
import io
import os
import sys
import tempfile
import unittest
import unittest.mock

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


def make_reader(version: str, fails: type[shown.Failed] | None = None) -> shown.Reader:
    def show(path: str, home: str, file: shown.Shown) -> None:
        if fails:
            raise fails("version %s reads no %s" % (version, os.path.basename(path)))
    return shown.Reader("perf", version, show)


class Older(unittest.TestCase):
    """A reader that refuses a file is older than its format if a later version reads a file."""

    def read(self, only: str, *readers: shown.Reader) -> dict[str, str]:
        """Returns the last line that each reader's file has."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "shown"))
            with contextlib.redirect_stdout(io.StringIO()):
                shown.read(argparse.Namespace(dir=folder, only=only, file=["perf.data"]), readers)
            lines = {}
            for name in os.listdir(os.path.join(folder, "shown")):
                with open(os.path.join(folder, "shown", name), encoding="utf-8") as file:
                    lines[name.removesuffix(".perf.data")] = file.read().splitlines()[-1].split()[0]
            return lines

    def test_versions(self) -> None:
        old, new = make_reader("6.1", shown.Refused), make_reader("7.3")
        self.assertEqual(self.read("", old, new), {"perf-6.1": "older", "perf-7.3": "file"})
        self.assertEqual(self.read("perf-6.1", old, new), {"perf-6.1": "older"})

    def test_file_that_no_version_reads(self) -> None:
        """Nor is a reader older that fails for another reason, or that is the latest."""
        for failures in ((shown.Refused, shown.Refused), (shown.Failed, None),
                         (None, shown.Refused)):
            readers = [make_reader(*each) for each in zip(("6.1", "7.3"), failures)]
            for only in ("", "perf-6.1", "perf-7.3"):
                self.assertNotIn("older", self.read(only, *readers).values())


    def test_slow_reader(self) -> None:
        """A reader that needs too much time is no sign of an unreadable file."""
        with self.assertRaises(shown.Slow):
            self.read("", make_reader("7.3", shown.Slow))
        with unittest.mock.patch.object(shown, "TIMEOUT_S", 0.1), \
                self.assertRaises(shown.Slow):
            shown.output_of("perf", "sleep", "9")


class Shares(unittest.TestCase):
    def test_rows_without_a_name(self) -> None:
        """Kernel functions do not count, nor addresses: that of a file's first byte has no 0x."""
        rows = ("[.] run", "[.] 0x0000000000000835", "[.] 0000000000000000", "[k] do_idle",
                "[.] 0000000000000000_f")
        text = "".join(" %d\t  7:jit\t%s  \n" % row for row in enumerate(rows, 1))
        self.assertEqual(script.parse_shares(text), {(7, "run"): 1, (7, "0000000000000000_f"): 5})
