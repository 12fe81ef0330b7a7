# SPDX-License-Identifier: GPL-2.0-only
"""Empties an ELF file of what no reader of a capture asks for, at the same size and places: what
stays are headers, notes, symbols, call frame information, and the pages that samples lie in."""

import struct
from typing import Iterable

PAGE = 4096
KEPT = (".note", ".symtab", ".strtab", ".dynsym", ".dynstr", ".shstrtab", ".eh_frame",
        ".gnu_debuglink", ".gnu_debugdata", ".dynamic", ".plt", ".comment")
SYMBOL = 24
# Bytes: of more symbols, those near samples stay; of more call frame information, what is needed.
MUCH = 400_000
NOBITS = 8


class Section:
    def __init__(self, fields: tuple[int, ...], name: str) -> None:
        (_, self.kind, _, self.address, self.offset, self.size, self.link, _, _,
         _) = fields
        self.name = name


def sections_of(raw: bytes) -> list[Section]:
    at, = struct.unpack_from("<Q", raw, 40)
    size, count, names = struct.unpack_from("<HHH", raw, 58)
    if not at or not count:
        return []
    fields = [struct.unpack_from("<IIQQQQIIQQ", raw, at + i * size) for i in range(count)]
    strings = fields[names][4]

    def name(offset: int) -> str:
        start = strings + offset
        return raw[start:raw.index(b"\0", start)].decode()
    return [Section(one, name(one[0])) for one in fields]


def place_of(raw: bytes, address: int) -> int | None:
    """Where in the file an address of a loaded segment lies."""
    at, = struct.unpack_from("<Q", raw, 32)
    size, count = struct.unpack_from("<HH", raw, 54)
    for i in range(count):
        kind, _, offset, start, _, length = struct.unpack_from("<IIQQQQ", raw, at + i * size)
        if kind == 1 and start <= address < start + length:
            return offset + address - start
    return None


def prune_symbols(raw: bytes, new: bytearray, table: Section, strings: Section,
                  pages: set[int]) -> None:
    """Keeps the symbols of sampled pages, with their names; the others become empty."""
    new[table.offset:table.offset + table.size] = bytes(table.size)
    new[strings.offset:strings.offset + strings.size] = bytes(strings.size)
    for at in range(table.offset, table.offset + table.size, SYMBOL):
        name, _, _, _, value, size = struct.unpack_from("<IBBHQQ", raw, at)
        place = place_of(raw, value)
        if place is None or not any(page in pages for page in
                                    range(place // PAGE, (place + size) // PAGE + 1)):
            continue
        new[at:at + SYMBOL] = raw[at:at + SYMBOL]
        start = strings.offset + name
        end = raw.index(b"\0", start)
        new[start:end] = raw[start:end]


def prune(raw: bytes, pages: Iterable[int], dumps: bool) -> bytes:
    """The file with all else zero. @dumps: stacks are unwound by it, and need all of its call frame
    information."""
    new, pages = bytearray(len(raw)), set(pages)

    def keep(start: int, size: int) -> None:
        new[start:start + size] = raw[start:start + size]
    for page in pages:
        keep(page * PAGE, min(PAGE, max(0, len(raw) - page * PAGE)))
    keep(0, 64)
    if raw[:6] != b"\x7fELF\2\1":
        return bytes(new)
    at, = struct.unpack_from("<Q", raw, 32)
    size, count = struct.unpack_from("<HH", raw, 54)
    keep(at, size * count)
    for i in range(count):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", raw, at + i * size)
        if kind == 4:  # notes, for files without section headers
            keep(offset, length)
    at, = struct.unpack_from("<Q", raw, 40)
    size, count = struct.unpack_from("<HH", raw, 58)
    keep(at, size * count)
    sections = sections_of(raw)
    for one in sections:
        if one.kind != NOBITS and one.name.startswith(KEPT):
            if dumps or one.size < MUCH or not one.name.startswith(".eh_frame"):
                keep(one.offset, one.size)
    for one in sections:
        if one.name in (".symtab", ".dynsym") and one.size > MUCH:
            prune_symbols(raw, new, one, sections[one.link], pages)
    return bytes(new)
