# SPDX-License-Identifier: GPL-2.0-only
"""Captures of our own workloads, whose frames, mappings and names we control."""

import os
import time
from typing import Sequence

from ci.base import files, process
from ci.labelled.bench import Bench, get_chain_options, get_dump_options
from ci.labelled.recipe import register

FP, MAP, JITDUMP = "--shapes=fp", "--publish=map", "--publish=jitdump"
CHAINS = ("-g", "-F", "999")


def add_workload(name: str, label: str, version: str, record: Sequence[str], workload: str,
                 *options: str, clock: bool = True, inject: str = "", attach: bool = False) -> None:
    @register(name, label)
    def make(bench: Bench) -> None:
        command = bench.workload(workload, *options)
        if attach:
            bench.attach(version, record, command)
        else:
            bench.launch(version, record, command, clock=clock, inject=inject)


def add_launched(name: str, label: str, version: str, *workload: str, clock: bool = True) -> None:
    """Records a workload from its start, with callchains."""
    add_workload(name, label, version, get_chain_options(version), *workload, clock=clock)


def add_attached(name: str, label: str, version: str, record: tuple[str, ...], *workload: str
                 ) -> None:
    add_workload(name, label, version, (*get_chain_options(version), *record), *workload,
                 attach=True)


def add_dumped(name: str, label: str, version: str, size: int, *workload: str) -> None:
    """Records a workload from its start, with stack dumps."""
    add_workload(name, label, version, get_dump_options(version, size), *workload)


# Code named by a perf map or by an injected jitdump; frame pointers everywhere.
for VERSION in ("5.10", "6.1", "7.3", "ours"):
    add_launched("healthy-map-" + VERSION, "healthy", VERSION, "anon_exec", FP, MAP)
add_attached("healthy-map-attached-6.12", "healthy", "6.12", (), "anon_exec", FP, MAP,
             "--protect=flip")
add_attached("healthy-map-attached-ours", "healthy", "ours", (), "anon_exec", FP, MAP)
add_launched("healthy-zero-map-7.2", "healthy", "7.2", "coalesced_growth", "--backing=zero", FP,
             MAP)


def add_injected(name: str, version: str, record: tuple[str, ...], inject: str, *workload: str
                 ) -> None:
    add_workload(name, "healthy", version, record, *workload, inject=inject)


add_injected("healthy-injected-6.1", "6.1", CHAINS, "6.1", "anon_exec", FP, JITDUMP)
add_injected("healthy-injected-ours", "7.3", CHAINS, "ours", "coalesced_growth", FP, JITDUMP)
add_injected("healthy-memfd-injected-7.3", "7.3", CHAINS, "7.3", "memfd_double", FP, JITDUMP)
add_injected("healthy-unwound-ours", "ours", get_dump_options("ours", 8192), "ours", "anon_exec",
             JITDUMP,
             "--publish-with=unwinding", "--shapes=no_fp,long")


# Executable memory from before the attach, which no record announces.
add_attached("older-code-paths-ours", "older-code", "ours", ("--synth=paths",), "anon_exec", FP,
             MAP)
add_attached("older-code-none-ours", "older-code", "ours", ("--synth=none",), "anon_exec", FP)
add_attached("older-code-task-6.1", "older-code", "6.1", ("--synth=task",), "anon_exec", FP)
add_attached("older-code-task-7.3", "older-code", "7.3", ("--synth=task",), "coalesced_growth",
             "--period=0", "--pages=8", FP, MAP)
add_attached("older-code-paths-large-ours", "older-code", "ours", ("--synth=paths",), "anon_exec",
             "--protect=flip", "--programs=4", "--threads=4", "--shapes=fp,large")


def add_case(name: str, label: str, definition: str) -> None:
    register(name, label)(lambda bench: bench.record_case(definition))


# The snapshot of mappings is taken before records begin: both miss mappings in between.
WINDOW = (": attach --order=snapshot-first --synth=exec --freq=999"
          " : samples=300 at=before-enable:map")
