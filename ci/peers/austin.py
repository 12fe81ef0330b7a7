# SPDX-License-Identifier: GPL-2.0-only
"""austin, a profiler for Python. Version 4 needs glibc 2.38 and writes another format."""

from ci.peers.sources.peer import Peer
from ci.peers.sources.registries import Pypi

PEER = Peer("3.7.0", Pypi("austin-dist"), {"austin": "bin/austin"})
