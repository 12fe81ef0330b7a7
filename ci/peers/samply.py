# SPDX-License-Identifier: GPL-2.0-only
"""samply, a profiler and a reader of perf.data."""

from ci.peers.sources.peer import Peer
from ci.peers.sources.registries import Crate

PEER = Peer("0.13.1", Crate("samply"), {"samply": "bin/samply"})
