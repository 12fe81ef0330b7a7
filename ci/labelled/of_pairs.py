# SPDX-License-Identifier: GPL-2.0-only
"""Captures of emitted code with two problems at once, or with a broken map or jitdump."""

import glob
import os
from typing import Callable

from ci.base import files
from ci.labelled import programs
from ci.labelled.bench import Bench, get_dump_options
from ci.labelled.of_damage import record_jitdump
from ci.labelled.of_programs import CHAINS, WITH_FP
from ci.labelled.of_workloads import FP, JITDUMP, MAP, add_workload
from ci.labelled.recipe import register
from harness.selftest.support import run_directory as rd

LIB = "library-no-frame-pointer"
DUMPS = get_dump_options("6.12", 4096)
LARGE_DUMPS = get_dump_options("6.12", 8192)


add_workload("bad-chain-not-injected-6.12",
             "stacks:jit-no-frame-pointer names:jitdump-not-injected", "6.12", CHAINS, "bad_chain",
             JITDUMP)
add_workload("holes-no-names-6.12", "stacks:%s names:no-name-source" % LIB, "6.12", CHAINS,
             "native_holes")
add_workload("shallow-no-names-7.3", "stacks:depth-limit names:no-name-source", "7.3",
             (*CHAINS, "-e", "cpu-clock/max-stack=4/"), "deep_stacks", "--depth=20")
add_workload("depth-memfd-map-7.3", "stacks:depth-limit names:map-not-read-for-memfd", "7.3",
             (*CHAINS, "-e", "cpu-clock/max-stack=8/"), "memfd_double", "--depth=30", FP, MAP)
add_workload("older-no-names-6.12", "stacks:older-code names:older-code", "6.12",
             (*CHAINS, "--synth=task"), "wx_toggle", FP, attach=True)
add_workload("tiny-dump-6.1", "stacks:no-cfi-for-jit|dump-too-small names:no-name-source", "6.1",
             get_dump_options("6.1", 256), "anon_exec", "--shapes=no_fp")
add_workload("no-cfi-memfd-map-6.1", "stacks:no-cfi-for-jit names:map-not-read-for-memfd", "6.1",
             DUMPS, "memfd_double", "--shapes=no_fp", MAP)
add_workload("no-cfi-wrong-clock-7.3", "stacks:no-cfi-for-jit names:jitdump-wrong-clock", "7.3",
             DUMPS, "anon_exec", "--shapes=no_fp", JITDUMP, clock=False)
add_workload("no-cfi-injected-6.12", "stacks:no-cfi-for-jit names:-", "6.12", DUMPS, "anon_exec",
             "--shapes=no_fp", JITDUMP, inject="6.12")
UNWINDING = ("anon_exec", "--shapes=no_fp,long", "--publish-with=unwinding")
add_workload("unwinding-wrong-clock-6.12", "stacks:jitdump-wrong-clock names:jitdump-wrong-clock",
             "6.12", LARGE_DUMPS, *UNWINDING, JITDUMP, clock=False)
# The perf map names the code, but only the jitdump has unwinding information.
add_workload("both-unwinding-6.12", "stacks:jitdump-not-injected names:-", "6.12", LARGE_DUMPS,
             *UNWINDING, "--publish=both")
add_workload("healthy-both-7.3", "healthy", "7.3", CHAINS, "anon_exec", FP, "--publish=both")
add_workload("healthy-moved-injected-6.12", "healthy", "6.12", CHAINS, "code_move", FP, JITDUMP,
             inject="6.12")
add_workload("healthy-reuse-injected-6.12", "healthy", "6.12", CHAINS, "address_reuse", FP, JITDUMP,
             inject="6.12")
add_workload("moved-map-6.1", "stacks:- names:map-stale|map-partial", "6.1", CHAINS, "code_move",
             FP, MAP)
add_workload("prefork-none-7.3", "stacks:- names:map-partial", "7.3", CHAINS, "prefork", FP, MAP,
             "--publish-children=none")
add_workload("namespaces-map-7.3", "pid-namespace-map", "7.3", (*CHAINS, "--namespaces"),
             "namespaces", MAP)
add_workload("map-empty-6.12", "stacks:- names:map-partial", "6.12", CHAINS, "anon_exec", FP,
             "--publish=map:empty")
add_workload("dump-arch-times-6.1", "stacks:- names:damaged-jitdump", "6.1", CHAINS, "anon_exec",
             FP, "--publish=jitdump:arch-times")
