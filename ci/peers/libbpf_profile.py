# SPDX-License-Identifier: GPL-2.0-only
"""profile, a profiler of libbpf-tools."""

from ci.peers.sources.debian import Debian
from ci.peers.sources.peer import Peer

PEER = Peer("0.31.", Debian("trixie", "libbpf-tools"),
            {"profile-libbpf": "root/usr/sbin/profile-libbpf"})
