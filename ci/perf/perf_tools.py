#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Downloads the perf of several Debian suites and runs them without installing them.

    perf = perf_tools.find("build/perf", "6.12")  # or "trixie", or "installed"
    perf.run("record", "-o", "x.data", "--", "true")

linux-perf of a suite and its dependencies are unpacked into DIR/SUITE/root. DIR/SUITE/perf starts
perf with the libraries of that suite. Existing folders are used again.
"""

import argparse
import dataclasses
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from typing import Any
import urllib.parse

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import debian_packages, files, process
from ci.base.status import Missing

# The perfs of six years, oldest first; each needs about 220 MB of disk and 45 MB of network.
SUITES = ("bullseye", "bookworm", "trixie", "sid", "trixie-backports")
INSTALLED = "installed"
LD_SO = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}

# Runs perf with the suite's loader: LD_LIBRARY_PATH would also affect the recorded program. The
# loader is called `perf`, since that name appears in recordings. Without PERF_CONFIG, perf does not
# use the user's configuration and cache of binaries.
WRAPPER = """#!/bin/sh
here=${0%%/*}
export PERF_CONFIG="${PERF_CONFIG-$here/perfconfig}"
exec "$here/loader/perf" \\
	--library-path "$here/root/%(libraries)s:$here/root/usr/lib" \\
	"$here/root/usr/bin/%(name)s" "$@"
"""


@dataclasses.dataclass(frozen=True)
class Perf:
    """A perf that runs on this machine."""
    suite: str
    version: str  # "6.12.107"
    path: str  # the command that starts this perf
    packages: tuple = ()  # NAME_VERSION_ARCH of the package and its dependencies

    @property
    def environment(self) -> dict[str, str]:
        """The environment that makes perf's output readable by programs."""
        return {**os.environ, "LC_ALL": "C", "PAGER": "cat", "DEBUGINFOD_URLS": ""}

    @property
    def number(self) -> tuple[int, ...]:
        """(6, 12, 107) for "6.12.107", to sort by."""
        return tuple(int(part) for part in re.findall(r"\d+", self.version)[:3])

    def run(self, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """Runs perf. Returns the finished process with its output and errors as text."""
        return process.run([self.path, *arguments],
                           **{"env": self.environment, "timeout": 300, **more})


def read_version(path: str) -> str:
    """Reads the version of the perf @path. Raises Missing if it does not start."""
    try:
        result = process.run([path, "--version"], timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing("it does not start: %s" % error) from error
    match = re.match(r"perf version (\d\S*)", result.stdout)
    if not match:
        raise Missing("it does not start: %s" % (result.stderr or result.stdout).strip()[:200])
    return match.group(1)


def find_installed() -> Perf:
    path = process.find_program("perf")
    return Perf(INSTALLED, read_version(path), path)


def write_wrapper(home: str) -> str:
    """Writes home/perf, a script that starts the perf in home/root, and returns its path."""
    binaries = os.listdir(os.path.join(home, "root/usr/bin"))
    # In bullseye `perf` is a script that runs perf_RELEASE.
    versioned = sorted(name for name in binaries if re.match(r"perf_\d", name))
    path = os.path.join(home, "perf")
    libraries = "usr/lib/%s-linux-gnu" % platform.machine()
    files.write(path, WRAPPER % {
        "libraries": libraries, "name": versioned[-1] if versioned else "perf"})
    os.makedirs(os.path.join(home, "loader"))
    os.symlink(os.path.join("../root", libraries, LD_SO[platform.machine()]),
               os.path.join(home, "loader/perf"))
    os.chmod(path, 0o755)
    files.write(os.path.join(home, "perfconfig"),
                "[buildid]\n\tdir = %s\n" % os.path.join(home, "buildid"))
    return path


def find_fetched(folder: str, suite: str) -> Perf | None:
    """Returns the perf of a suite that was fetched before, or None."""
    home = os.path.join(os.path.abspath(folder), suite)
    try:
        stored_state = json.loads(files.read(os.path.join(home, "fetched.json")))
        return Perf(suite, stored_state["version"], os.path.join(home, "perf"),
                    tuple(stored_state["packages"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def download(home: str, archive: debian_packages.Archive) -> None:
    """Downloads and unpacks linux-perf into an empty folder. Writes fetched.json last."""
    paths = archive.download("linux-perf")
    debian_packages.unpack(paths, os.path.join(home, "root"))
    packages = [urllib.parse.unquote(os.path.basename(path).removesuffix(".deb"))
                for path in paths]
    version = read_version(write_wrapper(home))
    files.write(os.path.join(home, "fetched.json"), json.dumps(
        {"version": version, "packages": packages}, indent=1) + "\n")


def fetch(folder: str, suite: str, number: str | None = None) -> Perf | None:
    """Returns a suite's perf, downloaded if necessary. If @number ("6.12") is given and the suite
    has another version, downloads nothing and returns None."""
    perf = find_fetched(folder, suite)
    if not perf:
        if platform.machine() not in LD_SO:
            raise Missing("perf packages are not supported on %s" % platform.machine())
        home = os.path.join(os.path.abspath(folder), suite)
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(home)
        with debian_packages.Archive(suite, home) as archive:
            if number and not is_number(archive.candidate("linux-perf") or "", number):
                return None
            download(home, archive)
        perf = find_fetched(folder, suite)
    return perf if perf and (not number or is_number(perf.version, number)) else None


def is_number(version: str, number: str) -> bool:
    """Returns whether a version begins with a number: 6.12.107-1 begins with 6.12, not 6.1."""
    return re.match(re.escape(number) + r"(?![0-9])", version) is not None


def find(folder: str, version: str) -> Perf:
    """Finds the perf of a suite ("trixie"), of a version ("6.12", "6.12.107"), or "installed"."""
    if version == INSTALLED:
        return find_installed()
    if not version[:1].isdigit():
        perf = fetch(folder, version)
        if not perf:
            raise Missing("perf of %s was not unpacked completely" % version)
        return perf
    for fetched in (find_fetched(folder, suite) for suite in SUITES):
        if fetched and is_number(fetched.version, version):
            return fetched
    for suite in SUITES:
        perf = fetch(folder, suite, version)
        if perf:
            return perf
    raise Missing("no suite has perf %s now: %s" % (version, ", ".join(SUITES)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", default="build/perf", help="default: %(default)s")
    parser.add_argument("wanted", nargs="*", default=SUITES,
                        help="suites or versions (default: %s)" % ", ".join(SUITES))
    options = parser.parse_args()
    nr_found = 0
    for version in options.wanted:
        start = time.monotonic()
        try:
            perf = find(options.dir, version)
        except Missing as reason:
            print("SKIP %s: %s" % (version, reason), flush=True)
            continue
        nr_found += 1
        print("%s: perf %s: %s (%.1f s)" % (perf.suite, perf.version, perf.path,
                                            time.monotonic() - start), flush=True)
    return 0 if nr_found else 4


if __name__ == "__main__":
    sys.exit(main())
