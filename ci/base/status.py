# SPDX-License-Identifier: GPL-2.0-only
"""What a program ends with: whatever goes wrong is one line and a status, and no traceback."""

import argparse
import os
import signal
import sys
import types
from typing import Callable, NoReturn


class Ended(Exception):
    """The text is all there is to say."""
    status = 1
    prefix = ""


class Refused(Ended):
    """What was asked for makes no sense, and nothing was done."""
    status = 2


class Missing(Ended):
    """Why something is not to be had here: a reason to skip, not a failure."""
    status = 4
    prefix = "SKIP: "


class Unusable(Ended):
    """What was to be read cannot be used."""
    status = 99


class Malformed(Unusable):
    """FILE:LINE: what is wrong."""

    def __init__(self, path: str, line: int, what: str) -> None:
        super().__init__("%s:%d: %s" % (path, line, what) if line else "%s: %s" % (path, what))


def cause(error: OSError) -> str:
    """FILE: WHY of an OSError, and WHY alone of a file that has no name: the output."""
    return ": ".join(filter(None, (error.filename, error.strerror))) or str(error)


def drop_output() -> None:
    """What could not be written must not be tried, and told, again when Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def stop(number: int, _frame: types.FrameType | None) -> NoReturn:
    """As Ctrl-C: what runs ends, and what it left goes."""
    raise KeyboardInterrupt(signal.Signals(number).name)


Command = Callable[[argparse.Namespace], int]


def of(name: str, run: Command) -> Command:
    """run(options) of the program @name, and the status where it comes to no end of its own."""
    def guarded(options: argparse.Namespace) -> int:
        signal.signal(signal.SIGTERM, stop)
        try:
            status = run(options)
            sys.stdout.flush()
            return status
        except Ended as problem:
            status, text = problem.status, problem.prefix + str(problem)
        except OSError as error:
            drop_output()
            status, text = 99, cause(error)
        except KeyboardInterrupt:
            status, text = 130, "interrupted; what was not finished is gone"
        print("%s: %s" % (name, text), file=sys.stderr)
        return status
    return guarded
