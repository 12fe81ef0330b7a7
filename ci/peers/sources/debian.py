# SPDX-License-Identifier: GPL-2.0-only
"""Fetches peers from Debian suites: unpacks packages and dependencies without installing them."""

import dataclasses
import os
import platform
import shlex

from ci.base import debian_packages
from ci.base.status import Missing

LD_SO = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # Debian's names


@dataclasses.dataclass(frozen=True)
class Debian:
    suite: str
    package: str
    machine: str = platform.machine()

    def fetch(self, version: str, home: str) -> None:
        """Unpacks the package into @home. @version: start of the package's version."""
        if self.machine not in LD_SO:
            raise Missing("Debian's packages are not supported on %s" % self.machine)
        with debian_packages.Archive(self.suite, home,
                                     architecture=ARCHITECTURES[self.machine]) as archive:
            has = archive.candidate(self.package) or "none"
            if not has.startswith(version):
                raise Missing("%s has %s %s now" % (self.suite, self.package, has))
            debian_packages.unpack(archive.download(self.package), os.path.join(home, "root"))

    def make_command(self, home: str, program: str) -> str:
        """Starts @program with its own loader: LD_LIBRARY_PATH would affect its children, too."""
        libraries = os.path.join(home, "root/usr/lib", self.machine + "-linux-gnu")
        with open(os.path.join(home, program), "rb") as file:
            if file.read(4) != b"\x7fELF":
                return shlex.quote(os.path.join(home, program))
        return shlex.join([os.path.join(libraries, LD_SO[self.machine]), "--library-path",
                           libraries, os.path.join(home, program)])

    def __str__(self) -> str:
        return "Debian %s: %s" % (self.suite, self.package)
