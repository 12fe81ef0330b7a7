# SPDX-License-Identifier: GPL-2.0-only
"""What a frame in a program or a library is called where the profiler has no name for it: emitted
code without a name is another matter than native code without one."""

import functools
import os
import stat


@functools.cache
def is_program(path: str) -> bool:
    """An ELF file, or what the kernel gives each process. Memory of a memfd is none."""
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
    """Of a frame in the file @path that has no name: FILE, or ? where that is no program."""
    return "[%s]" % os.path.basename(path).strip("[]") if is_program(path) else "?"
