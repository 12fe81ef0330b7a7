# SPDX-License-Identifier: GPL-2.0-only
"""py-spy, a profiler for Python."""

from ci.peers.sources.peer import Peer
from ci.peers.sources.registries import Pypi

PEER = Peer("0.4.3", Pypi("py-spy"), {"py-spy": "bin/py-spy"})
