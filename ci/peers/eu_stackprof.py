# SPDX-License-Identifier: GPL-2.0-only
"""eu-stackprof, the profiler of elfutils. It unwinds each sample by call frame information."""

from ci.peers.sources.debian import Debian
from ci.peers.sources.peer import Peer

PEER = Peer("0.196", Debian("trixie-backports", "elfutils"),
            {"eu-stackprof": "root/usr/bin/eu-stackprof"})
