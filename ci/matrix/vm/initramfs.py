# SPDX-License-Identifier: GPL-2.0-only
"""The guest's files: a cpio archive as the kernel unpacks it, with programs and their libraries."""

import dataclasses
import gzip
import os
import re
import stat
from typing import Sequence

from ci.base import process
from ci.base.status import Missing

FOLDERS = ("dev", "etc", "out", "proc", "root", "run", "sys", "tmp", "var", "var/tmp")


# What an entry may be.
FOLDER, PROGRAM, TEXT = stat.S_IFDIR | 0o755, stat.S_IFREG | 0o755, stat.S_IFREG | 0o644
LINK = stat.S_IFLNK | 0o777


@dataclasses.dataclass
class Content:
    """What a guest has beside its init, by the path there; sources are paths here."""
    programs: dict[str, str] = dataclasses.field(default_factory=dict)  # libraries come along
    files: dict[str, str] = dataclasses.field(default_factory=dict)
    texts: dict[str, str] = dataclasses.field(default_factory=dict)
    scripts: dict[str, str] = dataclasses.field(default_factory=dict)  # the text of each
    data: dict[str, bytes] = dataclasses.field(default_factory=dict)
    links: dict[str, str] = dataclasses.field(default_factory=dict)  # where each leads to
    plain: bool = False  # not compressed


class Archive:
    """A cpio archive in "newc" form, whose bytes depend on its content alone."""

    def __init__(self) -> None:
        self.entries: dict[str, tuple[int, bytes, tuple[int, int]]] = {}

    def add(self, path: str, mode: int, data: bytes = b"",
            device: tuple[int, int] = (0, 0)) -> None:
        """Its parents come by themselves. @device: its major and minor number."""
        parent = os.path.dirname(path)
        if parent and parent not in self.entries:
            self.add(parent, FOLDER)
        self.entries[path] = (mode, data, device)

    def add_program(self, path: str, source: str) -> None:
        with open(source, "rb") as file:
            self.add(path, PROGRAM, file.read())

    def data(self, plain: bool = False) -> bytes:
        """The archive's bytes, compressed unless they are @plain."""
        parts = [entry(inode, path, *what)
                 for inode, (path, what) in enumerate(sorted(self.entries.items()), 1)]
        parts.append(entry(0, "TRAILER!!!", 0, b"", (0, 0)))
        data = b"".join(parts)
        return data if plain else gzip.compress(data, compresslevel=1, mtime=0)


def padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def entry(inode: int, path: str, mode: int, data: bytes, device: tuple[int, int]) -> bytes:
    name = path.encode() + b"\0"
    fields = (inode, mode, 0, 0, 2 if stat.S_ISDIR(mode) else 1, 0, len(data), 0, 0, *device,
              len(name), 0)
    return padded(b"070701" + b"".join(b"%08X" % field for field in fields) + name) + padded(data)


def libraries(program: str, loader: Sequence[str] = ("ldd",)) -> list[str]:
    """Paths of all that the loader maps for a program, itself included. @loader: the words that
    make it list them."""
    said = process.run([*loader, program])
    if said.returncode:
        # A static program needs nothing.
        if "not a dynamic executable" in said.stdout + said.stderr:
            return []
        raise Missing("%s %s: %s" % (loader[0], program, (said.stderr or said.stdout).strip()))
    if "not found" in said.stdout:
        raise Missing("%s: a library is missing: %s" % (program, said.stdout.strip()))
    return re.findall(r"(?:^\s*|=> )(/\S+) \(0x", said.stdout, re.MULTILINE)


def build(init: str, content: Content) -> bytes:
    """The bytes of an initramfs."""
    archive = Archive()
    for folder in FOLDERS:
        archive.add(folder, FOLDER)
    # The kernel opens it before there is an init.
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    archive.add_program("init", init)
    for path, source in content.files.items():
        archive.add_program(path, source)
    for path, source in content.programs.items():
        archive.add_program(path, source)
        for library in libraries(source):
            # Where the loader of the program looks, whatever links lead there here.
            archive.add_program(library.lstrip("/"), library)
    for path, text in content.texts.items():
        archive.add(path, TEXT, text.encode())
    for path, text in content.scripts.items():
        archive.add(path, PROGRAM, text.encode())
    for path, data in content.data.items():
        archive.add(path, TEXT, data)
    for path, target in content.links.items():
        archive.add(path, LINK, target.encode())
    return archive.data(content.plain)
