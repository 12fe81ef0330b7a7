# SPDX-License-Identifier: GPL-2.0-only
"""Adds an external profiler to a guest: Python, the adapters, and the profiler itself.

The guest gets this process's Python, with the modules of the standard library that the adapters
import, at the same paths: Python finds its library by its own path. The guest's jitproof searches
peers (ci/peers) in its own folder. If the guest's machine differs from this one, Python and the
shell are peers too.
"""

import importlib.util
import json
import os
import re
import shlex
import sys
import sysconfig
from typing import Iterator, Mapping, Sequence

from ci.base import files, process
from ci.base.status import Missing
from ci.matrix.vm import initramfs
from ci.peers.sources import known
from ci.peers.sources.peer import Peer

ROOT = os.path.abspath(__file__ + "/../../../..")
ADAPTERS = os.path.join(ROOT, "harness", "profiler")
PEERS = "bin/peers"
# Prints the files of the modules that an adapter imports, and the peer that it drives. Imports the
# codecs itself: Python imports a codec only when a file that needs it is opened.
QUERY = """import encodings.ascii, encodings.latin_1, encodings.utf_8, importlib, json, sys
sys.path.insert(0, sys.argv[1])
module = importlib.import_module(sys.argv[2])
print(json.dumps([sorted({one.__file__ for one in list(sys.modules.values())
                          if getattr(one, "__file__", None)}),
                  [one.peer for one in vars(module).values()
                   if isinstance(one, type) and getattr(one, "peer", "")]]))
"""


def get_emulator(loader: Sequence[str]) -> Sequence[str]:
    """Returns the command prefix that runs programs of the guest here. @loader: the command that
    lists the libraries of such programs."""
    return () if loader[0] == "ldd" else loader[:1]


def query_adapter(adapter: str,
                  python: Sequence[str] = (sys.executable,)) -> tuple[list[str], str]:
    """Returns the files of the modules that an adapter needs, and its peer or "". @python: the
    command of the Python that will run the adapter."""
    if not os.path.exists(os.path.join(ADAPTERS, adapter + ".py")):
        raise Missing("no profiler '%s' in %s" % (adapter, os.path.relpath(ADAPTERS)))
    modules, peers = json.loads(process.run_or_raise(
        [*python, "-B", "-I", "-S", "-c", QUERY, ADAPTERS, adapter]))
    return modules, peers[0] if peers else ""


def read_bytecode(path: str) -> bytes:
    """Returns the cached bytecode of a module, marked as valid whatever the time of its source is.
    Compiling all modules would take the guest a second. Returns b"" if there is no bytecode."""
    try:
        data = files.read_bytes(importlib.util.cache_from_source(path))
    except OSError:
        return b""
    # Magic number; flags (1: by a hash that nobody checks); the hash (PEP 552).
    return data[:4] + (1).to_bytes(4, "little") + bytes(8) + data[16:]


def add_python(content: initramfs.Content, modules: list[str]) -> None:
    binary = os.path.realpath(sys.executable)
    landmark = os.path.join(sysconfig.get_path("stdlib"), "os.py")
    content.programs[binary.lstrip("/")] = binary
    content.links["bin/python3"] = binary
    for path in (landmark, *modules):
        # Extension modules need libraries like programs.
        kind = content.programs if path.endswith(".so") else content.files
        kind[path.lstrip("/")] = path
        if data := read_bytecode(path):
            content.data[importlib.util.cache_from_source(path).lstrip("/")] = data


def add_adapters(content: initramfs.Content) -> None:
    """Adds all adapters, since they import each other."""
    for folder in ("", "adapting"):
        for name in sorted(os.listdir(os.path.join(ADAPTERS, folder))):
            if name.endswith(".py"):
                content.files[os.path.join("bin/profiler", folder, name)] = os.path.join(
                    ADAPTERS, folder, name)


def move_paths(text: str, shelf: str) -> str:
    """Replaces paths of @shelf in a text by their paths in the guest."""
    return text.replace(shelf + "/", "/%s/" % PEERS)


def parse_script(script: str) -> list[str]:
    """Returns the command line that a command of ci/peers executes."""
    match = re.fullmatch(r'#!/bin/sh\nexec (.*) "\$@"\n', script)
    if not match:
        raise Missing("not a command of ci/peers: %r" % script[:60])
    return shlex.split(match[1])


def list_files(words: Sequence[str], loader: Sequence[str]) -> Iterator[str]:
    """Yields the files that a command line needs. @words: a program, or a loader, its options and a
    program. @loader: the command that lists the libraries of a program without a loader."""
    yield words[-1]
    if len(words) > 1:
        yield words[0]
        loader = [*get_emulator(loader), *words[:-1], "--list"]
    yield from initramfs.find_libraries(words[-1], loader)


def read_scripts(peer: Peer, name: str, shelf: str) -> Mapping[str, str]:
    """Reads the script of each command of a peer. Raises Missing if it is not installed."""
    paths = {command: os.path.join(shelf, "bin", command) for command in peer.programs}
    if not all(map(os.path.exists, paths.values())):
        raise Missing("profiler %s is not installed; run python3 ci/peers %s, with the same --arch"
                      % (name, name))
    return {command: files.read(path) for command, path in paths.items()}


def add_peer(content: initramfs.Content, name: str, shelf: str) -> None:
    for command, script in read_scripts({**known.PEERS, **known.GUESTS}[name], name,
                                        shelf).items():
        content.scripts["%s/bin/%s" % (PEERS, command)] = move_paths(script, shelf)
        for path in list_files(parse_script(script), content.loader):
            content.files[move_paths(path, shelf).lstrip("/")] = path


def add_foreign_python(content: initramfs.Content, adapter: str, shelf: str) -> None:
    """Adds Python and the shell of the guest's machine from @shelf."""
    scripts = {name: read_scripts(known.GUESTS[name], name, shelf) for name in ("python", "sh")}
    # /bin/sh runs the commands, so it must be a program itself, not a script of a peer.
    content.programs["bin/sh"] = parse_script(scripts["sh"]["sh"])[-1]
    content.links["bin/python3"] = "/%s/bin/python3" % PEERS
    add_peer(content, "python", shelf)
    *start, program = parse_script(scripts["python"]["python3"])
    modules, _ = query_adapter(adapter, [*get_emulator(content.loader), *start, program])
    for module in modules:
        if not module.startswith(ADAPTERS):
            # Extension modules need libraries like programs.
            for path in list_files([*start, module], content.loader) \
                    if module.endswith(".so") else (module,):
                content.files[move_paths(path, shelf).lstrip("/")] = path


def add_profiler(content: initramfs.Content, adapter: str, shelf: str) -> None:
    """Adds the files of @adapter and its peer. @shelf: the folder of the profilers of ci/peers."""
    shelf = os.path.realpath(shelf)
    modules, peer = query_adapter(adapter)
    if peer:
        add_peer(content, peer, shelf)
    if get_emulator(content.loader):
        add_foreign_python(content, adapter, shelf)
    else:
        add_python(content, [path for path in modules if not path.startswith(ADAPTERS)])
    add_adapters(content)
