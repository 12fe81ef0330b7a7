# SPDX-License-Identifier: GPL-2.0-only
"""Peers are installed once, whole or not at all, and started by commands in one folder."""

import dataclasses
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from ci.base import files, process
from ci.base.status import Missing
from ci.peers.sources import own_program
from ci.peers.sources.peer import Peer, Shelf
from ci.peers.sources.registries import Pypi, Registry

PEERS = os.path.abspath(__file__ + "/../../peers")


@dataclasses.dataclass(frozen=True)
class Made(Registry):
    """A program that says its arguments; @name: what file to make."""

    def fetch(self, version: str, home: str) -> None:
        path = os.path.join(home, self.name)
        files.write(path, "#!/bin/sh\necho %s \"$@\"\n" % version)
        os.chmod(path, 0o755)


class Peers(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.shelf = Shelf(os.path.join(scratch.name, "a b"))

    def said(self, program: str) -> str:
        return process.must([os.path.join(self.shelf.folder, "bin", program), "x  y"])

    def test_once(self) -> None:
        peer = Peer("1", Made("tool"), {"run-it": "tool"})
        self.assertTrue(self.shelf.put("it", peer))
        self.assertFalse(self.shelf.put("it", peer))
        self.assertEqual(self.said("run-it"), "1 x  y\n")
        self.assertTrue(self.shelf.put("it", dataclasses.replace(peer, version="2")))
        self.assertEqual(self.said("run-it"), "2 x  y\n")

    def test_not_whole(self) -> None:
        peer = Peer("1", Made("tool"), {"run-it": "other"})
        for _ in range(2):
            with self.assertRaisesRegex(Missing, "without other"):
                self.shelf.put("it", peer)

    def test_own(self) -> None:
        """Who changes a program of ours has it built again."""
        folder = os.path.join(self.shelf.folder, "mine")
        os.makedirs(folder)
        files.write(os.path.join(folder, "main.rs"), "one")
        with mock.patch.object(own_program, "PROGRAMS", self.shelf.folder):
            source = own_program.OwnProgram("theirs", "mine")
            first = str(source)
            self.assertEqual(str(source), first)
            files.write(os.path.join(folder, "main.rs"), "other")
            self.assertNotEqual(str(source), first)

    def test_client(self) -> None:
        home = os.path.join(self.shelf.folder)
        os.makedirs(home)
        with self.assertRaisesRegex(Missing, "no-such-client is not installed"):
            Registry("x").run(["no-such-client"], home)
        with self.assertRaisesRegex(Missing, r"sh ended with 3: see \(the mirror\)"):
            Pypi("x").run(["sh", "-c", "echo see http://some.host/x >&2; exit 3"], home)

    def test_list(self) -> None:
        """Each file is a peer with a version of its own."""
        said = process.must([sys.executable, PEERS, "--list"])
        names = {name[:-3] for name in os.listdir(PEERS)
                 if name.endswith(".py") and name[0] != "_"}
        self.assertEqual({line.split()[0] for line in said.splitlines()}, names)
        self.assertEqual(subprocess.run([sys.executable, PEERS, "no-such-peer"], check=False,
                                        stderr=subprocess.PIPE).returncode, 2)
