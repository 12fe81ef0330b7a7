# SPDX-License-Identifier: GPL-2.0-only
"""What runs at the moment: one line that is written anew on a terminal, else only what ended."""

import shutil
import sys
import threading
from typing import TextIO


class Progress:
    """May be used by many threads."""

    def __init__(self, total: int, out: TextIO | None = None) -> None:
        self.out = out or sys.stderr
        self.live = self.out.isatty()
        self.total = total
        self.ended = 0
        self.running: dict[str, str] = {}
        self.lock = threading.Lock()

    def _draw(self, ended: str = "", more: bool = True) -> None:
        """A line that stays, and what runs below it."""
        line = "[%d/%d] %s" % (self.ended, self.total, "  |  ".join(
            "%s %s" % item for item in self.running.items())) if more else ""
        if self.live:
            ended = "\r\033[K" + ended + line[:shutil.get_terminal_size().columns - 1]
        self.out.write(ended)
        self.out.flush()

    def at(self, name: str, text: str) -> None:
        """What `name` is doing now."""
        with self.lock:
            self.running[name] = text
            self._draw()

    def end(self, name: str, text: str) -> None:
        """`name` is done: a line that stays."""
        with self.lock:
            self.running.pop(name, None)
            self.ended += 1
            self._draw("[%d/%d] %s: %s\n" % (self.ended, self.total, name, text))

    def close(self) -> None:
        with self.lock:
            self._draw(more=False)
