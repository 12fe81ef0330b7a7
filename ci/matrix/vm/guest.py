# SPDX-License-Identifier: GPL-2.0-only
"""Runs one VM: follows its console, and ends it if it makes no progress in time."""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from typing import Callable, IO

from ci.matrix.vm import qemu

MARK = "jitproof-vm: "  # begins the messages of ci/matrix/vm/init.c
STEP = re.compile(r"# (\d+) of (\d+): (\S+): ")  # a line of `jitproof run` when a case ends
SLICE = 0.2  # seconds between two reads of the console


class Lost(Exception):
    """A VM gave no result; the message is the reason. Failing cases do not count."""


class Console:
    """Reads the file of the guest's console, which grows, by lines."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.offset = 0
        self.rest = b""

    def read_new_lines(self) -> list[str]:
        """Returns the complete lines that were written since the last call."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self.offset)
                text = file.read()
        except FileNotFoundError:
            return []
        self.offset += len(text)
        *complete, self.rest = (self.rest + text).split(b"\n")
        return [line.decode("utf-8", "replace").strip("\r") for line in complete]


class Watch:
    """Follows a guest's progress by the lines of its console."""

    def __init__(self, limits: dict[str, int]) -> None:
        self.limits = limits
        self.stage = "boot"  # what the guest does: a key of limits
        self.since = time.monotonic()  # time of the last progress
        self.at = "booting"
        self.seconds: dict[str, str] = {}  # guest time at the end of each command
        self.status: dict[str, int] = {}  # exit status of each command, by its output's name
        self.left: int | None = None  # status of the whole job, once its results are written

    def handle_line(self, line: str) -> bool:
        """Returns True if the line reports progress."""
        step = STEP.match(line)
        mark = line.find(MARK)
        if not step and mark < 0:
            return False
        if step:
            self.at = "%s of %s: %s" % step.groups()
        else:
            self.handle_message(line[mark + len(MARK):].split())
        self.since = time.monotonic()
        return True

    def handle_message(self, words: list[str]) -> None:
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

    def describe_delay(self) -> str | None:
        """Returns what the guest did not do in time, or None."""
        limit = self.limits[self.stage]
        if time.monotonic() - self.since < limit:
            return None
        return {"boot": "it did not boot", "case": "no answer after '%s'" % self.at,
                "leave": "it did not leave its results"}[self.stage] + " in %d s" % limit


def start(command: list[str], folder: str, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Starts QEMU in @folder. If setpriv is installed, QEMU dies with us even by SIGKILL."""
    setpriv = shutil.which("setpriv")
    if setpriv:
        command = [setpriv, "--pdeathsig", "KILL", *command]
    # In its own process group, so that Ctrl-C reaches only us.
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
        report: Callable[[str], None]) -> Watch:
    """Runs a VM in its folder until it ends. @stopped: an event that ends it early. @report: called
    with each progress. Raises Lost if the guest took too long or QEMU failed."""
    console, watch = Console(os.path.join(folder, qemu.CONSOLE)), Watch(limits)
    log_path = os.path.join(folder, qemu.LOG)
    with open(log_path, "wb") as log:
        process = start(command, folder, log)
        try:
            while True:
                ended = process.poll() is not None
                for line in console.read_new_lines():
                    if watch.handle_line(line):
                        report(watch.at)
                if ended:
                    break
                if stopped.is_set():
                    raise KeyboardInterrupt
                late = watch.describe_delay()
                if late:
                    raise Lost(late)
                stopped.wait(SLICE)
        finally:
            end(process)
    with open(log_path, encoding="utf-8", errors="replace") as log:
        output = log.read().strip()
    if "LD_PRELOAD" in output:  # the loader reports a library that it cannot load
        raise Lost("QEMU ran by this machine's clock: %s" % output[:300])
    if process.returncode:
        raise Lost("QEMU ended with status %d: %s" % (process.returncode, output[-300:]))
    return watch
