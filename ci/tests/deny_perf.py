#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""ci/tests/deny_perf.py ERRNO COMMAND...: runs COMMAND with perf_event_open failing with ERRNO.

It installs a seccomp filter, like a container runtime. Needs no privileges.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
RET_ERRNO, RET_ALLOW = 0x00050000, 0x7FFF0000
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
# Number of perf_event_open, and AUDIT_ARCH_* (linux/audit.h), of each supported machine.
MACHINES = {"x86_64": (298, 0xC000003E), "aarch64": (241, 0xC00000B7)}


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def deny(number: int) -> None:
    """Installs a filter in this process that makes perf_event_open fail with errno @number."""
    machine = platform.machine()
    if machine not in MACHINES:
        raise OSError(errno.ENOTSUP, f"this test lacks the system call numbers of {machine}")
    call, arch = MACHINES[machine]
    # struct seccomp_data: int nr; u32 arch. Allow the same number of another ABI.
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in (
        (LOAD, 0, 0, 4),
        (JUMP_EQUAL, 0, 3, arch),
        (LOAD, 0, 0, 0),
        (JUMP_EQUAL, 0, 1, call),
        (RETURN, 0, 0, RET_ERRNO | number),
        (RETURN, 0, 0, RET_ALLOW)))
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(code) // 8, code)
    for arguments in ((PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), 0, 0, 0),
                      (PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER),
                       ctypes.byref(program), 0, 0)):
        if libc.prctl(*arguments):
            raise OSError(ctypes.get_errno(), "prctl: " + os.strerror(ctypes.get_errno()))
    result = libc.syscall(ctypes.c_long(call), None, 0, -1, -1, 0)
    if result != -1 or ctypes.get_errno() != number:
        raise OSError(errno.EPROTO, "the filter does not work")


def main() -> int:
    if len(sys.argv) < 3 or not hasattr(errno, sys.argv[1]):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        deny(getattr(errno, sys.argv[1]))
    except OSError as error:
        print(f"deny_perf.py: {error}", file=sys.stderr)
        return 1
    os.execvp(sys.argv[2], sys.argv[2:])
    return 1


if __name__ == "__main__":
    sys.exit(main())
