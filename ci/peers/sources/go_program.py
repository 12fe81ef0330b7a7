# SPDX-License-Identifier: GPL-2.0-only
"""Peers that are libraries: a program of ours (ci/peers/programs) uses them."""

import dataclasses
import os
import shutil
from typing import Mapping

from ci.peers.sources.registries import Registry

PROGRAMS = os.path.abspath(__file__ + "/../../programs")


@dataclasses.dataclass(frozen=True)
class GoProgram(Registry):
    """Ours is programs/PROGRAM/main.go, and becomes PROGRAM in the peer's folder; files of the
    module that another one of ours stands in for: @instead."""
    program: str
    instead: Mapping[str, str]

    def fetch(self, version: str, home: str) -> None:
        ours, build = os.path.join(PROGRAMS, self.program), os.path.join(home, "build")
        os.mkdir(build)
        shutil.copy(os.path.join(ours, "main.go"), build)
        self.go(build, "mod", "init", "jitproof/" + self.program)
        self.go(build, "get", "%s@%s" % (self.name, version))
        self.go(build, "mod", "vendor")
        for theirs, name in self.instead.items():
            shutil.copy(os.path.join(ours, name), os.path.join(build, "vendor", self.name, theirs))
        self.go(build, "build", "-mod=vendor", "-o", os.path.join(home, self.program), ".")
        shutil.rmtree(build)

    def go(self, build: str, *words: str) -> None:
        self.run(["go", *words], build, CGO_ENABLED="0", GOFLAGS="", GOTOOLCHAIN="auto")