add_case("attach-window-ours", "attach-window",
         "anon_exec --programs=2 --threads=2 --publish=map " + WINDOW)
add_case("attach-window-fp-ours", "attach-window",
         "anon_exec --shapes=fp --protect=flip --publish=map " + WINDOW)
add_case("exec-disabled-ours", "exec-while-disabled",
         "fork_exec --how=exec --tasks=3 : gated --gate=none --freq=999 : samples=200")
add_case("exec-disabled-fork-ours", "exec-while-disabled",
         "fork_exec --tasks=5 : gated --gate=none --freq=999 : samples=200")
add_case("exec-disabled-memfd-ours", "exec-while-disabled",
         "fork_exec --protect=views --how=posix_spawn --tasks=4 : gated --gate=none --freq=999"
         " : samples=200")


# bp is not a frame pointer: zero, a number, data.
for VERSION in ("5.10", "6.12", "7.3", "ours"):
    add_launched("bad-chain-" + VERSION, "jit-no-frame-pointer", VERSION, "bad_chain", MAP)
add_attached("bad-chain-attached-7.2", "jit-no-frame-pointer", "7.2", (), "bad_chain", MAP)

add_dumped("dump-small-6.1", "no-cfi-for-jit dump-too-small", "6.1", 2048, "deep_stacks",
           "--depth=60", "--large")
add_dumped("dump-small-ours", "no-cfi-for-jit dump-too-small", "ours", 1024, "anon_exec",
           "--depth=100", FP)
add_dumped("big-hollow-ours", "no-cfi-for-jit empty-dump", "ours", 16384, "big_frames", "--hollow")

add_launched("depth-5.10", "depth-limit", "5.10", "deep_stacks", "--depth=300", MAP)
add_launched("depth-ours", "depth-limit", "ours", "deep_stacks", "--depth=200", MAP)

add_dumped("no-cfi-6.1", "no-cfi-for-jit", "6.1", 4096, "anon_exec", "--shapes=no_fp", MAP)
add_dumped("no-cfi-ours", "no-cfi-for-jit", "ours", 4096, "anon_exec", "--shapes=no_fp,fp", MAP)
add_dumped("no-cfi-7.3", "no-cfi-for-jit", "7.3", 4096, "memfd_double", MAP)

add_launched("no-names-5.10", "no-name-source", "5.10", "anon_exec", FP)
add_launched("no-names-7.3", "no-name-source", "7.3", "memfd_double", FP)
add_attached("no-names-attached-ours", "no-name-source", "ours", (), "coalesced_growth", FP)

add_launched("memfd-map-6.1", "map-not-read-for-memfd", "6.1", "memfd_double", FP, MAP)
add_launched("memfd-map-7.3", "map-not-read-for-memfd", "7.3", "memfd_double", FP, MAP)
add_launched("shm-map-6.12", "map-not-read-for-memfd", "6.12", "coalesced_growth", "--backing=shm",
             FP, MAP)
add_launched("views-map-ours", "map-not-read-for-memfd", "ours", "coalesced_growth",
             "--backing=memfd-views", FP, MAP)

add_launched("not-injected-6.1", "jitdump-not-injected", "6.1", "anon_exec", FP, JITDUMP)
add_launched("not-injected-ours", "jitdump-not-injected", "ours", "coalesced_growth", FP, JITDUMP)
add_dumped("not-injected-unwinding-ours", "jitdump-not-injected", "ours", 8192, "anon_exec",
           "--shapes=no_fp,long", JITDUMP, "--publish-with=unwinding")
# Children run their parent's code, and code of their own; only the parent has a map.
add_launched("map-of-parent-ours", "map-partial", "ours", "prefork", FP, MAP,
             "--publish-children=none")
add_launched("wrong-clock-6.1", "jitdump-wrong-clock", "6.1", "anon_exec", FP, JITDUMP, clock=False)
add_launched("wrong-clock-7.3", "jitdump-wrong-clock", "7.3", "memfd_double", FP, JITDUMP,
             clock=False)


