#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fetches the perf of other Debian suites, unpacked next to each other and not installed.

For each suite: linux-perf and all that it needs, from the mirror that this machine's apt uses, into
DIR/suites/SUITE; then DIR/VERSION/perf starts it with the libraries of that suite. What is there
already stays as it is. Prints one line for each suite.
"""

import argparse
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time

# The perfs of five years; each needs about 220 MB of disk and 45 MB of network.
SUITES = ("bullseye", "bookworm", "trixie", "trixie-backports", "sid")
NAMES = r"(?:buster|bullseye|bookworm|trixie|forky|sid|(?:old)*stable|testing|unstable)"
MAIN = re.compile(NAMES + r"(?:-updates|-backports)?$")
SECURITY = re.compile(NAMES + r"(?:-security|/updates)$")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LD_SO = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}


class Missing(Exception):
    """Why a perf is not to be had here: a reason to skip, not a failure."""


def run(command, **more):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, encoding="utf-8",
                          errors="replace", **more)


def mirrors():
    """(the archive, the security archive or None), as apt knows them. They are told to nobody."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise Missing("this machine has no apt-get")
    main = security = None
    listed = run(["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)"])
    for line in listed.stdout.splitlines():
        release, _, uri = line.partition(" ")
        if SECURITY.match(release):
            security = security or uri
        elif MAIN.match(release):
            main = main or uri
    if not main:
        raise Missing("apt knows no Debian mirror on this machine")
    return main, security


def sources(suite, main, security):
    """The lines of a sources.list for a suite and what it stands on."""
    signed = "[signed-by=%s] " % KEYRING if os.path.exists(KEYRING) else ""
    base = suite.removesuffix("-backports")
    lines = ["deb %s%s %s main" % (signed, main, base)]
    if base != suite:
        lines.append("deb %s%s %s main" % (signed, main, suite))
    if security and base != "sid":
        lines.append("deb %s%s %s-security main" % (signed, security, base))
    return lines


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def private_apt(folder, lines):
    """An apt of our own below a folder: its own lists, nothing installed. Returns the environment
    that makes apt-get use it. The machine's ways through proxies stay in force."""
    for name in ("etc", "state/lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    acquire = [line for line in run(["apt-config", "dump"]).stdout.splitlines()
               if line.startswith(("Acquire::", "DPkg::Lock::"))]
    write(os.path.join(folder, "status"), "")
    write(os.path.join(folder, "etc/sources.list"), "\n".join(lines) + "\n")
    settings = {
        "Dir::Etc": folder + "/etc", "Dir::Etc::sourcelist": folder + "/etc/sources.list",
        "Dir::Etc::sourceparts": "/dev/null", "Dir::Etc::parts": "/dev/null",
        "Dir::Etc::main": "/dev/null", "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::Etc::trusted": "/etc/apt/trusted.gpg",
        "Dir::Etc::trustedparts": "/etc/apt/trusted.gpg.d",
        "Dir::State": folder + "/state", "Dir::State::lists": folder + "/state/lists",
        "Dir::State::status": folder + "/status", "Dir::Cache": folder + "/cache",
        "Dir::Cache::archives": folder + "/cache/archives",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
        "APT::Install-Recommends": "false", "Acquire::Languages": "none", "Acquire::Retries": "3",
        "Debug::NoLocking": "true",
    }
    write(os.path.join(folder, "apt.conf"), "\n".join(
        acquire + ['%s "%s";' % item for item in settings.items()]) + "\n")
    return {**os.environ, "APT_CONFIG": os.path.join(folder, "apt.conf"), "LC_ALL": "C",
            "DEBIAN_FRONTEND": "noninteractive"}


def without_addresses(text):
    return re.sub(r"\w+://\S+", "(the mirror)", text)


def apt(environment, *arguments):
    done = run(["apt-get", "-q", *arguments], env=environment)
    errors = [line for line in done.stderr.splitlines() if line.startswith(("E:", "Err:"))]
    if done.returncode or errors:
        said = errors[-1] if errors else "exit %d" % done.returncode
        raise Missing("apt-get %s: %s" % (arguments[0], without_addresses(said)))


