# SPDX-License-Identifier: GPL-2.0-only
"""What a subcommand ends with: whatever goes wrong is one line and a status, and no traceback."""

import os
import sys

from axis.cells import Partial
from axis.jsonl import Malformed


class Refused(Exception):
    """What was asked for makes no sense, and nothing was done."""


def cause(error):
    """FILE: WHY of an OSError, and WHY alone of a file that has no name: the output."""
    return ": ".join(filter(None, (error.filename, error.strerror))) or str(error)


def drop_output():
    """What could not be written must not be tried, and told, again when Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def of(name, run):
    """run(options) of `ci/matrix NAME`, and the status where it comes to no end of its own."""
    def guarded(options):
        try:
            status = run(options)
            sys.stdout.flush()
            return status
        except Refused as problem:
            status, text = 2, problem
        except (Malformed, Partial) as problem:
            status, text = 99, problem
        except OSError as error:
            drop_output()
            status, text = 99, cause(error)
        except KeyboardInterrupt:
            status, text = 130, "interrupted; what was not finished is gone"
        print("ci/matrix %s: %s" % (name, text), file=sys.stderr)
        return status
    return guarded