def add_dump_gone(version: str, workload: str) -> None:
    @register("dump-gone-" + version, "jitdump-file-gone")
    def make_capture(bench: Bench) -> None:
        bench.launch(version, get_chain_options(version),
                     bench.workload(workload, FP, JITDUMP))
        bench.remove_jitdumps()


add_dump_gone("6.12", "anon_exec")
add_dump_gone("ours", "memfd_double")


def add_hidden(version: str, *options: str, inject: tuple[str, ...] = ()) -> None:
    @register("hidden-" + (options[0].rpartition("=")[2] + "-" if options else "") + version,
                     "jitdump-hidden")
    def make_capture(bench: Bench) -> None:
        recorder = "7.3" if version == "ours" else version
        bench.launch(recorder, CHAINS, bench.workload(
            "coalesced_growth", FP, JITDUMP, "--period=10", *options))
        bench.inject(version, *inject)


add_hidden("ours", inject=("--anon=keep",))
add_hidden("7.3", "--backing=zero", "--manner=mprotect")
add_hidden("6.1", "--backing=heap", "--manner=mprotect")


def add_map_partial(version: str, kept: slice, what: str, *options: str) -> None:
    @register("map-partial-" + version, "map-partial")
    def make_capture(bench: Bench) -> None:
        bench.attach(version, get_chain_options(version), bench.workload(
            "anon_exec", FP, *options, MAP))
        path = "/tmp/perf-%d.map" % bench.pid
        lines = files.read(path).splitlines(True)
        files.write(path, "".join(lines[kept]))
        bench.steps.append("# " + what)


add_map_partial("6.1", slice(None, None, 2), "every other line of the perf map stays")
add_map_partial("ours", slice(8), "the perf map's lines of the first program stay", "--programs=2",
                "--threads=2")


@register("map-stale-pid-7.2", "map-stale")
def map_of_earlier_process(bench: Bench) -> None:
    """Writes a perf map of an earlier process with the same pid: an older file, with other
    addresses."""
    bench.attach("7.2", CHAINS, bench.workload("anon_exec", FP))
    path = "/tmp/perf-%d.map" % bench.pid
    files.write(path, "".join("%x %x old_function_%d\n" % (0x7e0000000000 + i * 64, 64, i)
                              for i in range(50)))
    hour_ago = time.time() - 3600
    os.utime(path, (hour_ago, hour_ago))
    bench.steps.append("# %s: 50 functions at 0x7e0000000000, an hour old" % path)


# Addresses are reused, but a map contains no times.
add_launched("map-stale-reuse-ours", "map-stale", "ours", "address_reuse", FP, MAP, "--period=20")
add_launched("map-stale-reuse-6.1", "map-stale", "6.1", "address_reuse", "--how=unmap", FP, MAP,
             "--period=20")


def add_fifo(version: str, workload: str) -> None:
    @register("map-fifo-" + version, "map-wrong-owner")
    def make_capture(bench: Bench) -> None:
        bench.attach(version, get_chain_options(version), bench.workload(workload, FP))
        path = "/tmp/perf-%d.map" % bench.pid
        if os.path.lexists(path):
            os.unlink(path)
        bench.must(["mkfifo", path])


add_fifo("6.1", "anon_exec")
add_fifo("ours", "coalesced_growth")


def add_in_namespace(version: str, *spaces: str) -> None:
    @register("pid-namespace-" + version, "pid-namespace-map")
    def make_capture(bench: Bench) -> None:
        record = get_chain_options(version) if version == "ours" else (*CHAINS, "--namespaces")
        started = bench.start(["unshare", "--pid", "--fork", *spaces, *bench.workload(
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


add_in_namespace("6.1")
add_in_namespace("7.3")
add_in_namespace("ours")

add_launched("holes-ours", "library-no-frame-pointer", "ours", "native_holes", MAP)
add_launched("holes-7.3", "library-no-frame-pointer", "7.3", "native_holes", MAP)
