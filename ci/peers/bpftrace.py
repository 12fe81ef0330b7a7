# SPDX-License-Identifier: GPL-2.0-only
"""The version that names code by a cache and prints one stack a sample."""

from ci.peers.sources.debian import Debian
from ci.peers.sources.peer import Peer

PEER = Peer("0.23.", Debian("trixie", "bpftrace"), {"bpftrace": "root/usr/bin/bpftrace"})
