# SPDX-License-Identifier: GPL-2.0-only
"""Captures of our own workloads, whose frames, mappings and names we control."""

import os
import time

from ci.base import files, process
from ci.labelled.bench import Bench, CHAINS, make_dump_options
from ci.labelled.recipe import add_workload, register

FP, MAP, JITDUMP = "--shapes=fp", "--publish=map", "--publish=jitdump"

# Code named by a perf map or by an injected jitdump; frame pointers everywhere.
for VERSION in ("5.10", "6.1", "7.3", "ours"):
    add_workload("healthy-map-" + VERSION, "healthy", "anon_exec", FP, MAP)
add_workload("healthy-map-attached-6.12", "healthy", "anon_exec", FP, MAP, "--protect=flip",
             attach=True)
add_workload("healthy-map-attached-ours", "healthy", "anon_exec", FP, MAP, attach=True)
add_workload("healthy-zero-map-7.2", "healthy", "coalesced_growth", "--backing=zero", FP, MAP)
add_workload("healthy-injected-6.1", "healthy", "anon_exec", FP, JITDUMP, inject="6.1")
add_workload("healthy-injected-ours", "healthy", "coalesced_growth", FP, JITDUMP, version="7.3",
             inject="ours")
add_workload("healthy-memfd-injected-7.3", "healthy", "memfd_double", FP, JITDUMP, inject="7.3")
add_workload("healthy-unwound-ours", "healthy", "anon_exec", JITDUMP, "--publish-with=unwinding",
             "--shapes=no_fp,long", record=make_dump_options(8192), inject="ours")

# Executable memory from before the attach, which no record announces.
TASK = (*CHAINS, "--synth=task")
PATHS = (*CHAINS, "--synth=paths")
add_workload("older-code-paths-ours", "older-code", "anon_exec", FP, MAP, record=PATHS,
             attach=True)
add_workload("older-code-none-ours", "older-code", "anon_exec", FP,
             record=(*CHAINS, "--synth=none"), attach=True)
add_workload("older-code-task-6.1", "older-code", "anon_exec", FP, record=TASK, attach=True)
add_workload("older-code-task-7.3", "older-code", "coalesced_growth", "--period=0", "--pages=8",
             FP, MAP, record=TASK, attach=True)
add_workload("older-code-paths-large-ours", "older-code", "anon_exec", "--protect=flip",
             "--programs=4", "--threads=4", "--shapes=fp,large", record=PATHS, attach=True)


def add_case(name: str, label: str, definition: str) -> None:
    register(name, label)(lambda bench: bench.record_case(definition))


# The snapshot of mappings is taken before records begin: both miss mappings in between.
WINDOW = (": attach --order=snapshot-first --synth=exec --freq=999"
          " : samples=300 at=before-enable:map")
add_case("attach-window-ours", "attach-window",
         "anon_exec --programs=2 --threads=2 --publish=map " + WINDOW)
add_case("attach-window-fp-ours", "attach-window",
         "anon_exec --shapes=fp --protect=flip --publish=map " + WINDOW)
GATED = " : gated --gate=none --freq=999 : samples=200"
add_case("exec-disabled-ours", "exec-while-disabled", "fork_exec --how=exec --tasks=3" + GATED)
add_case("exec-disabled-fork-ours", "exec-while-disabled", "fork_exec --tasks=5" + GATED)
add_case("exec-disabled-memfd-ours", "exec-while-disabled",
         "fork_exec --protect=views --how=posix_spawn --tasks=4" + GATED)

# bp is not a frame pointer: zero, a number, data.
for VERSION in ("5.10", "6.12", "7.3", "ours"):
    add_workload("bad-chain-" + VERSION, "jit-no-frame-pointer", "bad_chain", MAP)
add_workload("bad-chain-attached-7.2", "jit-no-frame-pointer", "bad_chain", MAP, attach=True)

add_workload("dump-small-6.1", "no-cfi-for-jit dump-too-small", "deep_stacks", "--depth=60",
             "--large", record=make_dump_options(2048))
add_workload("dump-small-ours", "no-cfi-for-jit dump-too-small", "anon_exec", "--depth=100", FP,
             record=make_dump_options(1024))
add_workload("big-hollow-ours", "no-cfi-for-jit empty-dump", "big_frames", "--hollow",
             record=make_dump_options(16384))

add_workload("depth-5.10", "depth-limit", "deep_stacks", "--depth=300", MAP)
add_workload("depth-ours", "depth-limit", "deep_stacks", "--depth=200", MAP)

DUMPS = make_dump_options(4096)
add_workload("no-cfi-6.1", "no-cfi-for-jit", "anon_exec", "--shapes=no_fp", MAP, record=DUMPS)
add_workload("no-cfi-ours", "no-cfi-for-jit", "anon_exec", "--shapes=no_fp,fp", MAP, record=DUMPS)
add_workload("no-cfi-7.3", "no-cfi-for-jit", "memfd_double", MAP, record=DUMPS)

add_workload("no-names-5.10", "no-name-source", "anon_exec", FP)
add_workload("no-names-7.3", "no-name-source", "memfd_double", FP)
add_workload("no-names-attached-ours", "no-name-source", "coalesced_growth", FP, attach=True)

