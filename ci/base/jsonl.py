# SPDX-License-Identifier: GPL-2.0-only
"""Reads JSON and JSON lines from untrusted files; every error names the file and the line."""

import json
import os
import stat
from typing import Any, Iterator

from ci.base.status import Malformed

LARGEST = 1 << 26  # bytes; results of all cases need less than 1 MB


def read_bytes(path: str) -> bytes:
    """Returns the content of a regular file of at most LARGEST bytes; follows no symlink and does
    not block on a FIFO."""
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


def _refuse_constant(text: str) -> None:
    raise ValueError("%s is not valid JSON" % text)


def _refuse_duplicates(pairs: Any) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("an object has the same key twice")
    return made


def parse(path: str, line: int, data: bytes) -> Any:
    """Returns the JSON value that @data encodes; Malformed if it is not exactly one."""
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant,
                           object_pairs_hook=_refuse_duplicates)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # rejects lone surrogates
        return value
    # Deep nesting, long numbers and invalid UTF-8 raise errors without a position.
    except (ValueError, RecursionError) as error:
        raise Malformed(path, line, "expected a JSON value: %s" % str(error)[:200]) from error


def read(path: str) -> Iterator[Any]:
    """Yields (line number, object) for each line. The last line must end in a newline, because a
    file without one may be truncated."""
    data = read_bytes(path)
    if not data:
        raise Malformed(path, 0, "is empty")
    lines = data.split(b"\n")
    if lines.pop():
        raise Malformed(path, len(lines) + 1, "no newline at the end: the file is truncated")
    for number, text in enumerate(lines, 1):
        value = parse(path, number, text)
        if not isinstance(value, dict):
            raise Malformed(path, number, "expected an object")
        yield number, value


def read_one(path: str) -> dict[str, Any]:
    """Returns the JSON object that the file consists of."""
    value = parse(path, 1, read_bytes(path))
    if not isinstance(value, dict):
        raise Malformed(path, 1, "expected an object")
    return value


def line_of(value: dict[str, Any]) -> str:
    """Returns @value as one line; equal objects give equal bytes."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False) + "\n"
