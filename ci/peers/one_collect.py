# SPDX-License-Identifier: GPL-2.0-only
"""one_collect, the library of record-trace, in our own program that prints its samples. No registry
has record-trace itself."""

from ci.peers.sources.peer import Peer
from ci.peers.sources.rust_program import RustProgram

PEER = Peer("0.1.35021", RustProgram("one_collect", "one_collect"),
            {"one_collect": "one_collect"})
