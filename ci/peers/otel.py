# SPDX-License-Identifier: GPL-2.0-only
"""The OpenTelemetry eBPF profiler, in our own program that prints its samples."""

from ci.peers.sources.go_program import GoProgram
from ci.peers.sources.peer import Peer

PEER = Peer("v0.0.202633", GoProgram("go.opentelemetry.io/ebpf-profiler", "otel",
                                     {"rlimit/rlimit.go": "rlimit.go"}), {"otel": "otel"})
