#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Unpacks the libraries that jitproof needs for an architecture that this Debian release lacks.

    python3 ci/base/foreign_libraries.py riscv64

The folder build/root-ARCHITECTURE serves a cross compiler as --sysroot, and qemu-user as -L. The
libraries are sid's, as the kernels of ci/matrix/matrix.toml are.
"""

import os
import shutil
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import debian_packages
from ci.base.status import Missing

PACKAGES = ("libc6-dev", "libelf-dev", "libdw-dev", "libzstd-dev")


def unpack(architecture: str, root: str) -> None:
    """Unpacks the packages and their dependencies into @root, unless it exists."""
    if os.path.isdir(root):
        return
    partial = root + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    os.makedirs(partial)
    with debian_packages.Archive("sid", partial, architecture=architecture) as archive:
        for package in PACKAGES:
            paths = archive.download(package)
        debian_packages.unpack(paths, partial)
    os.rename(partial, root)


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: foreign_libraries.py ARCHITECTURE", file=sys.stderr)
        return 2
    root = os.path.join(os.environ.get("O", "build"), "root-" + sys.argv[1])
    try:
        unpack(sys.argv[1], root)
    except Missing as reason:
        print("foreign_libraries.py: %s" % reason, file=sys.stderr)
        return 1
    print("%s: libraries for %s" % (root, sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
