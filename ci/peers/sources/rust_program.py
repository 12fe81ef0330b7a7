# SPDX-License-Identifier: GPL-2.0-only
"""Builds peers that are crates without a program."""

import dataclasses
import os
import shutil

from ci.peers.sources.own_program import OwnProgram


@dataclasses.dataclass(frozen=True)
class RustProgram(OwnProgram):
    """Our program is the package programs/PROGRAM."""

    def fetch(self, version: str, home: str) -> None:
        build = os.path.join(home, "build")
        shutil.copytree(self.source_path, build)
        self.run(["cargo", "update", "-q", "-p", self.name, "--precise", version], build)
        self.run(["cargo", "build", "-q", "--release"], build, JITPROOF_PEER_VERSION=version)
        shutil.copy(os.path.join(build, "target", "release", self.program), home)
        shutil.rmtree(build)
