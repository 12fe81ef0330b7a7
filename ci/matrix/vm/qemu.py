# SPDX-License-Identifier: GPL-2.0-only
"""The QEMU that boots the kernels: which one, and its command line."""

import dataclasses
import json
import os
import platform
import re
import shutil
import subprocess
from typing import Any

from ci.base import debian_packages, files, process
from ci.base.status import Missing
from ci.base.text import numbers

NAME = "qemu-system-x86_64"
# One instruction is 8 ns of virtual time and idling takes none: a guest's run is a function of its
# inputs alone. The clock starts at a fixed date, and no device asks this machine for anything.
ICOUNT = ("-accel", "tcg", "-icount", "shift=3,sleep=off",
          "-rtc", "base=2026-01-01T00:00:00,clock=vm")
KVM = ("-accel", "kvm", "-cpu", "host")
# The guest's clocks follow this machine's: the guest notices when QEMU stands still.
WALL = ("-accel", "tcg")
# A machine's files in its folder, where QEMU runs: whatever the folder is called, their names hold
# nothing that QEMU or the loader would take apart.
INITRD, CONSOLE, OUTPUT, CLOCK, LOG = "initrd", "console", "output", "clock.so", "qemu.txt"
# By its own loader, with the libraries of its own suite.
WRAPPER = """#!/bin/sh
here=${0%%/*}
exec "$here/root/%(libraries)s/ld-linux-x86-64.so.2" \\
	--library-path "$here/root/%(libraries)s:$here/root/usr/lib" \\
	"$here/root/usr/bin/%(name)s" -L "$here/root/usr/share/qemu" \\
	-L "$here/root/usr/share/seabios" "$@"
"""


@dataclasses.dataclass(frozen=True)
class Qemu:
    """One that runs here."""
    path: str
    version: str
    package: str  # "" for the one in PATH


@dataclasses.dataclass(frozen=True)
class Machine:
    """What a guest has."""
    kernel: str  # absolute path
    append: str
    smp: int
    memory: int  # MiB
    output: int  # bytes of the output memory
    accelerator: str = "tcg"
    clock: str = ""  # its clock of the day, a library to load; only for TCG


def version_of(path: str) -> str:
    try:
        said = process.run([path, "--version"], timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing("%s does not start: %s" % (NAME, error)) from error
    match = re.search(r"version (\d[\d.]*\d)", said)
    if not match:
        raise Missing("%s does not tell its version" % NAME)
    return match.group(1)


def new_enough(version: str, oldest: str) -> bool:
    return numbers(version) >= numbers(oldest)


def unpacked(folder: str) -> Qemu | None:
    """What was unpacked before, or None."""
    try:
        known = json.loads(files.read(os.path.join(folder, "unpacked.json")))
        return Qemu(os.path.join(folder, NAME), known["version"], known["package"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def unpack(config: dict[str, Any], folder: str) -> Qemu:
    """Downloads the package and all that it needs; unpacked.json is the last file to appear."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with debian_packages.Archive(config["suite"], folder) as archive:
        paths = archive.download(config["package"])
        package = next(os.path.basename(path) for path in paths
                       if os.path.basename(path).startswith(config["package"] + "_"))
        debian_packages.unpack(paths, os.path.join(folder, "root"))
    path = os.path.join(folder, NAME)
    files.write(path, WRAPPER % {"name": NAME, "libraries": "usr/lib/x86_64-linux-gnu"})
    os.chmod(path, 0o755)
    version = version_of(path)
    files.write(os.path.join(folder, "unpacked.json"), json.dumps(
        {"version": version, "package": package.removesuffix(".deb")}) + "\n")
    found = unpacked(folder)
    if not found:
        raise Missing("%s was not unpacked as a whole" % NAME)
    return found


def find(config: dict[str, Any], cache: str) -> Qemu:
    """The one in PATH where it is new enough, else the archive's."""
    if platform.machine() != "x86_64":
        raise Missing("the matrix runs x86-64 kernels on x86-64 only, this is %s"
                      % platform.machine())
    path = shutil.which(NAME)
    if path:
        path = os.path.abspath(path)
        version = version_of(path)
        if new_enough(version, config["oldest"]):
            return Qemu(path, version, "")
    folder = os.path.join(os.path.abspath(cache), "qemu")
    found = unpacked(folder) or unpack(config, folder)
    if not new_enough(found.version, config["oldest"]):
        raise Missing("%s is %s; expected %s or newer" % (NAME, found.version, config["oldest"]))
    return found


def furnish(folder: str, machine: Machine, initrd: bytes) -> None:
    """Puts into an empty folder what QEMU reads there, and what stands behind the output memory.
    @initrd: bytes."""
    files.write_bytes(os.path.join(folder, INITRD), initrd)
    with open(os.path.join(folder, OUTPUT), "wb") as file:
        file.truncate(machine.output)
    if machine.clock:
        shutil.copy(machine.clock, os.path.join(folder, CLOCK))


def command(qemu: Qemu, machine: Machine) -> list[str]:
    """Its words, to be run in the folder."""
    if machine.accelerator == "kvm":
        start = [qemu.path, *KVM]
    elif machine.accelerator == "wall":
        start = [qemu.path, *WALL]
    else:
        start = ["env", "LD_PRELOAD=./" + CLOCK, qemu.path, *ICOUNT]
    return [
        *start, "-nodefaults", "-no-user-config", "-no-reboot",
        "-display", "none", "-monitor", "none", "-smp", str(machine.smp),
        "-m", str(machine.memory), "-chardev", "file,id=console,path=" + CONSOLE,
        "-serial", "chardev:console",
        # Results leave by memory that both sides see: no interrupt, no driver, no timing of this
        # machine in the guest's.
        "-object", "memory-backend-file,id=output,share=on,mem-path=%s,size=%d"
        % (OUTPUT, machine.output), "-device", "ivshmem-plain,memdev=output",
        "-kernel", machine.kernel, "-initrd", INITRD, "-append", machine.append,
    ]
