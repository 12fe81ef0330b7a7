# SPDX-License-Identifier: GPL-2.0-only
"""Drivers that disturb a run from outside: stops, load, cgroups, mounts. They end with the run."""

import contextlib
import ctypes
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Callable, Iterable, Sequence

from ci.base import files, process
from ci.base.status import Missing

PDEATHSIG, SUBREAPER = 1, 36  # PR_SET_*, linux/prctl.h
Pids = Callable[[], list[int]]


def set_process(option: int, value: int) -> None:
    """Calls prctl(option, value). Raises OSError if the kernel refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, "prctl(%d): %s" % (option, os.strerror(number)))


def find_session(session: int) -> list[int]:
    """Returns the running processes of a session, which may have several process groups."""
    return [pid for pid, _, fields in process.read_stats() if fields[0] not in "ZX"
            and int(fields[3]) == session]


def find_machines(root: int) -> list[int]:
    """Returns the children of a process that run QEMU."""
    machines = []
    for pid, _, fields in process.read_stats():
        with contextlib.suppress(OSError):
            words = files.read("/proc/%d/cmdline" % pid, "replace")
            if int(fields[1]) == root and "qemu-system" in words and "-kernel" in words:
                machines.append(pid)
    return machines


def signal_all(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def stop_at_random(pids: Pids, chance: random.Random, milliseconds: tuple[int, int],
                   ended: threading.Event) -> None:
    """Stops processes for random times, and lets them run for up to six times the longest stop in
    between. @pids: returns the processes. @milliseconds: the shortest and longest stop."""
    shortest, longest = milliseconds
    while not ended.wait(chance.uniform(shortest, 6 * longest) / 1000):
        stopped = pids()
        try:
            signal_all(stopped, signal.SIGSTOP)
            time.sleep(chance.uniform(shortest, longest) / 1000)
        finally:
            signal_all(stopped, signal.SIGCONT)


def stop_by_slices(stop: Callable[[bool], None], share: float, ended: threading.Event) -> None:
    """Calls stop(True) and stop(False) in slices of 100 ms; @share of each is stopped."""
    try:
        while not ended.wait(0.1 * (1 - share)):
            stop(True)
            time.sleep(0.1 * share)
            stop(False)
    finally:
        stop(False)


class Cgroup:
    """A new cgroup with one controller, of version 1 or 2."""

    def __init__(self, controller: str) -> None:
        self.version, root = find_controller(controller)
        self.path = os.path.join(root, "jitproof-soak-%d" % os.getpid())
        try:
            if self.version == 2 and controller != "freezer":
                files.write(root + "/cgroup.subtree_control", "+" + controller)
            os.mkdir(self.path)
        except OSError as error:
            raise Missing("no cgroup with %s: %s" % (controller, error.strerror)) from error

    def set(self, name: str, value: object) -> None:
        """Writes a file of the cgroup. Raises Missing if the kernel refuses."""
        try:
            files.write(os.path.join(self.path, name), str(value))
        except OSError as error:
            raise Missing("%s of a cgroup: %s" % (name, error.strerror)) from error

    def enter(self) -> None:
        files.write(self.path + "/cgroup.procs", str(os.getpid()))

    def freeze(self, frozen: bool) -> None:
        if self.version == 2:
            files.write(self.path + "/cgroup.freeze", str(int(frozen)))
        else:
            files.write(self.path + "/freezer.state", "FROZEN" if frozen else "THAWED")

    def close(self) -> None:
        """Kills the remaining processes, and removes the cgroup."""
        for _ in range(100):
            try:
                os.rmdir(self.path)
                return
            except FileNotFoundError:
                return
            except OSError:
                signal_all(map(int, files.read(self.path + "/cgroup.procs").split()),
                           signal.SIGKILL)
                time.sleep(0.05)
        print("soak: %s cannot be removed" % self.path, file=sys.stderr)


def find_controller(controller: str) -> tuple[int, str]:
    """Returns the version of cgroups that has a controller, and the folder of its root."""
    unified = ""
    for line in files.read("/proc/self/mounts").splitlines():
        _, folder, kind, options = line.split()[:4]
        if kind == "cgroup" and controller in options.split(","):
            return 1, folder
        if kind == "cgroup2":
            unified = unified or folder
    # In version 2 each cgroup can freeze; there is no controller for it.
    if unified and (controller == "freezer" or controller in files.read(
            unified + "/cgroup.controllers").split()):
        return 2, unified
    raise Missing("no cgroup controller %s" % controller)


def start_python(code: str, stack: contextlib.ExitStack, count: int = 1, *arguments: str) -> None:
    """Starts Python processes that run @code until the stack closes."""
    for _ in range(count):
        start_process(stack, [sys.executable, "-c", code, *arguments])


def start_process(stack: contextlib.ExitStack, command: Sequence[str],
                  number: int = signal.SIGKILL) -> subprocess.Popen[bytes]:
    """Starts a process that gets the signal @number when the stack closes, and dies with us."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True,
                             preexec_fn=lambda: set_process(PDEATHSIG, signal.SIGKILL))

    def end() -> None:
        child.send_signal(number)
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    stack.callback(end)
    return child


def make_folder(stack: contextlib.ExitStack, parent: str | None = None) -> str:
    """Makes a folder that is removed when the stack closes."""
    path = tempfile.mkdtemp(prefix="soak-", dir=parent)
    stack.callback(process.run, ["rm", "-rf", path])
    return path


def mount_tmpfs(stack: contextlib.ExitStack, folder: str, options: str) -> None:
    """Mounts a tmpfs until the stack closes. Raises Missing if the kernel refuses."""
    result = process.run(["mount", "-t", "tmpfs", "-o", options, "soak", folder])
    if result.returncode:
        raise Missing("mount: " + result.stderr.strip())
    stack.callback(process.run, ["umount", "-l", folder])
