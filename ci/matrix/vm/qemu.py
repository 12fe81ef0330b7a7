# SPDX-License-Identifier: GPL-2.0-only
"""Finds or downloads the QEMU that boots the kernels, and makes its command line."""

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
from ci.base.text import parse_numbers

# An instruction takes 8 ns of virtual time and idling none, so a guest's run is a function of its
# inputs. The clock starts at a fixed date, and no device reads this machine's state.
ICOUNT = ("-accel", "tcg", "-icount", "shift=3,sleep=off",
          "-rtc", "base=2026-01-01T00:00:00,clock=vm")
KVM = ("-accel", "kvm", "-cpu", "host")
# The guest's clocks follow this machine's clock: the guest notices when QEMU stands still.
WALL = ("-accel", "tcg")
# Files in the folder where QEMU runs. Relative names, since QEMU and the loader split paths with
# commas or colons.
INITRD, CONSOLE, OUTPUT, CLOCK, LOG = "initrd", "console", "output", "clock.so", "qemu.txt"
# Runs QEMU with the loader and the libraries of its own suite.
WRAPPER = """#!/bin/sh
here=${0%%/*}
exec "$here/root/%(libraries)s/ld-linux-x86-64.so.2" \\
	--library-path "$here/root/%(libraries)s:$here/root/usr/lib" \\
	"$here/root/usr/bin/%(name)s" -L "$here/root/usr/share/qemu" \\
	-L "$here/root/usr/share/seabios" "$@"
"""


@dataclasses.dataclass(frozen=True)
class Qemu:
    """A QEMU that runs on this machine."""
    path: str
    version: str
    package: str  # "" if it is in PATH


@dataclasses.dataclass(frozen=True)
class Machine:
    """The hardware and kernel of a guest."""
    kernel: str  # absolute path
    append: str  # kernel command line
    smp: int
    memory: int  # MiB
    output: int  # bytes of the output memory
    accelerator: str = "tcg"
    clock: str = ""  # path of clock.so, QEMU's time of day; only for TCG
    options: tuple[str, ...] = ()  # options of QEMU for board and processors


def read_version(path: str) -> str:
    try:
        text = process.run([path, "--version"], timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing("%s does not start: %s" % (os.path.basename(path), error)) from error
    match = re.search(r"version (\d[\d.]*\d)", text)
    if not match:
        raise Missing("%s --version prints no version" % path)
    return match.group(1)


def is_new_enough(version: str, oldest: str) -> bool:
    return parse_numbers(version) >= parse_numbers(oldest)


def find_unpacked(folder: str, program: str) -> Qemu | None:
    """Returns the QEMU that was unpacked into @folder before, or None."""
    try:
        stored_state = json.loads(files.read(os.path.join(folder, "unpacked.json")))
        return Qemu(os.path.join(folder, program), stored_state["version"], stored_state["package"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def unpack(config: dict[str, Any], folder: str) -> Qemu:
    """Downloads and unpacks the package and its dependencies. Writes unpacked.json last."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with debian_packages.Archive(config["suite"], folder) as archive:
        paths = archive.download(config["package"])
        package = next(os.path.basename(path) for path in paths
                       if os.path.basename(path).startswith(config["package"] + "_"))
        debian_packages.unpack(paths, os.path.join(folder, "root"))
    path = os.path.join(folder, config["program"])
    files.write(path, WRAPPER % {"name": config["program"],
                                 "libraries": "usr/lib/x86_64-linux-gnu"})
    os.chmod(path, 0o755)
    emulator = Qemu(path, read_version(path), package.removesuffix(".deb"))
    files.write(os.path.join(folder, "unpacked.json"), json.dumps(
        {"version": emulator.version, "package": emulator.package}) + "\n")
    return emulator


def find(config: dict[str, Any], cache: str) -> Qemu:
    """Returns the QEMU in PATH if it is new enough, otherwise the archive's."""
    if platform.machine() != "x86_64":
        raise Missing("the matrix runs on x86-64 only, this is %s" % platform.machine())
    path = shutil.which(config["program"])
    if path:
        path = os.path.abspath(path)
        version = read_version(path)
        if is_new_enough(version, config["oldest"]):
            return Qemu(path, version, "")
    folder = os.path.join(os.path.abspath(cache), config["program"])
    emulator = find_unpacked(folder, config["program"]) or unpack(config, folder)
    if not is_new_enough(emulator.version, config["oldest"]):
        raise Missing("%s is %s; expected %s or newer" % (config["program"], emulator.version,
                                                          config["oldest"]))
    return emulator


def create_files(folder: str, machine: Machine, initrd: bytes) -> None:
    """Creates the files that QEMU reads, and the file of the output memory, in an empty folder."""
    files.write_bytes(os.path.join(folder, INITRD), initrd)
    with open(os.path.join(folder, OUTPUT), "wb") as file:
        file.truncate(machine.output)
    if machine.clock:
        shutil.copy(machine.clock, os.path.join(folder, CLOCK))


def make_command(qemu: Qemu, machine: Machine) -> list[str]:
    """Returns QEMU's command line, to run in the folder of create_files()."""
    if machine.accelerator == "kvm":
        start = [qemu.path, *KVM]
    elif machine.accelerator == "wall":
        start = [qemu.path, *WALL]
    else:
        start = ["env", "LD_PRELOAD=./" + CLOCK, qemu.path, *ICOUNT]
    return [
        *start, *machine.options, "-nodefaults", "-no-user-config", "-no-reboot",
        "-display", "none", "-monitor", "none", "-smp", str(machine.smp),
        "-m", str(machine.memory), "-chardev", "file,id=console,path=" + CONSOLE,
        "-serial", "chardev:console",
        # The guest leaves its results in shared memory: without interrupts and drivers, the
        # timing of this machine cannot reach the guest.
        "-object", "memory-backend-file,id=output,share=on,mem-path=%s,size=%d"
        % (OUTPUT, machine.output), "-device", "ivshmem-plain,memdev=output",
        "-kernel", machine.kernel, "-initrd", INITRD, "-append", machine.append,
    ]
