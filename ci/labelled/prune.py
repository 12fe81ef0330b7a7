# SPDX-License-Identifier: GPL-2.0-only
"""Zeroes the parts of an ELF file that no reader of a capture needs, without changing sizes and
offsets. Headers, notes, symbols, call frame information and pages with samples stay."""

import struct
from typing import Iterable

PAGE = 4096
KEPT_SECTIONS = (".note", ".symtab", ".strtab", ".dynsym", ".dynstr", ".shstrtab", ".eh_frame",
        ".gnu_debuglink", ".gnu_debugdata", ".dynamic", ".plt", ".comment")
SYMBOL = 24
# Size in bytes. A larger symbol table is pruned to symbols near samples; larger call frame
# information is removed unless stack dumps need it.
LARGE_SECTION = 400_000
NOBITS = 8


class Section:
    def __init__(self, fields: tuple[int, ...], read_name: str) -> None:
        (_, self.kind, _, self.address, self.offset, self.size, self.link, _, _,
         _) = fields
        self.name = read_name


def read_sections(raw: bytes) -> list[Section]:
    at, = struct.unpack_from("<Q", raw, 40)
    size, count, names = struct.unpack_from("<HHH", raw, 58)
    if not at or not count:
        return []
    fields = [struct.unpack_from("<IIQQQQIIQQ", raw, at + i * size) for i in range(count)]
    strings = fields[names][4]

    def read_name(offset: int) -> str:
        start = strings + offset
        return raw[start:raw.index(b"\0", start)].decode()
    return [Section(one, read_name(one[0])) for one in fields]


def find_offset(raw: bytes, address: int) -> int | None:
    """Returns the file offset of an address in a loaded segment, or None."""
    at, = struct.unpack_from("<Q", raw, 32)
    size, count = struct.unpack_from("<HH", raw, 54)
    for i in range(count):
        kind, _, offset, start, _, length = struct.unpack_from("<IIQQQQ", raw, at + i * size)
        if kind == 1 and start <= address < start + length:
            return offset + address - start
    return None


def prune_symbols(raw: bytes, new: bytearray, table: Section, strings: Section,
                  pages: set[int]) -> None:
    """Keeps only the symbols of sampled pages and their names."""
    new[table.offset:table.offset + table.size] = bytes(table.size)
    new[strings.offset:strings.offset + strings.size] = bytes(strings.size)
    for at in range(table.offset, table.offset + table.size, SYMBOL):
        read_name, _, _, _, value, size = struct.unpack_from("<IBBHQQ", raw, at)
        place = find_offset(raw, value)
        if place is None or not any(page in pages for page in
                                    range(place // PAGE, (place + size) // PAGE + 1)):
            continue
        new[at:at + SYMBOL] = raw[at:at + SYMBOL]
        start = strings.offset + read_name
        end = raw.index(b"\0", start)
        new[start:end] = raw[start:end]


def prune(raw: bytes, pages: Iterable[int], dumps: bool) -> bytes:
    """Returns the file with everything else zero. @dumps: stack dumps are unwound by it, which
    needs all of its call frame information."""
    new, pages = bytearray(len(raw)), set(pages)

    def keep_range(start: int, size: int) -> None:
        new[start:start + size] = raw[start:start + size]
    for page in pages:
        keep_range(page * PAGE, min(PAGE, max(0, len(raw) - page * PAGE)))
    keep_range(0, 64)
    if raw[:6] != b"\x7fELF\2\1":
        return bytes(new)
    at, = struct.unpack_from("<Q", raw, 32)
    size, count = struct.unpack_from("<HH", raw, 54)
    keep_range(at, size * count)
    for i in range(count):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", raw, at + i * size)
        if kind == 4:  # notes, for files without section headers
            keep_range(offset, length)
    at, = struct.unpack_from("<Q", raw, 40)
    size, count = struct.unpack_from("<HH", raw, 58)
    keep_range(at, size * count)
    sections = read_sections(raw)
    for one in sections:
        if one.kind != NOBITS and one.name.startswith(KEPT_SECTIONS):
            if dumps or one.size < LARGE_SECTION or not one.name.startswith(".eh_frame"):
                keep_range(one.offset, one.size)
    for one in sections:
        if one.name in (".symtab", ".dynsym") and one.size > LARGE_SECTION:
            prune_symbols(raw, new, one, sections[one.link], pages)
    return bytes(new)
