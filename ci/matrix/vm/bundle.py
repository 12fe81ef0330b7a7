# SPDX-License-Identifier: GPL-2.0-only
"""What the guest left in the output memory (ci/matrix/vm/init.c), as files."""

import mmap
import os
import struct
from typing import Any, Iterator
import zlib

MAGIC = b"JPBUNDLE"
HEAD = struct.Struct("<8sQII")
RECORD = struct.Struct("<IIQ")
PAGE = 4096
PREFIX = b"/out/"


class Torn(Exception):
    """Why there is no whole bundle."""


def records(memory: mmap.mmap,
            head: tuple[Any, ...]) -> Iterator[tuple[str, bytes, int]]:
    """(kind, text or piece, value) of each record."""
    at, end = PAGE, PAGE + head[1]
    for _ in range(head[3]):
        if end - at < RECORD.size:
            raise Torn("at byte %d a record should be, the bundle ends at %d" % (at, end))
        kind, length, value = RECORD.unpack_from(memory, at)
        at += RECORD.size
        if length > end - at:
            raise Torn("at byte %d %d bytes should be, the bundle ends at %d" % (at, length, end))
        yield chr(kind & 0x7f), memory[at:at + length], value
        at += length
    if at != end:
        raise Torn("the records end at byte %d, the bundle at %d" % (at, end))


def place(folder: str, name: bytes) -> bytes:
    """Where a path of the guest belongs here: below the folder, whatever it says."""
    parts = name.split(b"/")
    if not name.startswith(PREFIX) or any(part in (b"", b".", b"..") for part in parts[1:]):
        raise Torn("the bundle holds the path %r" % name)
    return os.path.join(os.fsencode(folder), name[len(PREFIX):])


def check(memory: mmap.mmap) -> tuple[Any, ...]:
    """The head of a whole bundle."""
    if len(memory) < PAGE:
        raise Torn("the output memory has %d bytes" % len(memory))
    head = HEAD.unpack_from(memory, 0)
    if head[0] != MAGIC:
        raise Torn("the guest left no result")
    if head[1] > len(memory) - PAGE:
        raise Torn("the result has %d bytes, the memory %d" % (head[1], len(memory) - PAGE))
    if zlib.adler32(memory[PAGE:PAGE + head[1]]) != head[2]:
        raise Torn("the result is not what the guest wrote: its checksum is another")
    return head


def write(memory: mmap.mmap, head: tuple[Any, ...], folder: str) -> None:
    path = b""
    for kind, data, value in records(memory, head):
        if kind == "d":
            os.mkdir(place(folder, data))
        elif kind == "f":
            path = place(folder, data)
            with open(path, "xb") as out:
                out.truncate(value)
        elif kind == "p" and path:
            with open(path, "r+b") as out:
                out.seek(value)
                out.write(data)
        else:
            raise Torn("a record of kind %r" % kind)


def unpack(path: str, folder: str) -> int:
    """Makes the files below a fresh folder; returns the bundle's bytes. Torn where it is not
    whole."""
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise Torn("the output memory has 0 bytes")
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
            head = check(memory)
            os.mkdir(folder)
            try:
                write(memory, head, folder)
            except (OSError, ValueError) as error:
                raise Torn("the result cannot be written here: %s" % error) from error
            return head[1]
