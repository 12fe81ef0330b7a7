# SPDX-License-Identifier: GPL-2.0-only
"""Captures of emitted code with two problems at once, or with a broken map."""

import glob
from typing import Callable

from ci.base import files
from ci.labelled import programs
from ci.labelled.bench import Bench, CHAINS, make_dump_options, WITH_FP
from ci.labelled.of_workloads import DUMPS, FP, JITDUMP, MAP
from ci.labelled.recipe import add, add_workload, LIB
from harness.selftest.support import run_directory as rd

LARGE_DUMPS = make_dump_options(8192)

add_workload("bad-chain-not-injected-6.12",
             "stacks:jit-no-frame-pointer names:jitdump-not-injected", "bad_chain", JITDUMP)
add_workload("holes-no-names-6.12", "stacks:%s names:no-name-source" % LIB, "native_holes")
add_workload("shallow-no-names-7.3", "stacks:depth-limit names:no-name-source", "deep_stacks",
             "--depth=20", record=(*CHAINS, "-e", "cpu-clock/max-stack=4/"))
add_workload("depth-memfd-map-7.3", "stacks:depth-limit names:map-not-read-for-memfd",
             "memfd_double", "--depth=30", FP, MAP,
             record=(*CHAINS, "-e", "cpu-clock/max-stack=8/"))
add_workload("older-no-names-6.12", "stacks:older-code names:older-code", "wx_toggle", FP,
             record=(*CHAINS, "--synth=task"), attach=True)
add_workload("tiny-dump-6.1", "stacks:no-cfi-for-jit|dump-too-small names:no-name-source",
             "anon_exec", "--shapes=no_fp", record=make_dump_options(256))
add_workload("no-cfi-memfd-map-6.1", "stacks:no-cfi-for-jit names:map-not-read-for-memfd",
             "memfd_double", "--shapes=no_fp", MAP, record=DUMPS)
add_workload("no-cfi-wrong-clock-7.3", "stacks:no-cfi-for-jit names:jitdump-wrong-clock",
             "anon_exec", "--shapes=no_fp", JITDUMP, record=DUMPS, clock=False)
add_workload("no-cfi-injected-6.12", "stacks:no-cfi-for-jit names:-", "anon_exec",
             "--shapes=no_fp", JITDUMP, record=DUMPS, inject="6.12")
UNWINDING = ("anon_exec", "--shapes=no_fp,long", "--publish-with=unwinding")
add_workload("unwinding-wrong-clock-6.12", "stacks:jitdump-wrong-clock names:jitdump-wrong-clock",
             *UNWINDING, JITDUMP, record=LARGE_DUMPS, clock=False)
# The perf map names the code, but only the jitdump has unwinding information.
add_workload("both-unwinding-6.12", "stacks:jitdump-not-injected names:-", *UNWINDING,
             "--publish=both", record=LARGE_DUMPS)
add_workload("healthy-both-7.3", "healthy", "anon_exec", FP, "--publish=both")
add_workload("healthy-moved-injected-6.12", "healthy", "code_move", FP, JITDUMP, inject="6.12")
add_workload("healthy-reuse-injected-6.12", "healthy", "address_reuse", FP, JITDUMP,
             inject="6.12")
add_workload("moved-map-6.1", "stacks:- names:map-stale|map-partial", "code_move", FP, MAP)
add_workload("prefork-none-7.3", "stacks:- names:map-partial", "prefork", FP, MAP,
             "--publish-children=none")
add_workload("namespaces-map-7.3", "pid-namespace-map", "namespaces", MAP,
             record=(*CHAINS, "--namespaces"))
add_workload("map-empty-6.12", "stacks:- names:map-partial", "anon_exec", FP, "--publish=map:empty")
add_workload("dump-arch-times-6.1", "stacks:- names:damaged-jitdump", "anon_exec", FP,
             "--publish=jitdump:arch-times")
for CLOCK in ("raw", "boottime"):
    add_workload("clock-%s-6.12" % CLOCK, "stacks:- names:jitdump-wrong-clock", "anon_exec", FP,
                 JITDUMP, record=(*CHAINS, "-k", CLOCK), clock=False)
# The clock is wrong as well, but without the file no clock helps.
add_workload("wrong-clock-gone-6.1", "stacks:- names:jitdump-file-gone", "anon_exec", FP, JITDUMP,
             clock=False, after=Bench.remove_jitdumps)
# The jitdump was in a file system that only the container had.
add("dump-in-container-6.12", "stacks:- names:jitdump-file-gone", lambda bench: [
    "unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt; echo ready; timeout 2 %s; true" %
    " ".join(bench.workload("anon_exec", FP, JITDUMP, "--control-fd", "none", "--publish-dir",
                            "/mnt"))])


def remove_injected(bench: Bench) -> None:
    """Removes the ELF files that perf inject made, as a cleaner of /tmp does."""
    bench.must(["rm", *glob.glob(bench.place("jitted-*.so"))])
    bench.remove_jitdumps()


for VERSION in ("6.1", "7.3"):
    add_workload("injected-gone-" + VERSION, "stacks:- names:missing-file", "anon_exec", FP,
                 JITDUMP, inject=VERSION, after=remove_injected)


def add_in_file(name: str, label: str, *names: str) -> None:
    """Adds a recipe for code in a deleted temporary file."""
    add(name, label, lambda bench: [bench.build("in_file", programs.IN_FILE, *WITH_FP), "1200",
                                    bench.folder, *names])


add_in_file("temporary-file-6.1", "stacks:- names:no-name-source")
add_in_file("temporary-file-map-7.3", "stacks:- names:map-not-read-for-memfd", "map")


def add_broken_map(name: str, cause: str, change: Callable[[Bench, str], object]) -> None:
    def change_map(bench: Bench) -> None:
        jit, = {one.pid for one in rd.PerfData.load(bench.data).maps()
                if one.name == bench.jitproof}
        change(bench, "/tmp/perf-%d.map" % jit)
    add_workload(name, "stacks:- names:" + cause, "anon_exec", FP, MAP, after=change_map)


def make_directory(bench: Bench, path: str) -> None:
    bench.must(["rm", path])
    bench.must(["mkdir", path])


def write_ends(bench: Bench, path: str) -> None:
    """Writes the end of each function instead of its size."""
    lines = [line.split(" ", 2) for line in files.read(path).splitlines()]
    files.write(path, "".join("%s %x %s\n" % (start, int(start, 16) + int(size, 16), name)
                              for start, size, name in lines))
    bench.steps.append("# %s: ends instead of sizes" % path)


add_broken_map("map-directory-6.1", "map-wrong-owner", make_directory)
add_broken_map("map-dangling-6.1", "map-wrong-owner",
               lambda bench, path: bench.must(["ln", "-sf", "/nonexistent/map", path]))
add_broken_map("map-cut-6.1", "map-partial",
               lambda bench, path: bench.must(["truncate", "-s", "100", path]))
add_broken_map("map-ends-6.1", "map-stale|map-partial", write_ends)
