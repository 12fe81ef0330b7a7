# SPDX-License-Identifier: GPL-2.0-only
"""GNOME's system-wide profiler, and the daemon that opens its events."""

from ci.peers.sources.debian import Debian
from ci.peers.sources.peer import Peer

PEER = Peer("48.", Debian("trixie", "sysprof"), {
    "sysprof-cli": "root/usr/bin/sysprof-cli", "sysprof-cat": "root/usr/bin/sysprof-cat",
    "sysprofd": "root/usr/libexec/sysprofd"})
