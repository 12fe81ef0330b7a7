# SPDX-License-Identifier: GPL-2.0-only
"""Shows progress: a line that is updated on a terminal; otherwise a line for each finished run."""

import shutil
import sys
import threading
from typing import TextIO


class Progress:
    """The progress of several runs. Threads may share it."""

    def __init__(self, total: int, out: TextIO | None = None) -> None:
        self.out = out or sys.stderr
        self.live = self.out.isatty()
        self.total = total
        self.ended = 0
        self.running: dict[str, str] = {}
        self.lock = threading.Lock()

    def _draw(self, ended: str = "", more: bool = True) -> None:
        """Writes the line @ended, which stays, and below it the running ones if @more."""
        line = "[%d/%d] %s" % (self.ended, self.total, "  |  ".join(
            "%s %s" % item for item in self.running.items())) if more else ""
        if self.live:
            ended = "\r\033[K" + ended + line[:shutil.get_terminal_size().columns - 1]
        self.out.write(ended)
        self.out.flush()

    def show(self, name: str, text: str) -> None:
        """Shows what the run @name is doing."""
        with self.lock:
            self.running[name] = text
            self._draw()

    def end(self, name: str, text: str) -> None:
        """Writes the result of the finished run @name."""
        with self.lock:
            self.running.pop(name, None)
            self.ended += 1
            self._draw("[%d/%d] %s: %s\n" % (self.ended, self.total, name, text))

    def close(self) -> None:
        with self.lock:
            self._draw(more=False)