for CLOCK in ("raw", "boottime"):
    add_workload("clock-%s-6.12" % CLOCK, "stacks:- names:jitdump-wrong-clock", "6.12",
             (*CHAINS, "-k", CLOCK), "anon_exec", FP, JITDUMP, clock=False)


@register("wrong-clock-gone-6.1", "stacks:- names:jitdump-file-gone")
def lose_dump(bench: Bench) -> None:
    """The clock is wrong as well, but without the file no clock helps."""
    bench.launch("6.1", CHAINS, bench.workload("anon_exec", FP, JITDUMP), clock=False)
    bench.remove_jitdumps()


@register("dump-in-container-6.12", "stacks:- names:jitdump-file-gone")
def record_container(bench: Bench) -> None:
    """The jitdump was in a file system that only the container had."""
    jit = bench.workload("anon_exec", FP, JITDUMP, "--control-fd", "none", "--publish-dir", "/mnt")
    bench.launch("6.12", CHAINS, ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt; "
                                  "echo ready; timeout 2 %s; true" % " ".join(jit)])


def add_injected_gone(version: str) -> None:
    @register("injected-gone-" + version, "stacks:- names:missing-file")
    def make(bench: Bench) -> None:
        """Removes the ELF files that perf inject made, as a cleaner of /tmp does."""
        bench.launch(version, CHAINS, bench.workload("anon_exec", FP, JITDUMP), inject=version)
        bench.must(["rm", *glob.glob(bench.place("jitted-*.so"))])
        bench.remove_jitdumps()


add_injected_gone("6.1")
add_injected_gone("7.3")


def add_in_file(name: str, label: str, version: str, *names: str) -> None:
    """Adds a recipe for code in a deleted temporary file."""
    @register(name, label)
    def make(bench: Bench) -> None:
        bench.launch(version, CHAINS, [bench.build("in_file", programs.IN_FILE, *WITH_FP), "1200",
                                       bench.folder, *names])


add_in_file("temporary-file-6.1", "stacks:- names:no-name-source", "6.1")
add_in_file("temporary-file-map-7.3", "stacks:- names:map-not-read-for-memfd", "7.3", "map")


def break_map(name: str, label: str, change: Callable[[Bench, str], object]) -> None:
    @register(name, label)
    def make(bench: Bench) -> None:
        bench.launch("6.1", CHAINS, bench.workload("anon_exec", FP, MAP))
        jit, = {one.pid for one in rd.PerfData.load(bench.data).maps()
                if one.name == bench.jitproof}
        change(bench, "/tmp/perf-%d.map" % jit)


def make_directory(bench: Bench, path: str) -> None:
    bench.must(["rm", path])
    bench.must(["mkdir", path])


def write_ends(bench: Bench, path: str) -> None:
    """Writes the end of each function instead of its size."""
    lines = [line.split(" ", 2) for line in files.read(path).splitlines()]
    files.write(path, "".join("%s %x %s\n" % (start, int(start, 16) + int(size, 16), name)
                              for start, size, name in lines))
    bench.steps.append("# %s: ends instead of sizes" % path)


break_map("map-directory-6.1", "stacks:- names:map-wrong-owner", make_directory)
break_map("map-dangling-6.1", "stacks:- names:map-wrong-owner",
          lambda bench, path: bench.must(["ln", "-sf", "/nonexistent/map", path]))
break_map("map-cut-6.1", "stacks:- names:map-partial",
          lambda bench, path: bench.must(["truncate", "-s", "100", path]))
break_map("map-ends-6.1", "stacks:- names:map-stale|map-partial", write_ends)


def damage(name: str, label: str, at: int, value: bytes) -> None:
    """Adds a recipe that overwrites bytes of the jitdump."""
    @register(name, label)
    def make(bench: Bench) -> None:
        dump = record_jitdump(bench, "6.12")
        raw = files.read_bytes(dump)
        files.write_bytes(dump, raw[:at] + value + raw[at + len(value):])
        bench.steps.append("# %s: %s at %d" % (os.path.basename(dump), value.hex(), at))


damage("dump-magic-6.12", "stacks:- names:damaged-jitdump", 0, b"JiTT")
damage("dump-first-size-6.12", "stacks:- names:damaged-jitdump", 44, b"\xff\xff\xff\x7f")


@register("dump-header-only-6.12", "stacks:- names:empty-jitdump")
def keep_header(bench: Bench) -> None:
    bench.must(["truncate", "-s", "40", record_jitdump(bench, "6.12")])
