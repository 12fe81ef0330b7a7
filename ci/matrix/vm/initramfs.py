# SPDX-License-Identifier: GPL-2.0-only
"""Builds the guest's initramfs: a cpio archive of files, and of programs with their libraries."""

import dataclasses
import gzip
import os
import re
import stat
from typing import Sequence

from ci.base import process
from ci.base.status import Missing

FOLDERS = ("dev", "etc", "out", "proc", "root", "run", "sys", "tmp", "var", "var/tmp")
# Modes of the entries of an archive.
FOLDER, PROGRAM, TEXT = stat.S_IFDIR | 0o755, stat.S_IFREG | 0o755, stat.S_IFREG | 0o644
LINK = stat.S_IFLNK | 0o777


@dataclasses.dataclass
class Content:
    """A guest's files in addition to its init, by their paths in the guest."""
    programs: dict[str, str] = dataclasses.field(default_factory=dict)  # paths on the host, as of
    files: dict[str, str] = dataclasses.field(default_factory=dict)  # files; programs get libraries
    texts: dict[str, str] = dataclasses.field(default_factory=dict)
    scripts: dict[str, str] = dataclasses.field(default_factory=dict)  # texts of executable files
    data: dict[str, bytes] = dataclasses.field(default_factory=dict)
    links: dict[str, str] = dataclasses.field(default_factory=dict)  # targets of symbolic links
    plain: bool = False  # whether the archive is not compressed
    loader: Sequence[str] = ("ldd",)  # the command that lists the libraries of programs
    root: str = ""  # folder on the host with the libraries that `loader` lists


class Archive:
    """A cpio archive in the "newc" format. Its bytes depend on its content only."""

    def __init__(self) -> None:
        self.entries: dict[str, tuple[int, bytes, tuple[int, int]]] = {}

    def add(self, path: str, mode: int, data: bytes = b"",
            device: tuple[int, int] = (0, 0)) -> None:
        """Adds an entry and its parent folders. @device: major and minor number."""
        parent = os.path.dirname(path)
        if parent and parent not in self.entries:
            self.add(parent, FOLDER)
        self.entries[path] = (mode, data, device)

    def add_program(self, path: str, source: str) -> None:
        with open(source, "rb") as file:
            self.add(path, PROGRAM, file.read())

    def build_archive(self, plain: bool = False) -> bytes:
        """Returns the archive's bytes, compressed by gzip unless @plain."""
        parts = [pack_entry(inode, path, *content)
                 for inode, (path, content) in enumerate(sorted(self.entries.items()), 1)]
        parts.append(pack_entry(0, "TRAILER!!!", 0, b"", (0, 0)))
        data = b"".join(parts)
        return data if plain else gzip.compress(data, compresslevel=1, mtime=0)


def pad(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def pack_entry(inode: int, path: str, mode: int, data: bytes, device: tuple[int, int]) -> bytes:
    name = path.encode() + b"\0"
    fields = (inode, mode, 0, 0, 2 if stat.S_ISDIR(mode) else 1, 0, len(data), 0, 0, *device,
              len(name), 0)
    return pad(b"070701" + b"".join(b"%08X" % field for field in fields) + name) + pad(data)


def find_libraries(program: str, loader: Sequence[str] = ("ldd",)) -> list[str]:
    """Returns the paths of the files that the loader maps for a program, the loader included.
    @loader: the command that lists them."""
    result = process.run([*loader, program])
    if result.returncode:
        # A static program needs no libraries.
        if "not a dynamic executable" in result.stdout + result.stderr:
            return []
        raise Missing("%s %s: %s" % (loader[0], program, (result.stderr or result.stdout).strip()))
    if "not found" in result.stdout:
        raise Missing("%s: a library is missing: %s" % (program, result.stdout.strip()))
    return re.findall(r"(?:^\s*|=> )(/\S+) \(0x", result.stdout, re.MULTILINE)


def build(init: str, content: Content) -> bytes:
    """Returns the bytes of an initramfs. @init: path of the first process on the host."""
    archive = Archive()
    for folder in FOLDERS:
        archive.add(folder, FOLDER)
    # The kernel opens /dev/console before it starts init.
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    archive.add_program("init", init)
    for path, source in content.files.items():
        archive.add_program(path, source)
    for path, source in content.programs.items():
        archive.add_program(path, source)
        for library in find_libraries(source, content.loader):
            # At the path where the program's loader searches, even if that is a link here.
            archive.add_program(library.lstrip("/"), content.root + library)
    for path, text in content.texts.items():
        archive.add(path, TEXT, text.encode())
    for path, text in content.scripts.items():
        archive.add(path, PROGRAM, text.encode())
    for path, data in content.data.items():
        archive.add(path, TEXT, data)
    for path, target in content.links.items():
        archive.add(path, LINK, target.encode())
    return archive.build_archive(content.plain)
