# SPDX-License-Identifier: GPL-2.0-only
"""Reads JSON and JSON lines ; every error names the file and the line."""

import json
from typing import Any, Iterator

from ci.base import files
from ci.base.status import Malformed


def read_bytes(path: str) -> bytes:
    """Returns the content of a file. Raises Malformed if it cannot be read."""
    try:
        return files.read_bytes(path)
    except OSError as error:
        raise Malformed(path, 0, error.strerror or str(error)) from error


def parse(path: str, line: int, data: bytes) -> dict[str, Any]:
    """Returns the JSON object that @data encodes."""
    try:
        value = json.loads(data)
    except ValueError as error:
        raise Malformed(path, line, "expected a JSON value: %s" % str(error)[:200]) from error
    if not isinstance(value, dict):
        raise Malformed(path, line, "expected an object")
    return value


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
        yield number, parse(path, number, text)


def read_one(path: str) -> dict[str, Any]:
    """Returns the JSON object that the file consists of."""
    return parse(path, 1, read_bytes(path))


def line_of(value: dict[str, Any]) -> str:
    """Returns @value as one line; equal objects give equal bytes."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False) + "\n"
