# SPDX-License-Identifier: GPL-2.0-only
"""Captures as they lie in the tree: an archive each, and the large files that many of them name
once, emptied of what no reader asks for (prune.py)."""

import collections
import hashlib
import io
import lzma
import os
import shutil
import tarfile
from typing import Iterable, Iterator

from ci.base import files
from ci.labelled import prune, sysroot

LARGE = 40_000  # bytes; from here on a file is shared
PAGE = 4096
PRESET = 6
FILES = "files"  # of an archive: "BLOB PATH" lines; of the folder: the shared files


def paths_below(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        for name in sorted(names + [one for one in folders
                                    if os.path.islink(os.path.join(folder, one))]):
            yield os.path.join(folder, name)


def digest(path: str) -> str:
    return hashlib.sha256(files.read_bytes(path)).hexdigest()[:16]


class Packer:
    def __init__(self, source: str, target: str) -> None:
        self.source, self.target = source, target
        self.dumps: set[str] = set()  # shared files that a stack dump is unwound by
        self.pages: dict[str, set[int]] = collections.defaultdict(set)
        self.paths: dict[str, str] = {}  # of each shared file, one that holds it
        self.known: dict[tuple[int, int, int], str] = {}

    def blob(self, path: str) -> str | None:
        """The name of a shared file; None if it belongs into the archive."""
        about = os.lstat(path)
        if os.path.islink(path) or about.st_size < LARGE or "/tmp/perf-" in path or \
                path.endswith(".dump"):
            return None
        # The same file is read once, though it was copied for each capture.
        key = (about.st_size, about.st_mtime_ns, hash(os.path.basename(path)))
        if key not in self.known:
            self.known[key] = digest(path)
        self.paths.setdefault(self.known[key], path)
        return self.known[key]

    def capture(self, name: str) -> None:
        home = os.path.join(self.source, name)
        root = os.path.join(home, "root")
        touched = sysroot.Touched(os.path.join(home, "perf.data"))
        shared = []
        with lzma.open(os.path.join(self.target, name + ".tar.xz"), "wb", preset=PRESET) as out, \
                tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in paths_below(root):
                inside = path[len(root):]
                blob = self.blob(path)
                if blob:
                    shared.append("%s %s\n" % (blob, inside))
                    if touched.dumps:
                        self.dumps.add(blob)
                    self.pages[blob] |= touched.pages.get(inside, set())
                else:
                    archive.add(path, "root" + inside, recursive=False, filter=nobodys)
            for part in ("perf.data", "label", "how"):
                archive.add(os.path.join(home, part), part, filter=nobodys)
            raw = "".join(shared).encode()
            about = tarfile.TarInfo(FILES)
            about.size = len(raw)
            archive.addfile(about, io.BytesIO(raw))

    def blobs(self) -> None:
        folder = os.path.join(self.target, FILES)
        os.makedirs(folder, exist_ok=True)
        for blob, path in self.paths.items():
            place = os.path.join(folder, blob + ".xz")
            raw = prune.prune(files.read_bytes(path), self.pages[blob],
                              blob in self.dumps)
            if os.path.exists(place):
                with lzma.open(place) as packed:
                    old = packed.read()
                if union(old, raw) == old:
                    continue
                raw = union(old, raw)
            with lzma.open(place, "wb", preset=PRESET) as out:
                out.write(raw)


def union(one: bytes, other: bytes) -> bytes:
    """Of two files that were emptied of different parts."""
    return (int.from_bytes(one, "little") | int.from_bytes(other, "little")).to_bytes(
        len(one), "little")


def nobodys(about: tarfile.TarInfo) -> tarfile.TarInfo:
    about.uid = about.gid = 0
    about.uname = about.gname = ""
    return about


def pack(source: str, target: str, names: Iterable[str], add: bool) -> None:
    """Replaces @target by archives of those captures in @source, or adds them."""
    if not add:
        shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target, exist_ok=True)
    packer = Packer(source, target)
    for name in names:
        if os.path.exists(os.path.join(source, name, "label")):
            packer.capture(name)
    packer.blobs()


def unpack_blob(path: str, target: str) -> None:
    """Writes a shared file with holes where nothing is."""
    with lzma.open(path) as packed, open(target, "wb") as out:
        while True:
            raw = packed.read(1 << 20)
            if not raw:
                break
            for at in range(0, len(raw), PAGE):
                page = raw[at:at + PAGE]
                if page.count(0) == len(page):
                    out.seek(len(page), os.SEEK_CUR)
                else:
                    out.write(page)
        out.truncate()


def unpack(folder: str, name: str, target: str, shared: str) -> None:
    """One capture into the new folder @target; shared files are unpacked once, into @shared."""
    with lzma.open(os.path.join(folder, name + ".tar.xz")) as packed, \
            tarfile.open(fileobj=packed) as archive:
        # The tree's own archives: one holds a FIFO, others links, as the recorded machine had them.
        setattr(archive, "extraction_filter", lambda member, path: member)
        archive.extractall(target)
    for line in files.read(os.path.join(target, FILES)).splitlines():
        blob, path = line.split(" ", 1)
        whole = os.path.join(shared, blob)
        if not os.path.exists(whole):
            unpack_blob(os.path.join(folder, FILES, blob + ".xz"), whole)
        place = os.path.join(target, "root" + path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.link(whole, place)
