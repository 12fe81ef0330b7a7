# SPDX-License-Identifier: GPL-2.0-only
"""bpftrace, in a version that caches symbols and prints a stack for each sample."""

from ci.peers.sources.debian import Debian
from ci.peers.sources.peer import Peer

PEER = Peer("0.23.", Debian("trixie", "bpftrace"), {"bpftrace": "root/usr/bin/bpftrace"})
