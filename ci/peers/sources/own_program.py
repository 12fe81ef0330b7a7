# SPDX-License-Identifier: GPL-2.0-only
"""Builds peers that are libraries: our own program (ci/peers/programs) uses the library."""

import dataclasses
import hashlib
import os
import platform
import shutil
from typing import Mapping

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
        for source_name, name in self.instead.items():
            shutil.copy(os.path.join(self.source_path, name),
                        os.path.join(build, "vendor", self.name, source_name))
        self.run_go(build, "build", "-mod=vendor", "-o", os.path.join(home, self.program), ".")
        shutil.rmtree(build)

    def run_go(self, build: str, *words: str) -> None:
        self.run(["go", *words], build, CGO_ENABLED="0", GOFLAGS="", GOTOOLCHAIN="auto")


@dataclasses.dataclass(frozen=True)
class RustProgram(OwnProgram):
    """Our program is the package programs/PROGRAM."""
    machine: str = platform.machine()

    def fetch(self, version: str, home: str) -> None:
        build = os.path.join(home, "build")
        shutil.copytree(self.source_path, build)
        self.run(["cargo", "update", "-q", "-p", self.name, "--precise", version], build)
        target, settings = "", {"JITPROOF_PEER_VERSION": version}
        if self.machine != platform.machine():
            target = self.machine + "-unknown-linux-gnu"
            settings["CARGO_BUILD_TARGET"] = target
            settings["CARGO_TARGET_%s_LINKER" % target.upper().replace("-", "_")] = \
                self.machine + "-linux-gnu-gcc"
        self.run(["cargo", "build", "-q", "--release"], build, **settings)
        shutil.copy(os.path.join(build, "target", target, "release", self.program), home)
        shutil.rmtree(build)
