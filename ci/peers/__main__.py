#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Installs pinned versions of external profilers (peers) into build/peers, where the adapters
search them (docs/profiler-adapters.md). sources/known.py lists the peers.

Installed peers stay. Exit status: 0 at least one peer is installed, 4 none could be installed.
"""

import argparse
import os
import platform
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import status
from ci.peers.sources.known import list_peers
from ci.peers.sources.peer import Peer, Shelf


def install(shelf: Shelf, name: str, peer: Peer) -> bool:
    start = time.monotonic()
    try:
        installed = shelf.install(name, peer)
    except status.Missing as reason:
        print("SKIP %s %s: %s" % (name, peer.version, reason), flush=True)
        return False
    print("%s %s: %s" % (name, peer.version, "installed in %.0f s" % (time.monotonic() - start)
                         if installed else "is already installed"), flush=True)
    return True


def run(options: argparse.Namespace) -> int:
    peers = list_peers(options.arch)
    unknown = sorted(set(options.name) - set(peers))
    if unknown:
        raise status.Refused("no peer %s; expected %s" % (", ".join(unknown), ", ".join(peers)))
    if options.list:
        for name in options.name or peers:
            print("%-16s %-12s %s" % (name, peers[name].version, peers[name].source))
        return 0
    build, native = os.environ.get("O", "build"), options.arch == platform.machine()
    shelf = Shelf(options.dir or os.path.join(build, "" if native else options.arch, "peers"))
    installed = [install(shelf, name, peers[name]) for name in options.name or peers]
    return 0 if any(installed) else 4


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--arch", default=platform.machine(), metavar="NAME",
                        help="install what guests of ci/matrix run --arch NAME need; default: "
                        "%(default)s")
    parser.add_argument("--dir", help="default: peers in build, or in build/NAME for --arch NAME")
    parser.add_argument("--list", action="store_true", help="print all peers, install nothing")
    parser.add_argument("name", nargs="*", help="default: all")
    return status.guard_command("peers", run)(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
