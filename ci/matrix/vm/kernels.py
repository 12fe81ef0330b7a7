# SPDX-License-Identifier: GPL-2.0-only
"""Which kernels there are, and how one of them gets onto this machine.

A kernel is named by a version ("6.12": the newest 6.12 of the archive's package index; "6.12.107"),
by the path of a vmlinuz, or by a kernel's build tree. The index and the images of packages are kept
in a cache; what was used stands in the results.
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
from ci.base.text import numbers

# linux-image of 6.19 and later is empty: the image itself is in linux-binary.
PATTERN = r"^linux-(image|binary)(-unsigned)?-[0-9].*-%s$"
EMPTY = 1 << 20
IMAGE = re.compile(r"\./(boot/vmlinuz-|usr/lib/modules/[^/]+/vmlinuz)")
BUILD_IMAGES = ("arch/x86/boot/bzImage", "arch/x86_64/boot/bzImage")


@dataclasses.dataclass(frozen=True)
class Package:
    """One package with a kernel image in it, as the index has it."""
    name: str
    version: str  # of the package: "6.12.117-1~deb12u1"
    sha256: str
    signed: bool

    @property
    def upstream(self) -> tuple[int, ...]:
        """(6, 12, 117)"""
        return numbers(self.version)

    @property
    def order(self) -> tuple[Any, ...]:
        """What is newer is greater; of one upstream version, the archive's later build."""
        return (self.upstream, [int(part) for part in re.findall(r"\d+", self.version)],
                self.signed, self.name)


@dataclasses.dataclass(frozen=True)
class Kernel:
    """An image to boot."""
    label: str  # "6.12": names the results
    version: str  # as the image says it itself
    path: str
    sha256: str  # of the image
    package: str  # "NAME VERSION"; "" where it comes from none
    package_sha256: str = ""  # of the package's file


def release_of(path: str) -> str:
    """The release that a bzImage says it has (Documentation/arch/x86/boot.rst)."""
    with open(path, "rb") as file:
        head = file.read(0x10000)
    if head[0x202:0x206] != b"HdrS":
        raise Refused("%s: at 0x202 there is no HdrS; expected a bzImage" % path)
    start = int.from_bytes(head[0x20e:0x210], "little") + 0x200
    text = head[start:start + 256].split(b"\0")[0].decode("ascii", "replace")
    # It names a folder, too.
    release = re.match(r"\d+\.\d[\w.+~-]*(?=\s|$)", text)
    if not release:
        raise Refused("%s: no release at %#x; expected a bzImage" % (path, start))
    return release.group(0)


