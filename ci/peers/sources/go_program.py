# SPDX-License-Identifier: GPL-2.0-only
"""Builds peers that are Go modules."""

import dataclasses
import os
import shutil
from typing import Mapping

from ci.peers.sources.own_program import OwnProgram


@dataclasses.dataclass(frozen=True)
class GoProgram(OwnProgram):
    """Our program is programs/PROGRAM/main.go. @instead: {file of the module: our replacement}."""
    instead: Mapping[str, str]

    def fetch(self, version: str, home: str) -> None:
        build = os.path.join(home, "build")
        os.mkdir(build)
        shutil.copy(os.path.join(self.source_path, "main.go"), build)
        self.run_go(build, "mod", "init", "jitproof/" + self.program)
        self.run_go(build, "get", "%s@%s" % (self.name, version))
        self.run_go(build, "mod", "vendor")
        for theirs, name in self.instead.items():
            shutil.copy(os.path.join(self.source_path, name),
                        os.path.join(build, "vendor", self.name, theirs))
        self.run_go(build, "build", "-mod=vendor", "-o", os.path.join(home, self.program), ".")
        shutil.rmtree(build)

    def run_go(self, build: str, *words: str) -> None:
        self.run(["go", *words], build, CGO_ENABLED="0", GOFLAGS="", GOTOOLCHAIN="auto")
