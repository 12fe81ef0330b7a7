# SPDX-License-Identifier: GPL-2.0-only
"""Checks includes by the table of floors, and finds cycles."""

import collections
import os
import re
from typing import Callable, Iterator, Mapping

from ci.lint.tree import Found, Tree, find_includes, blank_comments

# From the lowest floor up. An include leads downwards or stays in its folder; folders of the same
# floor must not include each other.
FLOORS = (
    ("harness/base",),
    ("harness/format",),
    ("harness/model",),
    ("harness/capture", "harness/inject", "harness/case", "harness/judge",
     "harness/explain", "harness/lint"),
    ("harness/outcome",),
    ("harness/run", "harness/report", "harness/facts", "harness/trace"),
    ("harness/repro", "harness/score"),
    ("harness/command",),
)
# Folders that are on no floor: (folder, all headers that its files may include, why).
OURS = r"(harness|workloads|validators)/"
ROOMS = (
    ("workloads/",
     rf"workloads/|harness/base/|harness/format/(truth/(format|write)|jit/jitdump_format)\.h$|"
     rf"harness/command/command\.h$|(?!{OURS})",
     "a workload includes only emit/, publish/ and the truth writer"),
    ("validators/",
     rf"validators/|harness/(base|format|model|judge)/|"
     rf"(?!{OURS}|linux/|sys/(mman|ioctl|wait|socket|ptrace|prctl|syscall|epoll|resource)\.h|"
     r"(unistd|fcntl|signal|poll|pthread|sched|dirent)\.h)",
     "a validator includes only model, judge and the truth reader, and makes no system call"),
)
# (header, the only files that may include it, why)
HOMES = (
    (r"(gelf|libelf)\.h$|libelf/", r"harness/format/elf/elf_source\.h$",
     "only harness/format/elf/ may include libelf"),
    (r"elfutils/libdw|libdw|dwarf\.h$", r"harness/model/unwind/cfi\.c$",
     "only harness/model/unwind/cfi.c may include libdw"),
    (r"zstd.*\.h$", r"harness/format/perfdata/zstd\.c$",
     "only harness/format/perfdata/zstd.c may include libzstd"),
    (r"linux/perf_event\.h$", r"harness/(capture|format/perfdata|facts)/",
     "only harness/capture/, format/perfdata/ and facts/ may include linux/perf_event.h"),
    (r"harness/facts/", r"harness/(facts|command)/",
     "facts register themselves: no other file names them"),
    (r"harness/explain/explainer\.h$", r"harness/explain/",
     "explainers register themselves: no other file names them"),
    (r"harness/capture/", r"harness/(?!outcome/|report/|repro/)",
     "the core must not name a capture: captures register themselves"),
    (r"validators/", r"validators/", "validators register themselves: no other file names them"),
    # `jitproof workload` runs registered workloads through their interface.
    (r"workloads/(?!emit/workload\.h$)", r"workloads/|harness/command/",
     "workloads register themselves: no other file names them"),
    (r"harness/selftest/", r"harness/selftest/", "nothing depends on its own tests"),
)

Graph = Mapping[str, set[str]]


def remove_extension(path: str) -> str:
    return os.path.splitext(path)[0]


def find_floor(path: str) -> tuple[int, str]:
    """Returns the floor's number and the folder in the table. Other folders are on top."""
    for number, folders in enumerate(FLOORS):
        for folder in folders:
            if path.startswith(folder + "/"):
                return number, folder
    return len(FLOORS), path.split("/")[0]


def check_include(path: str, name: str) -> tuple[bool, str]:
    """Returns whether an include leads up or sideways, and the problem with it or ""."""
    for room, may, reason in ROOMS:
        if path.startswith(room) and not re.match(may, name):
            return False, reason
    floor, folder = find_floor(path)
    floor_of_name, home = find_floor(name)
    if path.startswith("harness/") and name.startswith("harness/") and home != folder \
            and floor_of_name >= floor:
        return True, f"{home} is {'above' if floor_of_name > floor else 'beside'} {folder}"
    for header, owner, reason in HOMES:
        if re.match(header, name) and not re.match(owner, path):
            return False, reason
    return False, ""


