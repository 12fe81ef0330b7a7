# SPDX-License-Identifier: GPL-2.0-only
"""Packs captures for the tree: an archive for each capture, and one copy of each large file that
many captures name, without the parts that no reader needs (prune.py)."""

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

LARGE = 40_000  # bytes; larger files are shared
PAGE = 4096
PRESET = 6
# In an archive: the file of "BLOB PATH" lines. In the folder: the directory of shared files.
FILES = "files"


def walk_paths(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        for name in sorted(names + [one for one in folders
                                    if os.path.islink(os.path.join(folder, one))]):
            yield os.path.join(folder, name)


def hash_file(path: str) -> str:
    return hashlib.sha256(files.read_bytes(path)).hexdigest()[:16]


class Packer:
    def __init__(self, source: str, target: str) -> None:
        self.source, self.target = source, target
        self.dumps: set[str] = set()  # shared files needed to unwind a stack dump
        self.pages: dict[str, set[int]] = collections.defaultdict(set)
        self.paths: dict[str, str] = {}  # a path of each shared file
        self.known: dict[tuple[int, int, int], str] = {}

    def find_shared_file(self, path: str) -> str | None:
        """Returns the name of a shared file, or None if @path belongs in the archive."""
        about = os.lstat(path)
        if os.path.islink(path) or about.st_size < LARGE or "/tmp/perf-" in path or \
                path.endswith(".dump"):
            return None
        # Copies of a file in several captures are read only once.
        key = (about.st_size, about.st_mtime_ns, hash(os.path.basename(path)))
        if key not in self.known:
            self.known[key] = hash_file(path)
        self.paths.setdefault(self.known[key], path)
        return self.known[key]

    def pack_capture(self, name: str) -> None:
        home = os.path.join(self.source, name)
        root = os.path.join(home, "root")
        touched = sysroot.Touched(os.path.join(home, "perf.data"))
        shared = []
        with lzma.open(os.path.join(self.target, name + ".tar.xz"), "wb", preset=PRESET) as out, \
                tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in walk_paths(root):
                inside = path[len(root):]
                blob = self.find_shared_file(path)
                if blob:
                    shared.append("%s %s\n" % (blob, inside))
                    if touched.dumps:
                        self.dumps.add(blob)
                    self.pages[blob] |= touched.pages.get(inside, set())
                else:
                    archive.add(path, "root" + inside, recursive=False, filter=clear_owner)
            for part in ("perf.data", "label", "how"):
                archive.add(os.path.join(home, part), part, filter=clear_owner)
            raw = "".join(shared).encode()
            about = tarfile.TarInfo(FILES)
            about.size = len(raw)
            archive.addfile(about, io.BytesIO(raw))

    def write_shared(self) -> None:
        folder = os.path.join(self.target, FILES)
        os.makedirs(folder, exist_ok=True)
        for blob, path in self.paths.items():
            place = os.path.join(folder, blob + ".xz")
            raw = prune.prune(files.read_bytes(path), self.pages[blob],
                              blob in self.dumps)
            if os.path.exists(place):
                with lzma.open(place) as packed:
                    old = packed.read()
                if merge_versions(old, raw) == old:
                    continue
                raw = merge_versions(old, raw)
            with lzma.open(place, "wb", preset=PRESET) as out:
                out.write(raw)


def merge_versions(one: bytes, other: bytes) -> bytes:
    """Returns the union of two versions of a file that lack different parts."""
    return (int.from_bytes(one, "little") | int.from_bytes(other, "little")).to_bytes(
        len(one), "little")


def clear_owner(about: tarfile.TarInfo) -> tarfile.TarInfo:
    about.uid = about.gid = 0
    about.uname = about.gname = ""
    return about


def pack(source: str, target: str, names: Iterable[str], add: bool) -> None:
    """Replaces the archives in @target by those of the captures @names in @source; with @add, adds
    all of these and keeps its other archives."""
    if not add:
        names = [name for name in names if os.path.exists(os.path.join(target, name + ".tar.xz"))]
        shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target, exist_ok=True)
    packer = Packer(source, target)
    for name in names:
        if os.path.exists(os.path.join(source, name, "label")):
            packer.pack_capture(name)
    packer.write_shared()


def unpack_blob(path: str, target: str) -> None:
    """Unpacks a shared file, with holes for pages of zeros."""
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
    """Unpacks a capture into the new folder @target. Unpacks each shared file once, into
    @shared."""
    with lzma.open(os.path.join(folder, name + ".tar.xz")) as packed, \
            tarfile.open(fileobj=packed) as archive:
        # Trust the tree's own archives: one contains a FIFO, others contain links of the recorded
        # machine.
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
