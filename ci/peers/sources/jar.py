# SPDX-License-Identifier: GPL-2.0-only
"""Fetches peers that are libraries inside a jar."""

import dataclasses
import os
import zipfile

from ci.base import files
from ci.peers.sources.registries import Maven


@dataclasses.dataclass(frozen=True)
class Jar(Maven):
    """A command prints the path of its library. @kind: TYPE:CLASSIFIER of the jar."""
    kind: str

    def fetch(self, version: str, home: str) -> None:
        super().fetch("%s:%s" % (version, self.kind), home)
        jar = next(name for name in os.listdir(home) if name.endswith(".jar"))
        with zipfile.ZipFile(os.path.join(home, jar)) as archive:
            archive.extractall(home)
        os.unlink(os.path.join(home, jar))
        files.write(os.path.join(home, "version"), version + "\n")

    def make_command(self, home: str, program: str) -> str:
        return "echo " + super().make_command(home, program)
