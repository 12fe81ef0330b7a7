# SPDX-License-Identifier: GPL-2.0-only
"""Finds kernels in Debian's archive and downloads their images.

The user names a kernel by a version ("6.12": the newest 6.12 of the archive's package index;
"6.12.107"), by the path of a vmlinuz, or by a kernel's build tree. A cache holds the index and the
images of packages.
"""

import dataclasses
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from typing import Any, Iterable, Iterator, Mapping

from ci.base import debian_packages, files
from ci.base.status import Missing, Refused
from ci.base.text import parse_numbers

# Since 6.19 linux-image is an empty package, and linux-binary has the image.
PATTERN = r"^linux-(image|binary)(-unsigned)?-[0-9].*-%s$"
EMPTY = 1 << 20  # bytes; a smaller package holds no image
IMAGE = re.compile(r"\./(boot/vmlinuz-|usr/lib/modules/[^/]+/vmlinuz)")
BUILD_IMAGES = ("arch/x86/boot/bzImage", "arch/x86_64/boot/bzImage", "arch/arm64/boot/Image",
                "arch/riscv/boot/Image")
BANNER = b"Linux version "


@dataclasses.dataclass(frozen=True)
class Package:
    """A package with a kernel image, as the index describes it."""
    name: str
    version: str  # version of the package: "6.12.117-1~deb12u1"
    sha256: str
    signed: bool

    @property
    def upstream_version(self) -> tuple[int, ...]:
        """The numbers of the kernel's version, such as (6, 12, 117)."""
        return parse_numbers(self.version)

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """A key to sort by: the upstream version, then the archive's build."""
        return (self.upstream_version, [int(part) for part in re.findall(r"\d+", self.version)],
                self.signed, self.name)


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel image to boot."""
    label: str  # name of the stored results, such as "6.12"
    version: str  # the release that the image contains
    path: str
    sha256: str  # hash of the image
    package: str  # "NAME VERSION"; "" if the image comes from no package
    package_sha256: str = ""  # hash of the .deb file


def find_release(path: str, data: bytes) -> tuple[int, bytes]:
    """Returns the offset of the release in a kernel's image, and some bytes from there on."""
    if data[0x202:0x206] == b"HdrS":  # a bzImage (Documentation/arch/x86/boot.rst)
        start = int.from_bytes(data[0x20e:0x210], "little") + 0x200
    # An Image (booting.rst in Documentation/arch/arm64, boot-image-header.rst in .../riscv).
    elif data[0x38:0x3c] in (b"ARM\x64", b"RSC\x05"):
        start = max(0, data.find(BANNER)) + len(BANNER)
    else:
        raise Refused("%s: no HdrS at 0x202, no ARM or RSC at 0x38; expected a bzImage or an Image"
                      % path)
    return start, data[start:start + 256]


def read_release(path: str) -> str:
    start, data = find_release(path, files.read_bytes(path))
    text = data.split(b"\0")[0].decode("ascii", "replace")
    # The release names a folder, so it must not contain a slash.
    release = re.match(r"\d+\.\d[\w.+~-]*(?=\s|$)", text)
    if not release:
        raise Refused("%s: no release at %#x; expected a kernel's image" % (path, start))
    return release.group(0)


