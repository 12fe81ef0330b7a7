# SPDX-License-Identifier: GPL-2.0-only
"""A peer, and the shelf that it stands on: SHELF/NAME is its folder, SHELF/bin has a command for
each of its programs."""

import dataclasses
import json
import os
import shutil
from typing import Mapping, Protocol

from ci.base import files
from ci.base.status import Missing


class Source(Protocol):
    """Where a peer comes from."""

    def fetch(self, version: str, home: str) -> None:
        """Fills the empty folder @home; Missing where it cannot."""

    def command(self, home: str, program: str) -> str:
        """What a shell must run to start @program, a path below @home."""


@dataclasses.dataclass(frozen=True)
class Peer:
    version: str
    source: Source
    programs: Mapping[str, str]  # the command's name: the program's path below the peer's folder


class Shelf:
    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)

    def holds(self, name: str, peer: Peer) -> bool:
        try:
            noted = json.loads(files.read(os.path.join(self.folder, name, "installed.json")))
        except (OSError, ValueError):
            return False
        return bool(noted == self.note(peer))

    @staticmethod
    def note(peer: Peer) -> dict[str, str]:
        return {"version": peer.version, "source": str(peer.source),
                "programs": " ".join(sorted(peer.programs))}

    def put(self, name: str, peer: Peer) -> bool:
        """Installs it; False: it was there. The last file to appear is installed.json."""
        if self.holds(name, peer):
            return False
        home = os.path.join(self.folder, name)
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(home)
        peer.source.fetch(peer.version, home)
        for command, program in peer.programs.items():
            if not os.path.exists(os.path.join(home, program)):
                raise Missing("it came without %s" % program)
            self.write_command(command, peer.source.command(home, program))
        files.write(os.path.join(home, "installed.json"),
                    json.dumps(self.note(peer), indent=1) + "\n")
        return True

    def write_command(self, name: str, command: str) -> None:
        folder = os.path.join(self.folder, "bin")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name)
        files.write(path, "#!/bin/sh\nexec %s \"$@\"\n" % command)
        os.chmod(path, 0o755)
