# SPDX-License-Identifier: GPL-2.0-only
"""What whole processes use."""

import os
import subprocess
import sys
import threading
from typing import Any, Sequence


def of(command: Sequence[str], **more: Any) -> tuple[float, int]:
    """(CPU seconds, peak KiB) of a process; ends us where it fails."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, **more) as child:
        complaint: list[bytes] = []
        reader = threading.Thread(target=lambda: complaint.append(child.stderr.read()))
        reader.start()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        reader.join()
    if child.returncode:
        sys.exit(f"{' '.join(command)}: exit {child.returncode}: "
                 f"{complaint[0].decode(errors='replace')}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss
