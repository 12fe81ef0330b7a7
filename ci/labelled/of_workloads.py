# SPDX-License-Identifier: GPL-2.0-only
"""Captures of our own workloads: emitted code whose frames, mappings and names are as we say."""

import os
import time

from ci.base import files, process
from ci.labelled.bench import Bench, chains, dumps
from ci.labelled.recipe import add, recipe

FP = "--shapes=fp"
CHAINS = ("-g", "-F", "999")


def launched(name: str, label: str, version: str, workload: str, *options: str,
             clock: bool = True) -> None:
    """A workload from its start, with callchains."""
    def make(bench: Bench) -> None:
        bench.launch(version, chains(version), bench.workload(workload, *options), clock=clock)
    add(name, label, make)


def attached(name: str, label: str, version: str, record: tuple[str, ...], workload: str,
             *options: str) -> None:
    """A workload that runs already, with callchains."""
    def make(bench: Bench) -> None:
        bench.attach(version, (*chains(version), *record),
                     bench.workload(workload, *options))
    add(name, label, make)


def dumped(name: str, label: str, version: str, size: int, workload: str, *options: str) -> None:
    """A workload from its start, with stack dumps."""
    def make(bench: Bench) -> None:
        bench.launch(version, dumps(version, size), bench.workload(workload, *options))
    add(name, label, make)


# Named by a perf map, or by an injected jitdump; frame pointers everywhere.
for VERSION in ("5.10", "6.1", "7.3", "ours"):
    launched("healthy-map-" + VERSION, "healthy", VERSION, "anon_exec", FP, "--publish=map")
attached("healthy-map-attached-6.12", "healthy", "6.12", (), "anon_exec", FP, "--publish=map",
         "--protect=flip")
attached("healthy-map-attached-ours", "healthy", "ours", (), "anon_exec", FP, "--publish=map")
launched("healthy-zero-map-7.2", "healthy", "7.2", "coalesced_growth", "--backing=zero", FP,
         "--publish=map")


def injected(name: str, version: str, record: tuple[str, ...], inject: str, workload: str,
             *options: str) -> None:
    add(name, "healthy", lambda bench: bench.launch(version, record, bench.workload(
        workload, *options), inject=inject))


injected("healthy-injected-6.1", "6.1", CHAINS, "6.1", "anon_exec", FP, "--publish=jitdump")
injected("healthy-injected-ours", "7.3", CHAINS, "ours", "coalesced_growth", FP,
         "--publish=jitdump")
injected("healthy-memfd-injected-7.3", "7.3", CHAINS, "7.3", "memfd_double", FP,
         "--publish=jitdump")
injected("healthy-unwound-ours", "ours", dumps("ours", 8192), "ours", "anon_exec",
         "--publish=jitdump", "--publish-with=unwinding", "--shapes=no_fp,long")


# Executable memory that was there before, and that nothing announces.
attached("older-code-paths-ours", "older-code", "ours", ("--synth=paths",), "anon_exec", FP,
         "--publish=map")
attached("older-code-none-ours", "older-code", "ours", ("--synth=none",), "anon_exec", FP)
attached("older-code-task-6.1", "older-code", "6.1", ("--synth=task",), "anon_exec", FP)
attached("older-code-task-7.3", "older-code", "7.3", ("--synth=task",), "coalesced_growth",
         "--period=0", "--pages=8", FP, "--publish=map")
attached("older-code-paths-large-ours", "older-code", "ours", ("--synth=paths",), "anon_exec",
         "--protect=flip", "--programs=4", "--threads=4", "--shapes=fp,large")



def case(name: str, label: str, definition: str) -> None:
    add(name, label, lambda bench: bench.case(definition))


# The snapshot before the sideband: what is mapped in between is known to neither.
WINDOW = (": attach --order=snapshot-first --synth=exec --freq=999"
          " : samples=300 at=before-enable:map")
case("attach-window-ours", "attach-window",
     "anon_exec --programs=2 --threads=2 --publish=map " + WINDOW)
