# SPDX-License-Identifier: GPL-2.0-only
"""Peers that are crates without a program: one of ours (ci/peers/programs) uses them."""

import dataclasses
import os
import shutil

from ci.peers.sources.go_program import PROGRAMS
from ci.peers.sources.registries import Registry


@dataclasses.dataclass(frozen=True)
class RustProgram(Registry):
    """Ours is the package programs/PROGRAM, and becomes PROGRAM in the peer's folder."""
    program: str

    def fetch(self, version: str, home: str) -> None:
        build = os.path.join(home, "build")
        shutil.copytree(os.path.join(PROGRAMS, self.program), build)
        self.run(["cargo", "update", "-q", "-p", self.name, "--precise", version], build)
        self.run(["cargo", "build", "-q", "--release"], build, JITPROOF_PEER_VERSION=version)
        shutil.copy(os.path.join(build, "target", "release", self.program), home)
        shutil.rmtree(build)
