# SPDX-License-Identifier: GPL-2.0-only
"""Reads and writes whole files; replaces several files at once."""

import errno
import os
import tempfile
from typing import Callable, Mapping

from ci.base.status import Malformed


Check = Callable[[str], object]


def read(path: str, errors: str = "strict") -> str:
    with open(path, encoding="utf-8", errors=errors) as file:
        return file.read()


def read_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def write_bytes(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def write(path: str, text: str, check: Check | None = None) -> None:
    """Writes @text to a temporary file, lets check(path) raise an exception if it is invalid, and
    replaces @path."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    if check:
        check(path)


def replace(folder: str, texts: Mapping[str, str], check: Check | None = None) -> None:
    """Writes {name: text} into @folder. Replaces the first file only after all are written, and
    each in one step, so that a reader sees either the old file or the new file."""
    folder = target = folder or os.curdir
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as scratch:
            for name, text in texts.items():
                target = os.path.join(folder, name)
                if os.path.isdir(target):
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
                write(os.path.join(scratch, name), text, check)
            for name in texts:
                target = os.path.join(folder, name)
                os.replace(os.path.join(scratch, name), target)
    except OSError as error:
        raise Malformed(target, 0, error.strerror or str(error)) from error