case("attach-window-fp-ours", "attach-window",
     "anon_exec --shapes=fp --protect=flip --publish=map " + WINDOW)
case("exec-disabled-ours", "exec-while-disabled",
     "fork_exec --how=exec --tasks=3 : gated --gate=none --freq=999 : samples=200")
case("exec-disabled-fork-ours", "exec-while-disabled",
     "fork_exec --tasks=5 : gated --gate=none --freq=999 : samples=200")
case("exec-disabled-memfd-ours", "exec-while-disabled",
     "fork_exec --protect=views --how=posix_spawn --tasks=4 : gated --gate=none --freq=999"
     " : samples=200")


# bp holds what is no frame pointer: zero, a number, data.
for VERSION in ("5.10", "6.12", "7.3", "ours"):
    launched("bad-chain-" + VERSION, "jit-no-frame-pointer", VERSION, "bad_chain", "--publish=map")
attached("bad-chain-attached-7.2", "jit-no-frame-pointer", "7.2", (), "bad_chain", "--publish=map")

dumped("dump-small-6.1", "no-cfi-for-jit dump-too-small", "6.1", 2048, "deep_stacks",
       "--depth=60", "--large")
dumped("dump-small-ours", "no-cfi-for-jit dump-too-small", "ours", 1024, "anon_exec", "--depth=100",
       FP)
dumped("big-hollow-ours", "no-cfi-for-jit empty-dump", "ours", 16384, "big_frames", "--hollow")

launched("depth-5.10", "depth-limit", "5.10", "deep_stacks", "--depth=300", "--publish=map")
launched("depth-ours", "depth-limit", "ours", "deep_stacks", "--depth=200", "--publish=map")

dumped("no-cfi-6.1", "no-cfi-for-jit", "6.1", 4096, "anon_exec", "--shapes=no_fp",
       "--publish=map")
dumped("no-cfi-ours", "no-cfi-for-jit", "ours", 4096, "anon_exec", "--shapes=no_fp,fp",
       "--publish=map")
dumped("no-cfi-7.3", "no-cfi-for-jit", "7.3", 4096, "memfd_double", "--publish=map")

launched("no-names-5.10", "no-name-source", "5.10", "anon_exec", FP)
launched("no-names-7.3", "no-name-source", "7.3", "memfd_double", FP)
attached("no-names-attached-ours", "no-name-source", "ours", (), "coalesced_growth", FP)

launched("memfd-map-6.1", "map-not-read-for-memfd", "6.1", "memfd_double", FP, "--publish=map")
launched("memfd-map-7.3", "map-not-read-for-memfd", "7.3", "memfd_double", FP, "--publish=map")
launched("shm-map-6.12", "map-not-read-for-memfd", "6.12", "coalesced_growth", "--backing=shm", FP,
         "--publish=map")
launched("views-map-ours", "map-not-read-for-memfd", "ours", "coalesced_growth",
         "--backing=memfd-views", FP, "--publish=map")

launched("not-injected-6.1", "jitdump-not-injected", "6.1", "anon_exec", FP, "--publish=jitdump")
launched("not-injected-ours", "jitdump-not-injected", "ours", "coalesced_growth", FP,
         "--publish=jitdump")
launched("wrong-clock-6.1", "jitdump-wrong-clock", "6.1", "anon_exec", FP, "--publish=jitdump",
         clock=False)
launched("wrong-clock-7.3", "jitdump-wrong-clock", "7.3", "memfd_double", FP, "--publish=jitdump",
         clock=False)


def dump_gone(version: str, workload: str) -> None:
    @recipe("dump-gone-" + version, "jitdump-file-gone")
    def make(bench: Bench) -> None:
        bench.launch(version, chains(version),
                     bench.workload(workload, FP, "--publish=jitdump"))
        bench.remove_jitdumps()


dump_gone("6.12", "anon_exec")
dump_gone("ours", "memfd_double")


