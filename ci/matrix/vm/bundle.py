# SPDX-License-Identifier: GPL-2.0-only
"""Unpacks the bundle of files that the guest (ci/matrix/vm/init.c) wrote to the output memory."""

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
    """The bundle is incomplete or malformed; the message is the reason."""


def iterate_records(memory: mmap.mmap,
                    head: tuple[Any, ...]) -> Iterator[tuple[str, bytes, int]]:
    """Yields (kind, path or piece, value) of each record: `struct record` of init.c."""
    offset, end = PAGE, PAGE + head[1]
    for _ in range(head[3]):
        if end - offset < RECORD.size:
            raise Torn("expected a record at byte %d; the bundle ends at %d" % (offset, end))
        kind, length, value = RECORD.unpack_from(memory, offset)
        offset += RECORD.size
        if length > end - offset:
            raise Torn("expected %d bytes at byte %d; the bundle ends at %d"
                       % (length, offset, end))
        yield chr(kind & 0x7f), memory[offset:offset + length], value
        offset += length
    if offset != end:
        raise Torn("the records end at byte %d; the bundle ends at %d" % (offset, end))


def map_path(folder: str, name: bytes) -> bytes:
    """Maps a path of the guest to one below @folder. Raises Torn for a path outside of /out."""
    parts = name.split(b"/")
    if not name.startswith(PREFIX) or any(part in (b"", b".", b"..") for part in parts[1:]):
        raise Torn("the bundle holds the path %r" % name)
    return os.path.join(os.fsencode(folder), name[len(PREFIX):])


def read_head(memory: mmap.mmap) -> tuple[Any, ...]:
    """Returns the head of a bundle after checking its size and checksum."""
    if len(memory) < PAGE:
        raise Torn("the guest's output memory has only %d bytes" % len(memory))
    head = HEAD.unpack_from(memory, 0)
    if head[0] != MAGIC:
        raise Torn("the guest left no result")
    if head[1] > len(memory) - PAGE:
        raise Torn("the result has %d bytes, the memory %d" % (head[1], len(memory) - PAGE))
    if zlib.adler32(memory[PAGE:PAGE + head[1]]) != head[2]:
        raise Torn("the result has another checksum than the guest wrote")
    return head


def write(memory: mmap.mmap, head: tuple[Any, ...], folder: str) -> None:
    path = b""
    for kind, data, value in iterate_records(memory, head):
        if kind == "d":
            os.mkdir(map_path(folder, data))
        elif kind == "f":
            path = map_path(folder, data)
            with open(path, "xb") as out:
                out.truncate(value)
        elif kind == "p" and path:
            with open(path, "r+b") as out:
                out.seek(value)
                out.write(data)
        else:
            raise Torn("unknown record kind %r" % kind)


def unpack(path: str, folder: str) -> int:
    """Unpacks the bundle in the file @path into the new @folder. Returns the size of the bundle in
    bytes. Raises Torn if it is incomplete or malformed."""
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise Torn("the guest's output memory has 0 bytes")
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
            head = read_head(memory)
            os.mkdir(folder)
            try:
                write(memory, head, folder)
            except (OSError, ValueError) as error:
                raise Torn("the result cannot be written here: %s" % error) from error
            return head[1]
