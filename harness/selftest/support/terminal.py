# SPDX-License-Identifier: GPL-2.0-only
"""Runs a program whose standard output and standard error are terminals."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
from typing import Sequence


class Terminal:
    """A terminal that collects what a program writes to it."""

    def __init__(self, columns: int) -> None:
        self.ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.bytes = b""
        # A daemon: tests whose program is missing end without finish().
        self.thread = threading.Thread(target=self.collect, daemon=True)
        self.thread.start()

    def collect(self) -> None:
        try:
            while options := os.read(self.ours, 65536):
                self.bytes += options
        except OSError:  # the last writer has closed it
            pass

    def finish(self) -> str:
        """Returns the whole text after all programs have closed the terminal."""
        os.close(self.theirs)
        self.thread.join()
        os.close(self.ours)
        return self.bytes.decode(errors="replace").replace("\r\n", "\n")


class Shown:
    """A program on terminals: @out and @err are complete after finish()."""

    def __init__(self, command: Sequence[str], columns: int = 80) -> None:
        self.terminals = Terminal(columns), Terminal(columns)
        self.out = self.err = ""
        environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment,
                                        stdout=self.terminals[0].theirs,
                                        stderr=self.terminals[1].theirs)

    def finish(self) -> int:
        """Waits until the program ends. Returns the exit status."""
        status = self.process.wait(timeout=240)
        self.out, self.err = (terminal.finish() for terminal in self.terminals)
        return status


def show(command: Sequence[str], columns: int = 80) -> Shown:
    """Runs a command that must end with status 0 or 1."""
    output = Shown(command, columns)
    status = output.finish()
    if status not in (0, 1):
        raise RuntimeError("%s: exit %d: %s" % (command[0], status, output.out + output.err))
    return output
