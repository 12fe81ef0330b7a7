#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Installs pinned versions of external profilers (peers) into build/peers, where the adapters
search them (docs/profiler-adapters.md). Each file of this folder describes a peer.

Installed peers stay. Exit status: 0 at least one peer is installed, 4 none could be installed.
"""

import argparse
import importlib
import os
import sys
import time

sys.path.insert(0, os.path.abspath(__file__ + "/../../.."))
from ci.base import status
from ci.peers.sources.peer import Peer, Shelf

FOLDER = os.path.dirname(os.path.abspath(__file__))


def load_peers() -> dict[str, Peer]:
    """Returns the PEER of each file of this folder, by name."""
    names = sorted(name[:-3] for name in os.listdir(FOLDER)
                   if name.endswith(".py") and not name.startswith("_"))
    return {name: importlib.import_module("ci.peers." + name).PEER for name in names}


def install(shelf: Shelf, name: str, peer: Peer) -> bool:
    start = time.monotonic()
    try:
        new = shelf.install(name, peer)
    except status.Missing as reason:
        print("SKIP %s %s: %s" % (name, peer.version, reason), flush=True)
        return False
    print("%s %s: %s" % (name, peer.version, "installed in %.0f s" % (time.monotonic() - start)
                         if new else "is already installed"), flush=True)
    return True


def run(options: argparse.Namespace) -> int:
    peers = load_peers()
    unknown = sorted(set(options.name) - set(peers))
    if unknown:
        raise status.Refused("no peer %s; expected %s" % (", ".join(unknown), ", ".join(peers)))
    if options.list:
        for name in options.name or peers:
            print("%-16s %-12s %s" % (name, peers[name].version, peers[name].source))
        return 0
    shelf = Shelf(options.dir)
    found = [install(shelf, name, peers[name]) for name in options.name or peers]
    return 0 if any(found) else 4


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--dir", default=os.path.join(os.environ.get("O", "build"), "peers"),
                        help="default: %(default)s")
    parser.add_argument("--list", action="store_true", help="print all peers, install nothing")
    parser.add_argument("name", nargs="*", help="default: all")
    return status.guard_command("peers", run)(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
