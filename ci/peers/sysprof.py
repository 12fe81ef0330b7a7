# SPDX-License-Identifier: GPL-2.0-only
"""sysprof, GNOME's system-wide profiler, in a version that needs no daemon."""

from ci.peers.sources.debian import Debian
from ci.peers.sources.peer import Peer

PEER = Peer("51.", Debian("sid", "sysprof"), {"sysprof-cli": "root/usr/bin/sysprof-cli"})