def hash_file(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parse_packages(stanzas: Iterable[Mapping[str, str]]) -> Iterator[Package]:
    """Yields the packages of the index that hold an image."""
    for stanza in stanzas:
        if int(stanza["Size"]) >= EMPTY:
            yield Package(stanza["Package"], stanza["Version"], stanza["SHA256"],
                          "-unsigned" not in stanza["Package"])


def find_newest(packages: Iterable[Package], version: str) -> Package | None:
    """Returns the newest package of the version @wanted ("6.12", "6.12.107"), or None."""
    upstream = parse_numbers(version)
    fitting = [package for package in packages
               if package.upstream_version[:len(upstream)] == upstream]
    return max(fitting, key=lambda package: package.sort_key) if fitting else None


class Kernels:
    """The archive's kernels, by a cached copy of its index."""

    def __init__(self, config: dict[str, Any], cache: str) -> None:
        self.suites = config["suites"]
        self.flavour = config["flavour"]
        self.architecture = config.get("architecture", "")
        self.folder = os.path.join(os.path.abspath(cache), "kernels")
        self.index_name = "index-%s.json" % self.flavour

    def open_archive(self) -> debian_packages.Archive:
        os.makedirs(self.folder, exist_ok=True)
        return debian_packages.Archive(self.suites[0], self.folder, self.suites[1:],
                                       self.architecture)

    def update(self) -> list[Package]:
        """Reads the index from the archive, stores it in the cache and returns it."""
        with self.open_archive() as archive:
            packages = sorted(parse_packages(archive.listed(PATTERN % re.escape(self.flavour))),
                           key=dataclasses.astuple)
        if not packages:
            raise Missing("the archive has no kernel of flavour %s" % self.flavour)
        text = json.dumps([dataclasses.asdict(package) for package in packages], indent=1) + "\n"
        files.replace(self.folder, {self.index_name: text})
        return packages

    def load_index(self) -> list[Package]:
        """Returns the cached index, or reads it from the archive if there is none."""
        try:
            return [Package(**fields) for fields in json.loads(files.read(
                os.path.join(self.folder, self.index_name)))]
        except (OSError, ValueError, TypeError):
            return self.update()

    def resolve(self, version: str) -> Package:
        """Returns the package of a version. Updates the index if it does not have the version."""
        package = find_newest(self.load_index(), version) or find_newest(self.update(), version)
        if not package:
            raise Missing("the archive has no kernel %s of flavour %s" % (version, self.flavour))
        return package

    def get_image(self, package: Package) -> str:
        """Returns the path of a package's image in the cache. Downloads the package if the image is
        missing or its hash differs from the recorded one."""
        home = os.path.join(self.folder, "%s_%s" % (package.name, package.version))
        path = os.path.join(home, "vmlinuz")
        try:
            stored = json.loads(files.read(os.path.join(home, "image.json")))
            if stored["package"] == package.sha256 and stored["image"] == hash_file(path):
                return path
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return self.download(package, home)

    def download(self, package: Package, home: str) -> str:
        shutil.rmtree(home, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            with self.open_archive() as archive:
                file = archive.fetch(package.name, package.version, folder)
            if hash_file(file) != package.sha256:
                raise Missing("the file of %s %s differs from the index; run python3 ci/matrix "
                              "kernels --update" % (package.name, package.version))
            extract_image(file, os.path.join(folder, "vmlinuz"))
            os.makedirs(home)
            path = os.path.join(home, "vmlinuz")
            shutil.move(os.path.join(folder, "vmlinuz"), path)
        files.write(os.path.join(home, "image.json"), json.dumps(
            {"package": package.sha256, "image": hash_file(path)}) + "\n")
        return path

    def find(self, version: str) -> Kernel:
        """Finds a kernel by version, path of an image, or path of a build tree."""
        if not re.fullmatch(r"\d+\.[\d.]*\d", version):
            return find_by_path(version)
        try:
            package = self.resolve(version)
            path = self.get_image(package)
        except Missing:
            # The archive removes replaced packages, so the cached index may be outdated.
            self.update()
            package = self.resolve(version)
            path = self.get_image(package)
        return Kernel(version, read_release(path), path, hash_file(path),
                      "%s %s" % (package.name, package.version), package.sha256)


def extract_image(package: str, path: str) -> None:
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as archive:
        try:
            with tarfile.open(fileobj=archive.stdout, mode="r|") as members:
                for member in members:
                    version = member.isfile() and IMAGE.match(member.name)
                    image = members.extractfile(member) if version else None
                    if image:
                        with open(path, "wb") as out:
                            shutil.copyfileobj(image, out)
                        return
        except tarfile.TarError as error:
            raise Missing("%s: %s" % (os.path.basename(package), error)) from error
    raise Missing("%s: contains no kernel image" % os.path.basename(package))


def find_by_path(path: str) -> Kernel:
    """Returns the kernel of a vmlinuz or a build tree."""
    if os.path.isdir(path):
        images = [os.path.join(path, name) for name in BUILD_IMAGES]
        path = next((image for image in images if os.path.exists(image)), "")
        if not path:
            raise Refused("no image in this build tree: %s" % ", ".join(images))
    elif not os.path.exists(path):
        raise Refused("%s: neither a version (6.12), nor an image, nor a build tree" % path)
    release = read_release(path)
    return Kernel(release, release, os.path.abspath(path), hash_file(path), "")