def sha256_of(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def packages_of(stanzas: Iterable[Mapping[str, str]]) -> Iterator[Package]:
    """Those that hold an image, of what the index says."""
    for stanza in stanzas:
        if int(stanza["Size"]) >= EMPTY:
            yield Package(stanza["Package"], stanza["Version"], stanza["SHA256"],
                          "-unsigned" not in stanza["Package"])


def newest(packages: Iterable[Package], wanted: str) -> Package | None:
    """The newest package of a version as `wanted` ("6.12", "6.12.107"), or None."""
    upstream = numbers(wanted)
    fitting = [package for package in packages if package.upstream[:len(upstream)] == upstream]
    return max(fitting, key=lambda package: package.order) if fitting else None


class Kernels:
    """The archive's kernels, by its index as it was when it was last asked."""

    def __init__(self, config: dict[str, Any], cache: str) -> None:
        self.suites = config["suites"]
        self.flavour = config["flavour"]
        self.folder = os.path.join(os.path.abspath(cache), "kernels")

    def archive(self) -> debian_packages.Archive:
        os.makedirs(self.folder, exist_ok=True)
        return debian_packages.Archive(self.suites[0], self.folder, self.suites[1:])

    def update(self) -> list[Package]:
        """Asks the archive."""
        with self.archive() as archive:
            found = sorted(packages_of(archive.listed(PATTERN % re.escape(self.flavour))),
                           key=dataclasses.astuple)
        if not found:
            raise Missing("the archive has no kernel of flavour %s" % self.flavour)
        text = json.dumps([dataclasses.asdict(package) for package in found], indent=1) + "\n"
        files.replace(self.folder, {os.path.basename(self.index_path()): text})
        return found

    def index_path(self) -> str:
        return os.path.join(self.folder, "index-%s.json" % self.flavour)

    def index(self) -> list[Package]:
        """What the archive said last; asks it where it never was."""
        try:
            return [Package(**fields) for fields in json.loads(files.read(self.index_path()))]
        except (OSError, ValueError, TypeError):
            return self.update()

    def resolve(self, wanted: str) -> Package:
        """The package of a version; asks the archive again where it is not known."""
        package = newest(self.index(), wanted) or newest(self.update(), wanted)
        if not package:
            raise Missing("the archive has no kernel %s of flavour %s" % (wanted, self.flavour))
        return package

    def image(self, package: Package) -> str:
        """Path of a package's image, in the cache. A cached one must be what was put there."""
        home = os.path.join(self.folder, "%s_%s" % (package.name, package.version))
        path = os.path.join(home, "vmlinuz")
        try:
            known = json.loads(files.read(os.path.join(home, "image.json")))
            if known["package"] == package.sha256 and known["image"] == sha256_of(path):
                return path
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return self.download(package, home)

    def download(self, package: Package, home: str) -> str:
        shutil.rmtree(home, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            with self.archive() as archive:
                file = archive.fetch(package.name, package.version, folder)
            if sha256_of(file) != package.sha256:
                raise Missing("%s %s is another file than in the index: python3 ci/matrix kernels "
                              "--update" % (package.name, package.version))
            take_image(file, os.path.join(folder, "vmlinuz"))
            os.makedirs(home)
            path = os.path.join(home, "vmlinuz")
            shutil.move(os.path.join(folder, "vmlinuz"), path)
        files.write(os.path.join(home, "image.json"), json.dumps(
            {"package": package.sha256, "image": sha256_of(path)}) + "\n")
        return path

    def find(self, wanted: str) -> Kernel:
        """A Kernel by version, path of an image, or path of a build tree."""
        if not re.fullmatch(r"\d+\.[\d.]*\d", wanted):
            return of_path(wanted)
        try:
            package = self.resolve(wanted)
            path = self.image(package)
        except Missing:
            # The archive drops what it replaces: what the index said may be gone.
            self.update()
            package = self.resolve(wanted)
            path = self.image(package)
        return Kernel(wanted, release_of(path), path, sha256_of(path),
                      "%s %s" % (package.name, package.version), package.sha256)


def take_image(package: str, path: str) -> None:
    """The kernel image of a package file, into path."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as archive:
        try:
            with tarfile.open(fileobj=archive.stdout, mode="r|") as members:
                for member in members:
                    wanted = member.isfile() and IMAGE.match(member.name)
                    image = members.extractfile(member) if wanted else None
                    if image:
                        with open(path, "wb") as out:
                            shutil.copyfileobj(image, out)
                        return
        except tarfile.TarError as error:
            raise Missing("%s: %s" % (os.path.basename(package), error)) from error
    raise Missing("%s: no kernel image is in it" % os.path.basename(package))


def of_path(path: str) -> Kernel:
    """A vmlinuz, or a build tree that has one."""
    if os.path.isdir(path):
        images = [os.path.join(path, name) for name in BUILD_IMAGES]
        path = next((image for image in images if os.path.exists(image)), "")
        if not path:
            raise Refused("no bzImage in this build tree: %s" % ", ".join(images))
    elif not os.path.exists(path):
        raise Refused("%s: neither a version (6.12), nor an image, nor a build tree" % path)
    release = release_of(path)
    return Kernel(release, release, os.path.abspath(path), sha256_of(path), "")
