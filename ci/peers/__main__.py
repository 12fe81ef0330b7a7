#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Installs other people's profilers, each in a pinned version, into build/peers: adapters look
for them there (docs/profiler-adapters.md). A peer is one file of this folder; each is optional.

What is there already stays. Exit status: 0 something is there, 4 nothing could be had.
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


def known() -> dict[str, Peer]:
    """All peers: what each file of this folder calls PEER."""
    names = sorted(name[:-3] for name in os.listdir(FOLDER)
                   if name.endswith(".py") and not name.startswith("_"))
    return {name: importlib.import_module("ci.peers." + name).PEER for name in names}


def install(shelf: Shelf, name: str, peer: Peer) -> bool:
    start = time.monotonic()
    try:
        new = shelf.put(name, peer)
    except status.Missing as reason:
        print("SKIP %s %s: %s" % (name, peer.version, reason), flush=True)
        return False
    print("%s %s: %s" % (name, peer.version, "installed in %.0f s" % (time.monotonic() - start)
                         if new else "is there"), flush=True)
    return True


def run(options: argparse.Namespace) -> int:
    peers = known()
    unknown = sorted(set(options.name) - set(peers))
    if unknown:
        raise status.Refused("no peer %s; there are %s" % (", ".join(unknown), ", ".join(peers)))
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
    parser.add_argument("--list", action="store_true", help="print what there is, install nothing")
    parser.add_argument("name", nargs="*", help="default: all")
    return status.of("peers", run)(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