add_workload("memfd-map-6.1", "map-not-read-for-memfd", "memfd_double", FP, MAP)
add_workload("memfd-map-7.3", "map-not-read-for-memfd", "memfd_double", FP, MAP)
add_workload("shm-map-6.12", "map-not-read-for-memfd", "coalesced_growth", "--backing=shm", FP, MAP)
add_workload("views-map-ours", "map-not-read-for-memfd", "coalesced_growth",
             "--backing=memfd-views", FP, MAP)

add_workload("not-injected-6.1", "jitdump-not-injected", "anon_exec", FP, JITDUMP)
add_workload("not-injected-ours", "jitdump-not-injected", "coalesced_growth", FP, JITDUMP)
add_workload("not-injected-unwinding-ours", "jitdump-not-injected", "anon_exec",
             "--shapes=no_fp,long", JITDUMP, "--publish-with=unwinding",
             record=make_dump_options(8192))
# Children run their parent's code, and code of their own; only the parent has a map.
add_workload("map-of-parent-ours", "map-partial", "prefork", FP, MAP, "--publish-children=none")
add_workload("wrong-clock-6.1", "jitdump-wrong-clock", "anon_exec", FP, JITDUMP, clock=False)
add_workload("wrong-clock-7.3", "jitdump-wrong-clock", "memfd_double", FP, JITDUMP, clock=False)
add_workload("dump-gone-6.12", "jitdump-file-gone", "anon_exec", FP, JITDUMP,
             after=Bench.remove_jitdumps)
add_workload("dump-gone-ours", "jitdump-file-gone", "memfd_double", FP, JITDUMP,
             after=Bench.remove_jitdumps)

HIDDEN = ("jitdump-hidden", "coalesced_growth", FP, JITDUMP, "--period=10")
add_workload("hidden-ours", *HIDDEN, version="7.3",
             after=lambda bench: bench.inject("ours", "--anon=keep"))
add_workload("hidden-zero-7.3", *HIDDEN, "--backing=zero", "--manner=mprotect", inject="7.3")
add_workload("hidden-heap-6.1", *HIDDEN, "--backing=heap", "--manner=mprotect", inject="6.1")


def add_map_partial(name: str, kept: slice, what: str, *options: str) -> None:
    def remove_lines(bench: Bench) -> None:
        path = "/tmp/perf-%d.map" % bench.pid
        files.write(path, "".join(files.read(path).splitlines(True)[kept]))
        bench.steps.append("# " + what)
    add_workload(name, "map-partial", "anon_exec", FP, *options, MAP, attach=True,
                 after=remove_lines)


add_map_partial("map-partial-6.1", slice(None, None, 2), "every other line of the perf map stays")
add_map_partial("map-partial-ours", slice(8), "the perf map's lines of the first program stay",
                "--programs=2", "--threads=2")


def write_map_of_earlier_process(bench: Bench) -> None:
    """Writes a perf map of an earlier process with the same pid: an older file, with other
    addresses."""
    path = "/tmp/perf-%d.map" % bench.pid
    files.write(path, "".join("%x %x old_function_%d\n" % (0x7e0000000000 + i * 64, 64, i)
                              for i in range(50)))
    hour_ago = time.time() - 3600
    os.utime(path, (hour_ago, hour_ago))
    bench.steps.append("# %s: 50 functions at 0x7e0000000000, an hour old" % path)


add_workload("map-stale-pid-7.2", "map-stale", "anon_exec", FP, attach=True,
             after=write_map_of_earlier_process)
# Addresses are reused, but a map contains no times.
add_workload("map-stale-reuse-ours", "map-stale", "address_reuse", FP, MAP, "--period=20")
add_workload("map-stale-reuse-6.1", "map-stale", "address_reuse", "--how=unmap", FP, MAP,
             "--period=20")


def make_fifo(bench: Bench) -> None:
    path = "/tmp/perf-%d.map" % bench.pid
    if os.path.lexists(path):
        os.unlink(path)
    bench.must(["mkfifo", path])


add_workload("map-fifo-6.1", "map-wrong-owner", "anon_exec", FP, attach=True, after=make_fifo)
add_workload("map-fifo-ours", "map-wrong-owner", "coalesced_growth", FP, attach=True,
             after=make_fifo)


def add_in_namespace(version: str) -> None:
    @register("pid-namespace-" + version, "pid-namespace-map")
    def make_capture(bench: Bench) -> None:
        record = CHAINS if version == "ours" else (*CHAINS, "--namespaces")
        started = bench.start(["unshare", "--pid", "--fork", *bench.workload(
            "anon_exec", FP, MAP, "--control-fd", "none")])
        try:
            outer = files.read("/proc/%d/task/%d/children" % (started.pid, started.pid)).split()[0]
            bench.pid = int(outer)
            inner = files.read("/proc/%s/status" % outer).split("NSpid:")[1].split("\n")[0].split()
            command = [*bench.recorder(version, record), "-p", outer]
            if version == "ours":
                bench.add_note(command, "timeout -s INT 1 ")
                process.run(["timeout", "-s", "INT", "1", *command])
            else:
                bench.must([*command, "--", "sleep", "1"])
        finally:
            process.run(["kill", outer])
            started.communicate(timeout=20)
        bench.extra.append("/tmp/perf-%s.map" % inner[-1])
    del make_capture


for VERSION in ("6.1", "7.3", "ours"):
    add_in_namespace(VERSION)

add_workload("holes-ours", "library-no-frame-pointer", "native_holes", MAP)
add_workload("holes-7.3", "library-no-frame-pointer", "native_holes", MAP)
