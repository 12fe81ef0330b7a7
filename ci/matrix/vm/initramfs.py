# SPDX-License-Identifier: GPL-2.0-only
"""The guest's files: a cpio archive as the kernel unpacks it, with programs and their libraries."""

import gzip
import os
import re
import stat
from typing import Mapping

from ci.base import process
from ci.base.status import Missing

FOLDERS = ("dev", "etc", "out", "proc", "root", "run", "sys", "tmp", "var", "var/tmp")


class Archive:
    """A cpio archive in "newc" form, whose bytes depend on its content alone."""

    def __init__(self) -> None:
        self.entries: dict[str, tuple[int, bytes | tuple[int, int]]] = {}

    def add(self, path: str, content: bytes | None, mode: int) -> None:
        """A file, or a folder where content is None; its parents come by themselves."""
        parent = os.path.dirname(path)
        if parent and parent not in self.entries:
            self.add(parent, None, stat.S_IFDIR | 0o755)
        self.entries[path] = (mode, content or b"")

    def add_file(self, path: str, source: str, mode: int = 0o644) -> None:
        with open(source, "rb") as file:
            self.add(path, file.read(), stat.S_IFREG | mode)

    def add_text(self, path: str, text: str) -> None:
        self.add(path, text.encode(), stat.S_IFREG | 0o644)

    def add_folder(self, path: str, mode: int = 0o755) -> None:
        self.add(path, None, stat.S_IFDIR | mode)

    def add_node(self, path: str, major: int, minor: int) -> None:
        """A character device: the kernel opens /dev/console before there is an init."""
        self.add(path, None, stat.S_IFCHR | 0o600)
        self.entries[path] = (stat.S_IFCHR | 0o600, (major, minor))

    def data(self) -> bytes:
        """The archive's bytes, compressed."""
        parts = []
        for inode, (path, (mode, content)) in enumerate(sorted(self.entries.items()), 1):
            parts.append(entry(inode, path, mode, content))
        parts.append(entry(0, "TRAILER!!!", 0, b""))
        return gzip.compress(b"".join(parts), compresslevel=1, mtime=0)


def padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def entry(inode: int, path: str, mode: int, content: bytes | tuple[int, int]) -> bytes:
    device = content if isinstance(content, tuple) else (0, 0)
    data = b"" if isinstance(content, tuple) else content
    name = path.encode() + b"\0"
    fields = (inode, mode, 0, 0, 2 if stat.S_ISDIR(mode) else 1, 0, len(data), 0, 0, *device,
              len(name), 0)
    return padded(b"070701" + b"".join(b"%08X" % field for field in fields) + name) + padded(data)


def libraries(program: str) -> list[str]:
    """Paths of all that the loader maps for a program, itself included."""
    said = process.run(["ldd", program])
    if said.returncode:
        # A static program needs nothing.
        if "not a dynamic executable" in said.stdout + said.stderr:
            return []
        raise Missing("ldd %s: %s" % (program, (said.stderr or said.stdout).strip()))
    if "not found" in said.stdout:
        raise Missing("%s: a library is missing: %s" % (program, said.stdout.strip()))
    return re.findall(r"(?:^\s*|=> )(/\S+) \(0x", said.stdout, re.MULTILINE)


def build(init: str, programs: Mapping[str, str], texts: Mapping[str, str]) -> bytes:
    """The bytes of an initramfs. @programs: {path in the guest: path here}, dynamic ones with
    their libraries; @texts: {path in the guest: text}."""
    archive = Archive()
    for folder in FOLDERS:
        archive.add_folder(folder)
    archive.add_node("dev/console", 5, 1)
    archive.add_file("init", init, 0o755)
    for path, source in programs.items():
        archive.add_file(path, source, 0o755)
        for library in libraries(source):
            # Where the loader of the program looks, whatever links lead there here.
            archive.add_file(library.lstrip("/"), library, 0o755)
    for path, text in texts.items():
        archive.add_text(path, text)
    return archive.data()
