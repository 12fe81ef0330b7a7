# SPDX-License-Identifier: GPL-2.0-only
"""Installs peers on a shelf: SHELF/NAME is a peer's folder, SHELF/bin has a command for each of its
programs."""

import dataclasses
import json
import os
import shutil
from typing import Mapping, Protocol

from ci.base import files
from ci.base.status import Missing


class Source(Protocol):
    """The origin of a peer."""

    def fetch(self, version: str, home: str) -> None:
        """Fills the empty folder @home. Raises Missing if that is impossible."""

    def make_command(self, home: str, program: str) -> str:
        """Returns the shell command that starts @program, a path below @home."""


@dataclasses.dataclass(frozen=True)
class Peer:
    version: str
    source: Source
    programs: Mapping[str, str]  # {name of a command: path of its program in the peer's folder}


class Shelf:
    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)

    def has_installed(self, name: str, peer: Peer) -> bool:
        try:
            stored_state = json.loads(files.read(os.path.join(self.folder, name, "installed.json")))
        except (OSError, ValueError):
            return False
        return bool(stored_state == self.describe(peer))

    @staticmethod
    def describe(peer: Peer) -> dict[str, str]:
        return {"version": peer.version, "source": str(peer.source),
                "programs": " ".join(sorted(peer.programs))}

    def install(self, name: str, peer: Peer) -> bool:
        """Installs a peer and writes installed.json last. Returns False if it is installed
        already."""
        if self.has_installed(name, peer):
            return False
        home = os.path.join(self.folder, name)
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(home)
        peer.source.fetch(peer.version, home)
        for command, program in peer.programs.items():
            if not os.path.exists(os.path.join(home, program)):
                raise Missing("its package has no %s" % program)
            self.write_command(command, peer.source.make_command(home, program))
        files.write(os.path.join(home, "installed.json"),
                    json.dumps(self.describe(peer), indent=1) + "\n")
        return True

    def write_command(self, name: str, command: str) -> None:
        folder = os.path.join(self.folder, "bin")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name)
        files.write(path, "#!/bin/sh\nexec %s \"$@\"\n" % command)
        os.chmod(path, 0o755)
