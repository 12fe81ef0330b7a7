# SPDX-License-Identifier: GPL-2.0-only
"""Gives names to frames of native code for which the profiler has none, because jitproof judges
only the names of emitted code."""

import functools
import os
import stat


@functools.cache
def is_program(path: str) -> bool:
    """Returns whether @path is an ELF file or the kernel's vDSO. A memfd is neither."""
    if path in ("[vdso]", "[vsyscall]"):
        return True
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return stat.S_ISREG(os.fstat(fd).st_mode) and os.pread(fd, 4, 0) == b"\x7fELF"
    finally:
        os.close(fd)


def name_in(path: str) -> str:
    """Returns a name for an unnamed frame in a mapping of @path: [FILE], or ? in emitted code."""
    return "[%s]" % os.path.basename(path).strip("[]") if is_program(path) else "?"
