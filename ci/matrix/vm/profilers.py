# SPDX-License-Identifier: GPL-2.0-only
"""What a guest needs for an external profiler: Python, the adapters, and the profiler itself.

Adapters run by the Python that we run by, with the modules of its standard library that they
import, at the paths that those have here: it finds them from where it lies. Peers
(ci/peers) lie beside the guest's jitproof, where that looks.
"""

import importlib.util
import json
import os
import re
import shlex
import sys
import sysconfig
from typing import Iterator, Mapping

from ci.base import files, process
from ci.base.status import Missing
from ci.matrix.vm import initramfs
from ci.peers.__main__ import known
from ci.peers.sources.peer import Peer

ROOT = os.path.abspath(__file__ + "/../../../..")
ADAPTERS = os.path.join(ROOT, "harness", "profiler")
PEERS = "bin/peers"
# Of an adapter: the modules that it imports, by file, and the peer that it drives. The codecs of
# files are imported where the first of them is opened.
ASK = """import encodings.ascii, encodings.latin_1, encodings.utf_8, importlib, json, sys
sys.path.insert(0, sys.argv[1])
module = importlib.import_module(sys.argv[2])
print(json.dumps([sorted({one.__file__ for one in list(sys.modules.values())
                          if getattr(one, "__file__", None)}),
                  [one.peer for one in vars(module).values()
                   if isinstance(one, type) and getattr(one, "peer", "")]]))
"""


def ask(adapter: str) -> tuple[list[str], str]:
    """(files of the modules that it needs, its peer)"""
    if not os.path.exists(os.path.join(ADAPTERS, adapter + ".py")):
        raise Missing("no profiler '%s' in %s" % (adapter, os.path.relpath(ADAPTERS)))
    said = process.must([sys.executable, "-B", "-I", "-S", "-c", ASK, ADAPTERS, adapter])
    modules, peers = json.loads(said)
    return modules, peers[0] if peers else ""


def compiled(path: str) -> bytes:
    """What this machine's Python made of a module, as one that is right whatever the time of its
    source is: a guest would need a second of its time to compile them all. b"": there is none."""
    try:
        data = files.read_bytes(importlib.util.cache_from_source(path))
    except OSError:
        return b""
    # Magic number; flags (1: by a hash that nobody checks); the hash (PEP 552).
    return data[:4] + (1).to_bytes(4, "little") + bytes(8) + data[16:]


def python(content: initramfs.Content, modules: list[str]) -> None:
    """The interpreter as `python3`, with those modules."""
    binary = os.path.realpath(sys.executable)
    landmark = os.path.join(sysconfig.get_path("stdlib"), "os.py")
    content.programs[binary.lstrip("/")] = binary
    content.links["bin/python3"] = binary
    for path in (landmark, *modules):
        # Extensions have libraries as programs do.
        kind = content.programs if path.endswith(".so") else content.files
        kind[path.lstrip("/")] = path
        if data := compiled(path):
            content.data[importlib.util.cache_from_source(path).lstrip("/")] = data


def adapters(content: initramfs.Content) -> None:
    """All, for they import each other."""
    for folder in ("", "adapting"):
        for name in sorted(os.listdir(os.path.join(ADAPTERS, folder))):
            if name.endswith(".py"):
                content.files[os.path.join("bin/profiler", folder, name)] = os.path.join(
                    ADAPTERS, folder, name)


def moved(text: str, shelf: str) -> str:
    """A text that names paths of the shelf, as it must be in the guest."""
    return text.replace(shelf + "/", "/%s/" % PEERS)


def program_of(script: str) -> list[str]:
    """The words that a command of the shelf runs."""
    found = re.fullmatch(r'#!/bin/sh\nexec (.*) "\$@"\n', script)
    if not found:
        raise Missing("not a command of ci/peers: %r" % script[:60])
    return shlex.split(found[1])


def closure(words: list[str]) -> Iterator[str]:
    """The files that a command of the shelf consists of: a program, or a loader with one."""
    yield words[-1]
    if len(words) > 1:
        yield words[0]
        yield from initramfs.libraries(words[-1], [*words[:-1], "--list"])
    else:
        yield from initramfs.libraries(words[-1])


def commands(peer: Peer, name: str, shelf: str) -> Mapping[str, str]:
    """The script of each command of a peer; Missing where it is not installed."""
    paths = {command: os.path.join(shelf, "bin", command) for command in peer.programs}
    if not all(map(os.path.exists, paths.values())):
        raise Missing("profiler %s is not here: python3 ci/peers %s" % (name, name))
    return {command: files.read(path) for command, path in paths.items()}


def put_peer(content: initramfs.Content, name: str, shelf: str) -> None:
    shelf = os.path.realpath(shelf)
    for command, script in commands(known()[name], name, shelf).items():
        content.scripts["%s/bin/%s" % (PEERS, command)] = moved(script, shelf)
        for path in closure(program_of(script)):
            content.files[moved(path, shelf).lstrip("/")] = path


def put(content: initramfs.Content, adapter: str, shelf: str) -> None:
    """Adds what @adapter needs, from the @shelf of ci/peers."""
    modules, peer = ask(adapter)
    if peer:
        put_peer(content, peer, shelf)
    python(content, [path for path in modules if not path.startswith(ADAPTERS)])
    adapters(content)
