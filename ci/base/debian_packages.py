#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Downloads packages of any Debian suite and unpacks them below a folder without installing them.

An Archive runs apt with a state of its own: its own package lists, nothing installed, and the
mirror and proxies that apt uses on this machine. The address of the mirror is read when it is
needed; no message and no file that stays contains it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Any, Iterator, Sequence

from ci.base import files, process
from ci.base.status import Missing

NAMES = r"(?:buster|bullseye|bookworm|trixie|forky|sid|(?:old)*stable|testing|unstable)"
MAIN = re.compile(NAMES + r"(?:-updates|-backports)?$")
SECURITY = re.compile(NAMES + r"(?:-security|/updates)$")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def remove_addresses(text: str) -> str:
    return re.sub(r"\w+://\S+", "(the mirror)", text)


def read_mirrors() -> tuple[str, str | None]:
    """Returns (archive, security archive or None), the addresses that apt is configured with."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise Missing("this machine has no apt-get")
    mirrors = process.run(["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)"])
    return parse_mirrors(mirrors.stdout)


def parse_mirrors(text: str) -> tuple[str, str | None]:
    """Returns the first address of each kind in lines of "RELEASE ADDRESS"."""
    main = security = None
    for line in text.splitlines():
        release, _, address = line.partition(" ")
        if SECURITY.match(release):
            security = security or address
        elif MAIN.match(release):
            main = main or address
    if not main:
        raise Missing("apt knows no Debian mirror on this machine")
    return main, security


def list_sources(suite: str, main: str, security: str | None) -> list[str]:
    """Returns the lines of a sources.list for a suite and the suites that it builds on."""
    signed = "[signed-by=%s] " % KEYRING if os.path.exists(KEYRING) else ""
    base = suite.removesuffix("-backports")
    lines = ["deb %s%s %s main" % (signed, main, base)]
    if base != suite:
        lines.append("deb %s%s %s main" % (signed, main, suite))
    if security and base != "sid":
        lines.append("deb %s%s %s-security main" % (signed, security, base))
    return lines


class Archive:
    """The packages of one suite and of the suites in `also`, as a context manager whose exit
    removes apt's state. @architecture: Debian's name of a foreign architecture; "": dpkg's own."""

    def __init__(self, suite: str, folder: str, also: Sequence[str] = (),
                 architecture: str = "") -> None:
        self.suite = suite
        self.architecture = architecture
        self.suites = (suite, *also)
        self.folder = os.path.join(os.path.abspath(folder), "apt")

    def __enter__(self) -> Archive:
        mirrors = read_mirrors()
        lines = [line for suite in self.suites for line in list_sources(suite, *mirrors)]
        self.close()
        for name in ("etc", "state/lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(self.folder, name))
        files.write(self.folder + "/status", "")
        # Suites share base suites, and apt warns about a repeated line.
        files.write(self.folder + "/etc/sources.list", "\n".join(dict.fromkeys(lines)) + "\n")
        files.write(self.folder + "/apt.conf", "".join(self.configuration()))
        self.environment = {**os.environ, "APT_CONFIG": self.folder + "/apt.conf", "LC_ALL": "C",
                            "DEBIAN_FRONTEND": "noninteractive"}
        try:
            self.apt("update", "--error-on=any")
        except Missing:
            self.close()
            raise
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def configuration(self) -> Iterator[str]:
        """Yields the lines of apt.conf: the proxies of this machine, then the folders of this
        archive."""
        for line in process.run(["apt-config", "dump"]).stdout.splitlines():
            if line.startswith("Acquire::"):
                yield line + "\n"
        settings = {
            "Dir::Etc": "/etc", "Dir::Etc::sourcelist": "/etc/sources.list",
            "Dir::State": "/state", "Dir::State::lists": "/state/lists",
            "Dir::State::status": "/status", "Dir::Cache": "/cache",
            "Dir::Cache::archives": "/cache/archives",
        }
        settings = {key: self.folder + value for key, value in settings.items()}
        for key in ("main", "parts", "sourceparts", "preferencesparts"):
            settings["Dir::Etc::" + key] = "/dev/null"
        settings.update({
            "Dir::Etc::trusted": "/etc/apt/trusted.gpg",
            "Dir::Etc::trustedparts": "/etc/apt/trusted.gpg.d",
            "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
            "APT::Install-Recommends": "false", "Acquire::Languages": "none",
            "Acquire::Retries": "3", "Debug::NoLocking": "true",
        })
        if self.architecture:
            settings["APT::Architecture"] = settings["APT::Architectures::"] = self.architecture
        for item in settings.items():
            yield '%s "%s";\n' % item

    def apt(self, *arguments: str, **more: Any) -> None:
        result = process.run(["apt-get", "-q", *arguments], env=self.environment, **more)
        errors = [line for line in result.stderr.splitlines() if line.startswith(("E:", "Err:"))]
        if result.returncode or errors:
            problem = errors[-1] if errors else "exit %d" % result.returncode
            raise Missing("apt-get %s: %s" % (arguments[0], remove_addresses(problem)))

    def ask(self, *arguments: str) -> str:
        return process.run(["apt-cache", *arguments], env=self.environment).stdout

    def target(self) -> list[str]:
        """Returns the option -t for backports; for other suites it would override the security
        archive."""
        return ["-t", self.suite] if self.suite.endswith("-backports") else []

    def candidate(self, package: str) -> str | None:
        """Returns the version that the suite would install, or None."""
        policy = self.ask(*self.target(), "policy", package)
        match = re.search(r"^ *Candidate: (?!\(none\))(\S+)", policy, re.MULTILINE)
        return match.group(1) if match else None

    def listed(self, pattern: str) -> list[dict[str, str]]:
        """Returns the fields of each version of each package whose name matches."""
        matches = self.ask("search", "--names-only", pattern)
        names = sorted({line.split()[0] for line in matches.splitlines()})
        if not names:
            return []
        description = self.ask("show", *names)
        stanzas = (dict(re.findall(r"^([A-Z][\w-]*): (.*)$", stanza, re.MULTILINE))
                   for stanza in description.split("\n\n"))
        return [stanza for stanza in stanzas if "Package" in stanza]

    def fetch(self, package: str, version: str, folder: str) -> str:
        """Downloads one version of a package into @folder, checked by apt, and returns its path.
        Does not download dependencies."""
        self.apt("download", "%s=%s" % (package, version), cwd=folder)
        archives = [name for name in os.listdir(folder)
                 if name.startswith(package + "_") and name.endswith(".deb")]
        if len(archives) != 1:
            raise Missing("apt-get download %s: expected 1 file, found %d"
                          % (package, len(archives)))
        return os.path.join(folder, archives[0])

    def download(self, package: str) -> list[str]:
        """Returns the paths of the package and of its dependencies; leaving the context removes
        them."""
        self.apt("install", "--download-only", "-y", *self.target(), package)
        folder = self.folder + "/cache/archives"
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))
                if name.endswith(".deb")]


def unpack(archives: Sequence[str], root: str) -> None:
    """Unpacks the packages over each other below @root."""
    # On merged-/usr systems /lib is a link to usr/lib; old and new packages must both follow it.
    for name in ("bin", "lib", "lib64", "sbin"):
        os.makedirs(os.path.join(root, "usr", name), exist_ok=True)
        if not os.path.lexists(os.path.join(root, name)):
            os.symlink("usr/" + name, os.path.join(root, name))
    for path in archives:
        archive = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE)
        # Follow existing links, as dpkg does.
        result = subprocess.run(["tar", "-x", "--keep-directory-symlink", "--no-same-owner",
                                 "--no-same-permissions", "--exclude=./dev/*", "-C", root],
                              stdin=archive.stdout, stderr=subprocess.PIPE, check=False)
        assert archive.stdout
        archive.stdout.close()
        if archive.wait() or result.returncode:
            raise Missing("unpacking %s: %s" % (os.path.basename(path),
                                                result.stderr.decode(errors="replace")[-200:]))