def hidden(version: str, *options: str, inject: tuple[str, ...] = ()) -> None:
    @recipe("hidden-" + (version if not options else options[0].rpartition("=")[2] + "-" + version),
            "jitdump-hidden")
    def make(bench: Bench) -> None:
        recorder = "7.3" if version == "ours" else version
        bench.launch(recorder, CHAINS, bench.workload(
            "coalesced_growth", FP, "--publish=jitdump", "--period=10", *options))
        bench.inject(version, *inject)


hidden("ours", inject=("--anon=keep",))
hidden("7.3", "--backing=zero", "--manner=mprotect")
hidden("6.1", "--backing=heap", "--manner=mprotect")


def map_partial(version: str, kept: slice, what: str, *options: str) -> None:
    @recipe("map-partial-" + version, "map-partial")
    def make(bench: Bench) -> None:
        bench.attach(version, chains(version), bench.workload(
            "anon_exec", FP, *options, "--publish=map"))
        path = "/tmp/perf-%d.map" % bench.pid
        lines = files.read(path).splitlines(True)
        files.write(path, "".join(lines[kept]))
        bench.steps.append("# " + what)


map_partial("6.1", slice(None, None, 2), "every other line of the perf map stays")
map_partial("ours", slice(8), "the perf map's lines of the first program stay",
            "--programs=2", "--threads=2")


@recipe("map-stale-pid-7.2", "map-stale")
def map_of_earlier_process(bench: Bench) -> None:
    """The map that an earlier process with this pid left: other addresses, an older file."""
    bench.attach("7.2", CHAINS, bench.workload("anon_exec", FP))
    path = "/tmp/perf-%d.map" % bench.pid
    files.write(path, "".join("%x %x old_function_%d\n" % (0x7e0000000000 + i * 64, 64, i)
                              for i in range(50)))
    hour_ago = time.time() - 3600
    os.utime(path, (hour_ago, hour_ago))
    bench.steps.append("# %s: 50 functions at 0x7e0000000000, an hour old" % path)


# Each address is used again and again: a map holds no times.
launched("map-stale-reuse-ours", "map-stale", "ours", "address_reuse", FP, "--publish=map",
         "--period=20")
launched("map-stale-reuse-6.1", "map-stale", "6.1", "address_reuse", "--how=unmap", FP,
         "--publish=map", "--period=20")


def fifo(version: str, workload: str) -> None:
    @recipe("map-fifo-" + version, "map-wrong-owner")
    def make(bench: Bench) -> None:
        bench.attach(version, chains(version), bench.workload(workload, FP))
        path = "/tmp/perf-%d.map" % bench.pid
        if os.path.lexists(path):
            os.unlink(path)
        bench.must(["mkfifo", path])


fifo("6.1", "anon_exec")
fifo("ours", "coalesced_growth")


def in_namespace(version: str, *spaces: str) -> None:
    @recipe("pid-namespace-" + version, "pid-namespace-map")
    def make(bench: Bench) -> None:
        record = chains(version) if version == "ours" else (*CHAINS, "--namespaces")
        started = bench.start(["unshare", "--pid", "--fork", *spaces, *bench.workload(
            "anon_exec", FP, "--publish=map", "--control-fd", "none")])
        try:
            outer = files.read("/proc/%d/task/%d/children" % (started.pid, started.pid)).split()[0]
            bench.pid = int(outer)
            inner = files.read("/proc/%s/status" % outer).split("NSpid:")[1].split("\n")[0].split()
            command = [*bench.recorder(version, record), "-p", outer]
            if version == "ours":
                bench.note(command, "timeout -s INT 1 ")
                process.run(["timeout", "-s", "INT", "1", *command])
            else:
                bench.must([*command, "--", "sleep", "1"])
        finally:
            process.run(["kill", outer])
            started.communicate(timeout=20)
        bench.extra.append("/tmp/perf-%s.map" % inner[-1])
    del make


in_namespace("6.1")
in_namespace("7.3")
in_namespace("ours")

launched("holes-ours", "library-no-frame-pointer", "ours", "native_holes", "--publish=map")
launched("holes-7.3", "library-no-frame-pointer", "7.3", "native_holes", "--publish=map")