def check_includes(tree: Tree) -> Iterator[tuple[bool, Found]]:
    """Yields for each forbidden include whether it leads up or sideways, and the finding."""
    for source in tree.c:
        if source.is_selftest:
            continue
        for number, name in find_includes(source.text):
            upward, reason = check_include(source.path, name)
            if reason:
                yield upward, source.found(number, f"includes {name}", reason)


def check_table(tree: Tree) -> Iterator[Found]:
    for source in tree.c:
        if source.path.startswith("harness/") and not source.is_selftest \
                and find_floor(source.path)[0] == len(FLOORS):
            yield source.found(1, "on no floor", "ci/lint/floors.py has the table")


def make_graph(tree: Tree, node: Callable[[str], str]) -> Graph:
    """Returns the graph of includes. @node: maps a path to its node, which may have several
    files."""
    graph: dict[str, set[str]] = collections.defaultdict(set)
    for source in tree.c:
        if source.is_selftest:
            continue
        for _, name in find_includes(source.text):
            if tree.path_exists(name) and node(name) != node(source.path):
                graph[node(source.path)].add(node(name))
    return graph


def add_names(tree: Tree, graph: Graph, node: Callable[[str], str]) -> Graph:
    """Adds an edge from each node to the nodes that define the functions that it uses. Includes
    alone would not show them if one header declares the functions of many files."""
    code = {source.path: blank_comments(source.text) for source in tree.c
            if source.path.endswith(".c") and not source.is_selftest}
    homes: dict[str, set[str]] = collections.defaultdict(set)
    for path, text in code.items():
        for name in re.findall(r"^(?!static\b)[a-z_][^;{}()=#]*?\b(jp_\w+)\([^;{}]*\)\n\{", text,
                               re.M):
            homes[name].add(node(path))
    widened = collections.defaultdict(set,
                                      {name: set(included) for name, included in graph.items()})
    for path, text in code.items():
        for name in set(re.findall(r"(?<!struct )(?<!enum )\bjp_\w+", text)):
            # Files of several architectures define the same function: the build chooses.
            if len(homes.get(name, ())) == 1:
                widened[node(path)] |= homes[name] - {node(path)}
    return widened


def find_reachable(graph: Graph, start: str) -> set[str]:
    reachable: set[str] = set()
    waiting = [start]
    while waiting:
        unvisited = graph.get(waiting.pop(), set()) - reachable
        reachable |= unvisited
        waiting += unvisited
    return reachable


def find_cycles(graph: Graph) -> list[list[str]]:
    """Returns the groups of nodes that reach each other."""
    reach = {node: find_reachable(graph, node) for node in graph}
    groups = {tuple(sorted(member for member in reach[node] if node in reach.get(member, ())))
              for node in graph if node in reach[node]}
    return sorted(list(group) for group in groups)


def check_cycles(kind: str, graph: Graph) -> Iterator[Found]:
    for group in find_cycles(graph):
        edges = [f"{source} -> {target}" for source in group for target
                 in sorted(graph[source] & set(group))]
        yield Found(group[0], 1, f"cycle of {kind}", "; ".join(edges))


def check(tree: Tree) -> tuple[list[Found], str]:
    """Returns all findings, and a line that counts upward includes and both kinds of cycles."""
    includes_found = list(check_includes(tree))
    upward = sum(leads_up for leads_up, _ in includes_found)
    folders = list(check_cycles("folders", make_graph(tree, os.path.dirname)))
    # A .c file and its header are one node.
    files = list(check_cycles("files", add_names(
        tree, make_graph(tree, remove_extension), remove_extension)))
    return [*check_table(tree), *(finding for _, finding in includes_found), *folders, *files], \
        f"floors: {upward} upward includes, {len(folders)} cycles of folders, " \
        f"{len(files)} cycles of files"
