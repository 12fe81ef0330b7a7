# SPDX-License-Identifier: GPL-2.0-only
"""Tests ci/peers: a peer is installed once and completely, and has a command in SHELF/bin."""

import dataclasses
import os
import tempfile
import unittest
from unittest import mock

from ci.base import files, process
from ci.base.status import Missing
from ci.peers.sources import own_program
from ci.peers.sources.peer import Peer, Shelf
from ci.peers.sources.registries import Pypi, Registry


@dataclasses.dataclass(frozen=True)
class Made(Registry):
    """A registry whose only program prints its arguments. @name: the program's name."""

    def fetch(self, version: str, home: str) -> None:
        path = os.path.join(home, self.name)
        files.write(path, "#!/bin/sh\necho %s \"$@\"\n" % version)
        os.chmod(path, 0o755)


class Peers(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.shelf = Shelf(os.path.join(scratch.name, "a b"))

    def read_output(self, program: str) -> str:
        return process.run_or_raise([os.path.join(self.shelf.folder, "bin", program), "x  y"])

    def test_version_is_installed_once(self) -> None:
        peer = Peer("1", Made("tool"), {"run-it": "tool"})
        self.assertTrue(self.shelf.install("it", peer))
        self.assertFalse(self.shelf.install("it", peer))
        self.assertEqual(self.read_output("run-it"), "1 x  y\n")
        self.assertTrue(self.shelf.install("it", dataclasses.replace(peer, version="2")))
        self.assertEqual(self.read_output("run-it"), "2 x  y\n")

    def test_incomplete_peer_is_not_installed(self) -> None:
        peer = Peer("1", Made("tool"), {"run-it": "other"})
        for _ in range(2):
            with self.assertRaisesRegex(Missing, "has no other"):
                self.shelf.install("it", peer)

    def test_changed_program_is_built_again(self) -> None:
        folder = os.path.join(self.shelf.folder, "mine")
        os.makedirs(folder)
        files.write(os.path.join(folder, "main.rs"), "one")
        with mock.patch.object(own_program, "PROGRAMS", self.shelf.folder):
            source = own_program.OwnProgram("theirs", "mine")
            first = str(source)
            self.assertEqual(str(source), first)
            files.write(os.path.join(folder, "main.rs"), "other")
            self.assertNotEqual(str(source), first)

    def test_missing_or_failing_client(self) -> None:
        home = os.path.join(self.shelf.folder)
        os.makedirs(home)
        with self.assertRaisesRegex(Missing, "no-such-client is not installed"):
            Registry("x").run(["no-such-client"], home)
        with self.assertRaisesRegex(Missing, r"sh ended with 3: see \(the mirror\)"):
            Pypi("x").run(["sh", "-c", "echo see http://some.host/x >&2; exit 3"], home)
