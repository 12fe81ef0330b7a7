# SPDX-License-Identifier: GPL-2.0-only
"""One VM from its start to its end: what it says, how long it may be silent, what it leaves."""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from typing import Callable, IO

from ci.matrix.vm import qemu

MARK = "jitproof-vm: "
STEP = re.compile(r"# (\d+) of (\d+): (\S+): ")
SLICE = 0.2


class Lost(Exception):
    """Why there is no result of a machine, apart from failing cases."""


class Console:
    """The growing file of what the guest says, line by line."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.offset = 0
        self.rest = b""

    def lines(self) -> list[str]:
        """Whole lines that are new."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self.offset)
                new = file.read()
        except FileNotFoundError:
            return []
        self.offset += len(new)
        *whole, self.rest = (self.rest + new).split(b"\n")
        return [line.decode("utf-8", "replace").strip("\r") for line in whole]


class Watch:
    """What the guest is at, by its lines; and since when, on this machine's clock."""

    def __init__(self, limits: dict[str, int]) -> None:
        self.limits = limits
        self.stage = "boot"
        self.since = time.monotonic()
        self.at = "booting"
        self.seconds: dict[str, str] = {}  # of the guest's clock, by what ran
        self.status: dict[str, int] = {}
        self.left: int | None = None

    def take(self, line: str) -> bool:
        """True when the line tells of progress."""
        step = STEP.match(line)
        mark = line.find(MARK)
        if not step and mark < 0:
            return False
        if step:
            self.at = "%s of %s: %s" % step.groups()
        else:
            self.marked(line[mark + len(MARK):].split())
        self.since = time.monotonic()
        return True

    def marked(self, words: list[str]) -> None:
        if words[:1] == ["ready"]:
            self.stage = "case"
            self.at = "up"
        elif words[:1] == ["ran"] and len(words) == 5:
            self.status[words[1]] = int(words[2])
            self.seconds[words[1]] = words[4]
            self.stage = "case"
        elif words[:1] == ["left"]:
            self.left = int(words[1])
        if words[:1] == ["ran"] and words[1] == "run.txt":
            self.stage = "leave"
            self.at = "leaving its results"

    def overdue(self) -> str | None:
        """What was not done in time, or None."""
        limit = self.limits[self.stage]
        if time.monotonic() - self.since < limit:
            return None
        return {"boot": "it did not boot", "case": "no answer after '%s'" % self.at,
                "leave": "it did not leave its results"}[self.stage] + " in %d s" % limit


def start(command: list[str], folder: str, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """The process, in the folder. Should we be killed outright, it goes too where the system can
    do that."""
    setpriv = shutil.which("setpriv")
    if setpriv:
        command = [setpriv, "--pdeathsig", "KILL", *command]
    # Not in our group: Ctrl-C is ours to handle, and each machine is ended once.
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                            start_new_session=True)


def end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


def run(command: list[str], folder: str, limits: dict[str, int], stopped: threading.Event,
        tell: Callable[[str], None]) -> Watch:
    """Runs a machine in its folder to its end. @stopped: an Event that ends it early; @tell(text):
    progress. Returns its Watch; Lost where it took too long or QEMU failed."""
    console, watch = Console(os.path.join(folder, qemu.CONSOLE)), Watch(limits)
    log_path = os.path.join(folder, qemu.LOG)
    with open(log_path, "wb") as log:
        process = start(command, folder, log)
        try:
            while True:
                over = process.poll() is not None
                for line in console.lines():
                    if watch.take(line):
                        tell(watch.at)
                if over:
                    break
                if stopped.is_set():
                    raise KeyboardInterrupt
                late = watch.overdue()
                if late:
                    raise Lost(late)
                stopped.wait(SLICE)
        finally:
            end(process)
    with open(log_path, encoding="utf-8", errors="replace") as log:
        said = log.read().strip()
    if "LD_PRELOAD" in said:
        raise Lost("QEMU ran by this machine's clock: %s" % said[:300])
    if process.returncode:
        raise Lost("QEMU ended with status %d: %s" % (process.returncode, said[-300:]))
    return watch
