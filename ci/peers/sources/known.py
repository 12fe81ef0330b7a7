# SPDX-License-Identifier: GPL-2.0-only
"""The peers: pinned versions of external profilers."""

import dataclasses
import platform
from typing import Mapping

from ci.peers.sources.debian import Debian
from ci.peers.sources.own_program import GoProgram, RustProgram
from ci.peers.sources.peer import Peer
from ci.peers.sources.registries import Crate, Jar, Pypi

PEERS = {
    # A profiler for Java, whose library the JVM loads.
    "async_profiler": Peer("4.1", Jar("tools.profiler:async-profiler", "jar:linux-x64"),
                           {"libasyncProfiler.so": "linux-x64/libasyncProfiler.so"}),
    # A profiler for Python. Version 4 needs glibc 2.38 and writes another format.
    "austin": Peer("3.7.0", Pypi("austin-dist"), {"austin": "bin/austin"}),
    # A version that caches symbols and prints a stack for each sample.
    "bpftrace": Peer("0.23.", Debian("trixie", "bpftrace"),
                     {"bpftrace": "root/usr/bin/bpftrace"}),
    # The profiler of elfutils. It unwinds each sample by call frame information.
    "eu_stackprof": Peer("0.196", Debian("trixie-backports", "elfutils"),
                         {"eu-stackprof": "root/usr/bin/eu-stackprof"}),
    # Hotspot's reader of perf.data.
    "hotspot": Peer("1.3.", Debian("bookworm", "hotspot"), {
        "hotspot-perfparser": "root/usr/lib/x86_64-linux-gnu/libexec/hotspot-perfparser"}),
    # A profiler of libbpf-tools.
    "libbpf_profile": Peer("0.31.", Debian("trixie", "libbpf-tools"),
                           {"profile-libbpf": "root/usr/sbin/profile-libbpf"}),
    # The library of record-trace, in our own program that prints its samples. No registry has
    # record-trace itself.
    "one_collect": Peer("0.1.35021", RustProgram("one_collect", "one_collect"),
                        {"one_collect": "one_collect"}),
    # The OpenTelemetry eBPF profiler, in our own program that prints its samples.
    "otel": Peer("v0.0.202633", GoProgram("go.opentelemetry.io/ebpf-profiler", "otel",
                                          {"rlimit/rlimit.go": "rlimit.go"}), {"otel": "otel"}),
    # A profiler for Python.
    "py_spy": Peer("0.4.3", Pypi("py-spy"), {"py-spy": "bin/py-spy"}),
    # A profiler and a reader of perf.data.
    "samply": Peer("0.13.1", Crate("samply"), {"samply": "bin/samply"}),
    # GNOME's system-wide profiler, in a version that needs no daemon.
    "sysprof": Peer("51.", Debian("sid", "sysprof"), {"sysprof-cli": "root/usr/bin/sysprof-cli"}),
}

# The programs of another machine's guests (ci/matrix/vm/profilers.py): profilers, what the adapters
# need, and the shell that starts the commands of a shelf.
GUESTS = {
    "libbpf_profile": PEERS["libbpf_profile"],
    "one_collect": PEERS["one_collect"],
    "python": Peer("3.11.", Debian("bookworm", "python3.11"),
                   {"python3": "root/usr/bin/python3.11"}),
    "sh": Peer("0.5.", Debian("bookworm", "dash"), {"sh": "root/usr/bin/dash"}),
}


def list_peers(machine: str) -> Mapping[str, Peer]:
    """Returns the peers for this machine, or those for guests of another one."""
    if machine == platform.machine():
        return PEERS
    return {name: dataclasses.replace(peer, source=dataclasses.replace(
        peer.source, machine=machine)) for name, peer in GUESTS.items()}
