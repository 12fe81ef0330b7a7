# SPDX-License-Identifier: GPL-2.0-only
"""one_collect, the library of record-trace, in a program of ours that prints its samples.
record-trace itself is in no registry."""

from ci.peers.sources.peer import Peer
from ci.peers.sources.rust_program import RustProgram

PEER = Peer("0.1.35021", RustProgram("one_collect", "one_collect"),
            {"one_collect": "one_collect"})
