# SPDX-License-Identifier: GPL-2.0-only
"""JSON and JSON lines that others wrote: whatever is wrong names the file and the line."""

import json
import os
import stat
from typing import Any, Iterator

from ci.base.status import Malformed

LARGEST = 1 << 26  # bytes of a file: a run of every case has less than 1 MB


def read_bytes(path: str) -> bytes:
    """All of a regular file; no symlink is followed, no FIFO waited for."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise Malformed(path, 0, "expected a regular file")
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise Malformed(path, 0, error.strerror or str(error)) from error
    if len(data) > LARGEST:
        raise Malformed(path, 0, "more than %d bytes" % LARGEST)
    return data


def _no_constant(text: str) -> None:
    raise ValueError("%s is no JSON" % text)


def _once(pairs: Any) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return made


def parse(path: str, line: int, data: bytes) -> Any:
    """The one value that bytes hold."""
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_no_constant,
                           object_pairs_hook=_once)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # half a surrogate pair is no text
        return value
    # Not all of these say where: too deep, too many digits, no UTF-8.
    except (ValueError, RecursionError) as error:
        raise Malformed(path, line, "expected a JSON value: %s" % str(error)[:200]) from error


def read(path: str) -> Iterator[Any]:
    """Yields (number, object) for each line; the last one must end, or it may be cut."""
    data = read_bytes(path)
    if not data:
        raise Malformed(path, 0, "is empty")
    lines = data.split(b"\n")
    if lines.pop():
        raise Malformed(path, len(lines) + 1, "the last line has no end: the file was cut")
    for number, text in enumerate(lines, 1):
        value = parse(path, number, text)
        if not isinstance(value, dict):
            raise Malformed(path, number, "expected an object")
        yield number, value


def read_one(path: str) -> dict[str, Any]:
    """The object that a file is."""
    value = parse(path, 1, read_bytes(path))
    if not isinstance(value, dict):
        raise Malformed(path, 1, "expected an object")
    return value


def line_of(value: dict[str, Any]) -> str:
    """A line of a stored file: the same object always has the same bytes."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False) + "\n"
