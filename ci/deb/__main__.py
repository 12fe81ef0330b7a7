#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make deb: builds the Debian package of the committed tree in a new chroot, and checks it with
lintian.

Writes the source package and the packages to O/deb. mmdebstrap makes the chroot of --suite from the
mirror that apt uses here. --source builds nothing.

Exit status: 0 built, and lintian reports no error; 1 if not; 4 a tool is missing.
"""

import argparse
import glob
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import debian_packages, files, process
from ci.base.status import Missing

ROOT = os.path.abspath(__file__ + "/../../..")
DEBIAN = os.path.join("packaging", "debian")
# Recordings of programs, which tests read and no build: Debian wants sources of all binaries.
RECORDED = ("validators/fixtures", "harness/selftest", "results/matrix")


def make_source(output: str) -> str:
    """Writes the source package of HEAD to @output; returns the path of its .dsc."""
    changelog = files.read(os.path.join(ROOT, DEBIAN, "changelog"))
    name, version = re.findall(r"(\S+) \((\S+)-\d+\)", changelog)[0]
    tree = os.path.join(output, f"{name}-{version}")
    archive = os.path.join(output, f"{name}_{version}.orig.tar.gz")
    process.run_or_raise(["git", "-C", ROOT, "archive", "--prefix", f"{name}-{version}/", "-o",
                          archive,
                          "HEAD", ".", *(":(exclude)" + path for path in RECORDED)])
    process.run_or_raise(["tar", "-xf", archive, "-C", output])
    shutil.copytree(os.path.join(tree, DEBIAN), os.path.join(tree, "debian"))
    process.run_or_raise(["dpkg-source", "-b", os.path.basename(tree)], cwd=output)
    description, = glob.glob(os.path.join(output, "*.dsc"))
    return description


def build_in_chroot(output: str, description: str, suite: str) -> None:
    """Builds in a chroot that is gone afterwards."""
    mirror, security = debian_packages.read_mirrors()
    path_inside = "/build/" + os.path.basename(description)
    commands = (f"apt-get -y build-dep {path_inside}",
                f"cd /build && dpkg-source -x {path_inside} tree",
                "cd /build/tree && dpkg-buildpackage -b -us -uc",
                "rm -rf /build/tree /build/*.tar.* /build/*.dsc")
    hooks = [f"--customize-hook=chroot \"$1\" sh -c '{command}'" for command in commands]
    sources = "\n".join(debian_packages.list_sources(suite, mirror, security))
    process.run_or_raise(["mmdebstrap", "--variant=buildd", "--format=null",
                          "--customize-hook=mkdir \"$1/build\"",
                          f"--customize-hook=copy-in {' '.join(glob.glob(output + '/*.*'))} /build",
                  *hooks, f"--customize-hook=sync-out /build {output}", suite, "/dev/null", "-"],
                         input=sources)


def check(output: str) -> int:
    """Prints what lintian finds; returns its exit status."""
    result = process.run(["lintian", "--fail-on=error", "--info", "--allow-root",
                         *glob.glob(output + "/*.dsc"), *glob.glob(output + "/*.deb")])
    print(result.stdout + result.stderr, end="")
    return result.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="bookworm", help="the chroot's (%(default)s)")
    parser.add_argument("--source", action="store_true", help="make the source package only")
    parser.add_argument("-o", dest="output", metavar="DIR",
                        default=os.path.join(ROOT, os.environ.get("O", "build"), "deb"),
                        help="default: O/deb, which is replaced")
    options = parser.parse_args()
    needed = ["dpkg-buildpackage", "dh", "lintian"]
    if not options.source:
        needed.append("mmdebstrap")
    missing = [tool for tool in needed if not shutil.which(tool)]
    if missing:
        print("missing: " + ", ".join(missing), file=sys.stderr)
        return 4
    output = os.path.abspath(options.output)
    shutil.rmtree(output, ignore_errors=True)
    os.makedirs(output)
    try:
        description = make_source(output)
        if not options.source:
            build_in_chroot(output, description, options.suite)
    except (RuntimeError, Missing) as error:
        print(debian_packages.remove_addresses(str(error)), file=sys.stderr)
        return 1
    return check(output)


if __name__ == "__main__":
    sys.exit(main())