def unpack(suite, folder):
    """Fills folder/root with linux-perf of a suite and all that it needs."""
    apt_folder = os.path.join(folder, "apt")
    environment = private_apt(apt_folder, sources(suite, *mirrors()))
    apt(environment, "update", "--error-on=any")
    # A target takes precedence over the security archive, and only backports need one.
    target = ["-t", suite] if suite.endswith("-backports") else []
    apt(environment, "install", "--download-only", "-y", *target, "linux-perf")
    archives = os.path.join(apt_folder, "cache/archives")
    root = os.path.join(folder, "root")
    # Where /lib is a link to usr/lib, packages old and new must agree on it.
    for name in ("bin", "lib", "lib64", "sbin"):
        os.makedirs(os.path.join(root, "usr", name), exist_ok=True)
        if not os.path.lexists(os.path.join(root, name)):
            os.symlink("usr/" + name, os.path.join(root, name))
    for name in sorted(os.listdir(archives)):
        if not name.endswith(".deb"):
            continue
        files = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", os.path.join(archives, name)],
                                 stdout=subprocess.PIPE)
        # As dpkg does, through the links that are there.
        done = subprocess.run(["tar", "-x", "--keep-directory-symlink", "--no-same-owner",
                               "--no-same-permissions", "--exclude=./dev/*", "-C", root],
                              stdin=files.stdout, stderr=subprocess.PIPE, check=False)
        files.stdout.close()
        if files.wait() or done.returncode:
            raise Missing("unpacking %s: %s" % (name, done.stderr.decode(errors="replace")[-200:]))
    shutil.rmtree(apt_folder)


def command_of(root):
    """The command that starts a root's perf with that root's libraries, and no others."""
    multiarch = platform.machine() + "-linux-gnu"
    binaries = os.path.join(root, "usr/bin")
    # linux-perf of bullseye has a script called perf that looks for perf_RELEASE.
    versioned = [name for name in sorted(os.listdir(binaries)) if re.match(r"perf_\d", name)]
    name = versioned[-1] if versioned else "perf"
    libraries = ":".join(os.path.join(root, part) for part in
                         ("usr/lib/" + multiarch, "usr/lib"))
    return [os.path.join(root,
        "usr/lib", multiarch, LD_SO[platform.machine()]), "--library-path", libraries,
            os.path.join(binaries, name)]


def fetch(folder, suite):
    """The version and the path of a suite's perf, downloaded where it is not there already."""
    if platform.machine() not in LD_SO:
        raise Missing("on %s no perf was tried" % platform.machine())
    home = os.path.join(folder, "suites", suite)
    done = os.path.join(home, "fetched.json")
    if not os.path.exists(done):
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(home)
        unpack(suite, home)
        command = command_of(os.path.join(home, "root"))
        said = run(command + ["--version"])
        match = re.match(r"perf version (\S+)", said.stdout)
        if not match:
            raise Missing("it does not start: %s" % (said.stderr.strip() or said.stdout))
        wrapper = os.path.join(folder, match.group(1), "perf")
        os.makedirs(os.path.dirname(wrapper), exist_ok=True)
        write(wrapper, '#!/bin/sh\nexec %s "$@"\n' % shlex.join(command))
        os.chmod(wrapper, 0o755)
        write(done, json.dumps({"version": match.group(1), "perf": wrapper}) + "\n")
    with open(done, encoding="utf-8") as file:
        found = json.load(file)
    return found["version"], found["perf"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", default="build/perf", help="default: %(default)s")
    parser.add_argument("suite", nargs="*", default=SUITES, help="default: " + ", ".join(SUITES))
    options = parser.parse_args()
    found = 0
    for suite in options.suite:
        start = time.monotonic()
        try:
            version, path = fetch(os.path.abspath(options.dir), suite)
        except Missing as reason:
            print("SKIP %s: %s" % (suite, reason), flush=True)
            continue
        found += 1
        print("%s: perf %s: %s (%.1f s)" % (suite, version, path, time.monotonic() - start),
              flush=True)
    return 0 if found else 4


if __name__ == "__main__":
    sys.exit(main())
