# SPDX-License-Identifier: GPL-2.0-only
"""Exit statuses: a program that fails prints one line, not a traceback."""

import argparse
import contextlib
import os
import signal
import sys
import types
from typing import Callable, Iterator, NoReturn


class Ended(Exception):
    """Ends the program; the text is the whole message."""
    status = 1
    prefix = ""


class Refused(Ended):
    """The command line makes no sense; the program did nothing."""
    status = 2


class Missing(Ended):
    """Something is unavailable on this machine: a reason to skip, not a failure."""
    status = 4
    prefix = "SKIP: "


class Unusable(Ended):
    """An input cannot be used."""
    status = 99


class Malformed(Unusable):
    """An input breaks its format: FILE:LINE: problem."""

    def __init__(self, path: str, line: int, what: str) -> None:
        super().__init__("%s:%d: %s" % (path, line, what) if line else "%s: %s" % (path, what))


def format_os_error(error: OSError) -> str:
    """Returns "FILE: REASON" for an OSError, or "REASON" if it names no file, as for standard
    output."""
    return ": ".join(filter(None, (error.filename, error.strerror))) or str(error)


def drop_output() -> None:
    """Discards pending output if it cannot be written, so that Python does not fail again at
    exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def stop(number: int, _frame: types.FrameType | None) -> NoReturn:
    """Handles a signal as Ctrl-C: ends what runs and cleans up."""
    raise KeyboardInterrupt(signal.Signals(number).name)


@contextlib.contextmanager
def delay_stop() -> Iterator[None]:
    """Delays SIGINT and SIGTERM until the end of the block, which starts a process: the caller must
    hold the process to end it."""
    received: list[int] = []
    handlers = {number: signal.signal(number, lambda number, _: received.append(number))
                for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if received:
        stop(received[0], None)


Command = Callable[[argparse.Namespace], int]


def guard_command(name: str, run: Command) -> Command:
    """Wraps the command run(options) of program @name: an exception becomes one line on standard
    error and an exit status."""
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
            status, text = 99, format_os_error(error)
        except KeyboardInterrupt:
            status, text = 130, "interrupted; unfinished results were discarded"
        print("%s: %s" % (name, text), file=sys.stderr)
        return status
    return guarded
