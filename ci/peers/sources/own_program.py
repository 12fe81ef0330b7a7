# SPDX-License-Identifier: GPL-2.0-only
"""Builds peers that are libraries: our own program (ci/peers/programs) uses the library."""

import dataclasses
import hashlib
import os

from ci.base import files
from ci.peers.sources.registries import Registry

PROGRAMS = os.path.abspath(__file__ + "/../../programs")


@dataclasses.dataclass(frozen=True)
class OwnProgram(Registry):
    """Our program is the folder programs/PROGRAM. The build makes PROGRAM in the peer's folder."""
    program: str

    @property
    def source_path(self) -> str:
        return os.path.join(PROGRAMS, self.program)

    def __str__(self) -> str:
        """A text that changes with the files of our program, so that a change is installed."""
        digest = hashlib.sha256()
        for name in sorted(os.listdir(self.source_path)):
            digest.update(files.read_bytes(os.path.join(self.source_path, name)))
        return "%s by %s" % (super().__str__(), digest.hexdigest()[:12])
