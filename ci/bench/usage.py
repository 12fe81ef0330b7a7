# SPDX-License-Identifier: GPL-2.0-only
"""Measures what whole processes use."""

import os
import select
import subprocess
import sys
import threading
from typing import Any, Sequence


def measure_command(command: Sequence[str], **more: Any) -> tuple[float, int]:
    """Returns (CPU seconds, peak KiB) of a process; exits if it fails."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, **more) as child:
        complaint: list[bytes] = []
        assert child.stderr
        reader = threading.Thread(target=lambda read: complaint.append(read()),
                                  args=(child.stderr.read,))
        reader.start()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        reader.join()
    if child.returncode:
        sys.exit(f"{' '.join(command)}: exit {child.returncode}: "
                 f"{complaint[0].decode(errors='replace')}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss


def run_workload(command: Sequence[str], seconds: int) -> tuple[str, str]:
    """Runs a command that runs a workload, stops the workload after @seconds, and returns (output,
    errors)."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout
        child.stdout.readline()  # "ready"
        select.select([child.stdout], [], [], seconds)  # a wait: no output before "stop"
        output, errors = child.communicate("stop\n")
    if child.returncode:
        sys.exit(f"{' '.join(command)}: exit {child.returncode}: {errors}")
    return output, errors
