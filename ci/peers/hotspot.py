# SPDX-License-Identifier: GPL-2.0-only
"""hotspot-perfparser, hotspot's reader of perf.data."""

from ci.peers.sources.debian import Debian
from ci.peers.sources.peer import Peer

PEER = Peer("1.3.", Debian("bookworm", "hotspot"), {
    "hotspot-perfparser": "root/usr/lib/x86_64-linux-gnu/libexec/hotspot-perfparser"})
