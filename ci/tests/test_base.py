# SPDX-License-Identifier: GPL-2.0-only
"""Tests ci/base: exit statuses, running programs, replacing files."""

import argparse
import contextlib
import errno
import io
import os
import signal
import unittest

from ci.base import files, process, status
from harness.selftest.support.scratch import Folder


class Status(unittest.TestCase):
    def catch_end(self, error: BaseException) -> tuple[int, str]:
        def run(_: argparse.Namespace) -> int:
            raise error
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            return status.guard_command("x", run)(argparse.Namespace()), errors.getvalue()

    def test_signal_waits_for_the_block(self) -> None:
        """A signal ends the program behind the block, and is handled as before from then on."""
        old_handler = signal.signal(signal.SIGTERM, status.stop)
        self.addCleanup(signal.signal, signal.SIGTERM, old_handler)
        reached = 0
        for _ in range(2):
            with self.assertRaises(KeyboardInterrupt):
                with status.delay_stop():
                    os.kill(os.getpid(), signal.SIGTERM)
                    reached += 1
        self.assertEqual(reached, 2)
        self.assertIs(signal.getsignal(signal.SIGTERM), status.stop)

    def test_status_and_message_of_each_exception(self) -> None:
        for error, expected in (
                (status.Refused("no"), (2, "x: no\n")),
                (status.Missing("gone"), (4, "x: SKIP: gone\n")),
                (status.Unusable("torn"), (99, "x: torn\n")),
                (status.Malformed("f", 3, "what"), (99, "x: f:3: what\n")),
                (status.Malformed("f", 0, "what"), (99, "x: f: what\n")),
                (OSError(errno.ENOENT, "not there", "f"), (99, "x: f: not there\n")),
                (KeyboardInterrupt(), (130,
                                       "x: interrupted; unfinished results were discarded\n"))):
            self.assertEqual(self.catch_end(error), expected)


class Process(Folder):

    def test_must_raises_on_failure(self) -> None:
        self.assertEqual(process.run_or_raise(["echo", "a"]), "a\n")
        with self.assertRaisesRegex(RuntimeError, "^sh -c: exit 3: no$"):
            process.run_or_raise(["/bin/sh", "-c", "echo no >&2; exit 3"])


class Files(Folder):
    def test_failed_check_replaces_nothing(self) -> None:
        files.replace(self.home, {"a": "1"})

        def check(path: str) -> None:
            if path.endswith("b"):
                raise status.Malformed(path, 1, "bad")
        with self.assertRaises(status.Malformed):
            files.replace(self.home, {"a": "2", "b": "2"}, check)
        self.assertEqual((os.listdir(self.home), self.read("a")), (["a"], "1"))

    def test_folder_is_not_replaced(self) -> None:
        os.mkdir(self.place("b"))
        with self.assertRaisesRegex(status.Malformed, "b: Is a directory$"):
            files.replace(self.home, {"a": "1", "b": "1"})
        self.assertEqual(os.listdir(self.home), ["b"])
