#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Takes the pictures of the docs: parts of report pages, in headless Chromium.

Each picture shows a case that is run now, or a page of the stored results.
"""

import argparse
import dataclasses
import glob
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import process, status
from ci.matrix.results import stored
from harness.selftest.support import browser


@dataclasses.dataclass
class Picture:
    """A picture, and the elements of a page that it shows."""
    name: str
    case: str = ""  # the case whose page is shown
    explained: bool = False  # whether the page is that of the case's perf.data alone
    page: str = ""  # a page of the stored results
    shows: tuple[str, ...] = (".legend", "#canvas")
    height: int = 0  # at most so many pixels; 0: all


PICTURES = (
    Picture("attach-paths", "preexisting/anon.attach.paths"),
    Picture("attach-exec", "preexisting/anon.attach.exec"),
    Picture("hidden-load", "growth/anon.jitdump.keep"),
    Picture("explained", "preexisting/anon.attach.paths", explained=True,
            shows=("h1", "#canvas")),
    Picture("profilers", page="profilers.html", shows=(".board",), height=420),
    Picture("kernels", page="matrix.html", shows=(".board",), height=420),
)


def make_case_page(jitproof: str, picture: Picture, folder: str) -> str:
    """Runs a picture's case. Returns the path of a page, which shows no path of the source tree."""
    for program in glob.glob(glob.escape(jitproof) + "*"):
        shutil.copy(program, folder)
    program = os.path.join(folder, os.path.basename(jitproof))
    run, page = os.path.join(folder, "run"), os.path.join(folder, "case.html")
    subject = os.path.join(run, picture.case)
    for command in ([program, "run", "-o", run, picture.case],
                    [program, "report", "-o", page,
                     os.path.join(subject, "perf.data") if picture.explained else run]):
        result = process.run(command)
        if result.returncode:
            raise status.Missing("%s: %s" % (" ".join(command), result.stdout + result.stderr))
    return page


def take_picture(picture: Picture, options: argparse.Namespace, folder: str) -> None:
    page = (make_case_page(options.jitproof, picture, folder) if picture.case
            else os.path.join(options.pages, picture.page))
    path = os.path.join(options.output, picture.name + ".png")
    with browser.Browser(width=1000) as window:
        window.open("file://" + os.path.abspath(page))
        window.take_screenshot(path, picture.shows, picture.height)
        if window.errors:
            raise status.Missing("%s: %s" % (page, window.errors[0]))
    print(path)


def run(options: argparse.Namespace) -> int:
    if not browser.CHROMIUM:
        raise status.Missing("chromium is not installed")
    os.makedirs(options.output, exist_ok=True)
    for picture in PICTURES:
        if not options.names or picture.name in options.names:
            with tempfile.TemporaryDirectory(prefix="jitproof-") as folder:
                take_picture(picture, options, folder)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jitproof", default="build/jitproof")
    parser.add_argument("--pages", metavar="DIR", default="build/pages",
                        help="pages of the stored results")
    parser.add_argument("-o", dest="output", metavar="DIR",
                        default=os.path.join(stored.ROOT, "docs", "pictures"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these pictures")
    return status.guard_command("pictures", run)(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
