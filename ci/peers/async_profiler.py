# SPDX-License-Identifier: GPL-2.0-only
"""async-profiler, a profiler for Java. The JVM loads its library."""

from ci.peers.sources.peer import Peer
from ci.peers.sources.jar import Jar

PEER = Peer("4.1", Jar("tools.profiler:async-profiler", "jar:linux-x64"),
            {"libasyncProfiler.so": "linux-x64/libasyncProfiler.so"})
