# SPDX-License-Identifier: GPL-2.0-only
"""Fetches peers from the registries of languages with their ordinary clients."""

import dataclasses
import os
import shlex
import shutil
import sys
from typing import Sequence
import zipfile

from ci.base import files, process
from ci.base.debian_packages import remove_addresses
from ci.base.status import Missing

BUILD_TIMEOUT_S = 3600


@dataclasses.dataclass(frozen=True)
class Registry:
    """The common part of all registries. @name: of the package, module or artifact."""
    name: str

    def fetch(self, version: str, home: str) -> None:
        raise NotImplementedError

    def make_command(self, home: str, program: str) -> str:
        return shlex.quote(os.path.join(home, program))

    def run(self, command: Sequence[str], home: str, **more: str) -> None:
        """Runs a client in @home. @more: environment variables. Raises Missing if it fails."""
        process.find_program(command[0])
        result = process.run(command, cwd=home, env={**os.environ, **more}, timeout=BUILD_TIMEOUT_S)
        if result.returncode:
            text = remove_addresses((result.stderr or result.stdout).strip())
            raise Missing("%s ended with %d: %s" % (command[0], result.returncode, text[-300:]))

    def __str__(self) -> str:
        return "%s: %s" % (type(self).__name__, self.name)


class Pypi(Registry):
    """PyPI. Programs are in `bin`."""

    def fetch(self, version: str, home: str) -> None:
        self.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check",
                  "--target", home, "%s==%s" % (self.name, version)], home)

    def make_command(self, home: str, program: str) -> str:
        return "env PYTHONPATH=%s %s" % (shlex.quote(home),
                                         shlex.quote(os.path.join(home, program)))


class Crate(Registry):
    """crates.io. Programs are in `bin`."""

    def fetch(self, version: str, home: str) -> None:
        self.run(["cargo", "install", "-q", "--locked", "--root", home, "--version", version,
                  self.name], home, CARGO_TARGET_DIR=os.path.join(home, "target"))
        shutil.rmtree(os.path.join(home, "target"), ignore_errors=True)


@dataclasses.dataclass(frozen=True)
class Jar(Registry):
    """A library inside a jar of Maven Central; a command prints its path. @name: GROUP:ARTIFACT,
    @kind: TYPE:CLASSIFIER of the jar."""
    kind: str

    def fetch(self, version: str, home: str) -> None:
        self.run(["mvn", "-q", "-B", "dependency:copy", "-DoutputDirectory=" + home,
                  "-Dartifact=%s:%s:%s" % (self.name, version, self.kind)], home)
        jar = next(name for name in os.listdir(home) if name.endswith(".jar"))
        with zipfile.ZipFile(os.path.join(home, jar)) as archive:
            archive.extractall(home)
        os.unlink(os.path.join(home, jar))
        files.write(os.path.join(home, "version"), version + "\n")

    def make_command(self, home: str, program: str) -> str:
        return "echo " + super().make_command(home, program)
