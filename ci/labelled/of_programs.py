# SPDX-License-Identifier: GPL-2.0-only
"""Captures of compiled programs: their frame pointers, call frame information, symbols, files."""

import glob
import os
import struct
from typing import Any

from ci.base import files
from ci.labelled import programs
from ci.labelled.bench import Bench, CHAINS, make_dump_options, WITH_FP
from ci.labelled.recipe import add, LIB, Prepare, register
from harness.selftest.support import run_directory as rd

DUMPS = make_dump_options(4096)


def build(name: str, source: str, *options: str) -> Prepare:
    """Prepares a program of @source with frame pointers."""
    return lambda bench: [bench.build(name, source, *WITH_FP, *options)]


def build_chain(*options: str) -> Prepare:
    return lambda bench: [bench.build_chain("chain", *options)]


for VERSION in ("5.10", "6.12", "7.2", "ours"):
    add("healthy-program-" + VERSION, "healthy", build_chain())
add("healthy-static-6.1", "healthy", build_chain("-static", "-fno-omit-frame-pointer"))
add("healthy-short-6.1", "healthy", lambda bench: [bench.build_chain(), "60"],
    record=("-g", "-F", "997"))


def build_family(bench: Bench) -> str:
    return bench.build("family", programs.FAMILY, *WITH_FP, "-pthread")


for VERSION in ("6.1", "ours"):
    add("healthy-family-" + VERSION, "healthy",
        lambda bench: [build_family(bench), "800", bench.build_chain()])
# A shell that starts a program several times.
add("healthy-shell-7.3", "healthy", lambda bench: [
    "sh", "-c", "for i in 1 2 3 4; do %s 250; done" % bench.build_chain()])
add("healthy-idle-6.12", "healthy", lambda bench: [
    "sh", "-c", "{0} 100; sleep 1; {0} 100".format(bench.build_chain())])

# The text is at another distance from its file offset than the first segment, as lld links it.
MOVED = build_chain("-fomit-frame-pointer", "-Wl,--section-start=.text=0x21000")
add("moved-text-7.3", "stacks:no-cfi-for-jit names:-", MOVED, record=DUMPS)
add("healthy-moved-text-6.12", "healthy", MOVED, record=DUMPS)
# gold lets functions that call code without split stacks ask for a new stack: main() does.
SPLIT = build_chain("-fno-omit-frame-pointer", "-fsplit-stack", "-fuse-ld=gold")
add("healthy-split-stack-6.1", "healthy", SPLIT)

COROUTINE = build("coroutine", programs.COROUTINE)
add("coroutine-6.1", LIB, COROUTINE)
add("coroutine-ours", LIB, COROUTINE)
add("healthy-coroutine-ours", "healthy", COROUTINE, record=DUMPS)

for VERSION, SIZE in (("6.1", 8192), ("7.3", 8192), ("ours", 4096)):
    add("healthy-c++-" + VERSION, "healthy", lambda bench: [bench.build(
        "sorts", programs.SORTS, "-O2", "-g1", language="c++"), "1500"],
        record=make_dump_options(SIZE))

# A deep stack that fits into a chain, and a stack that does not.
add("healthy-deep-ours", "healthy", build("deep", programs.DEEP, "-DDEPTH=90", "-DSIZE=64"))
add("depth-program-6.1", "depth-limit", build("deep", programs.DEEP, "-DDEPTH=300", "-DSIZE=16"))


def add_library(name: str, use: str, label: str = LIB, *options: str) -> None:
    def build_user(bench: Bench) -> list[str]:
        lib = bench.build("libwork.so", programs.LIBRARY, "-O2", "-shared", "-fPIC",
                          *(options or ("-fomit-frame-pointer",)))
        return [bench.build("uses", programs.USES_LIBRARY, *WITH_FP, "-DUSE=" + use, lib)]
    add(name, label, build_user)


add_library("library-leaf-6.1", "library_leaf(n)")
add_library("library-leaf-ours", "library_leaf(n)")
add_library("library-loop-5.10", "library_loop(n)")
add_library("library-loop-7.3", "library_loop(n)")
add_library("library-call-6.12", "library_call(called_back, n)")
add_library("healthy-library-6.12", "library_call(called_back, n)", "healthy", "-DFRAMES",
            "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer")
add_library("stripped-no-fp-6.1", "library_loop(n)", "stacks:%s names:stripped-symbols" % LIB,
            "-fomit-frame-pointer", "-s")
# libc's memset() has no frame, so that chains skip its caller.
add("libc-leaf-6.1", LIB, build("fills", programs.FILLS))
add("healthy-calls-7.3", "healthy", build("calls", programs.CALLS))
# A program that is built without frame pointers and computes in %rbp.
add("program-no-fp-7.2", LIB, lambda bench: [bench.build(
    "program", programs.USES_LIBRARY.replace("USE", "library_loop(n)") + programs.LIBRARY, "-O2",
    "-fomit-frame-pointer")])


def add_deep_dump(name: str, label: str, granted: int, *options: str) -> None:
    add(name, label, lambda bench: [bench.build(
        "deep", programs.DEEP, "-O1", "-fomit-frame-pointer", *options)],
        record=make_dump_options(granted))


add_deep_dump("dump-small-program-5.10", "dump-too-small", 1024, "-DDEPTH=40", "-DSIZE=200")
add_deep_dump("dump-small-program-7.3", "dump-too-small", 4096, "-DDEPTH=20", "-DSIZE=1500")
add_deep_dump("dump-small-program-ours", "dump-too-small", 2048, "-DDEPTH=60", "-DSIZE=100")
add_deep_dump("dump-hollow-6.1", "empty-dump", 16384, "-DDEPTH=2", "-DSIZE=60000", "-DHOLLOW=1")
add_deep_dump("dump-hollow-ours", "empty-dump", 16384, "-DDEPTH=1", "-DSIZE=40000", "-DHOLLOW=1")
add_deep_dump("healthy-dump-7.2", "healthy", 8192, "-DDEPTH=10", "-DSIZE=100")

# Recorded programs that are deleted, built again with another build id, or cut, before the capture
# is read. The remaining part of the last one has a build id but no symbols.
add("missing-program-6.1", "missing-file", lambda bench: [bench.build_chain(), "1000"],
    after=lambda bench: bench.must(["rm", bench.place("chain")]))
for VERSION in ("7.3", "ours"):
    add("missing-program-" + VERSION, "missing-file", lambda bench: [bench.build(
        "sorts", programs.SORTS, "-O2", language="c++"), "1000"], record=DUMPS,
        after=lambda bench: bench.must(["rm", bench.place("sorts")]))
add("missing-cut-short-6.1", "missing-file", build_chain(),
    after=lambda bench: bench.must(["truncate", "-s", "4096", bench.place("chain")]))


def build_again(bench: Bench) -> None:
    bench.must(["rm", bench.place("chain")])
    bench.build_chain("chain", "-fno-omit-frame-pointer", "-g", "-O2")


add("replaced-program-6.12", "missing-file", build_chain(), after=build_again)


def build_stripped(*options: str) -> Prepare:
    def prepare(bench: Bench) -> list[str]:
        program = bench.build_chain("chain", "-fno-omit-frame-pointer", *options)
        bench.must(["strip", "--strip-all", program])
        return [program]
    return prepare


add("stripped-5.10", "stripped-symbols", build_stripped())
add("stripped-7.3-static", "stripped-symbols", build_stripped("-static"), version="7.3")
add("stripped-ours", "stripped-symbols", build_stripped())

add("kernel-only-6.1", "kernel-only", build("calls", programs.CALLS),
    record=("-e", "cpu-clock:k", *CHAINS))
add("kernel-only-7.3", "kernel-only", build_chain(), record=("--kernel-callchains", *CHAINS))

# The ring has room for a few dozen samples only.
for VERSION, RECORD in (("6.1", ("-m", "1", "-F", "9999", "-g")),
                        ("6.12", ("-m", "2", "-F", "1999", "--call-graph", "dwarf,4096"))):
    add("lost-samples-" + VERSION, "lost-samples", lambda bench: [build_family(bench), "400"],
        record=RECORD)
# The ring has room for a few dozen mapping records, and its reader has the lowest priority on the
# only CPU.
for VERSION, RECORD in (("6.1", ("-m", "1", "-F", "999", "-g")),
                        ("7.3", ("-m", "1", "-F", "1999", "-g")),
                        ("ours", ("--sideband-ring=4096", "-F", "999"))):
    add("lost-records-" + VERSION, "lost-records", lambda bench: [
        "nice", "-n", "-19", bench.build("storm", programs.STORM, *WITH_FP), "1500"],
        record=RECORD, before=["taskset", "-c", "0", "nice", "-n", "19"])

SAMPLE_RATE = "/proc/sys/kernel/perf_event_max_sample_rate"


def add_throttled(version: str) -> None:
    """Adds a recipe that requests three times as many samples as the kernel allows, which is set to
    30,000 a second for the recording."""
    @register("throttled-" + version, "throttled")
    def make_capture(bench: Bench) -> None:
        program, before = bench.build_chain(), files.read(SAMPLE_RATE)
        bench.steps.append("# sysctl kernel.perf_event_max_sample_rate=30000")
        files.write(SAMPLE_RATE, "30000")
        try:
            bench.attach(version, ("-c", "10000", "-g"), [program], seconds=0.03)
        finally:
            files.write(SAMPLE_RATE, before)


add_throttled("6.1")
add_throttled("5.10")


def remove_other_processes(bench: Bench) -> None:
    perf = rd.PerfData.load(bench.data)
    ours = {0, 2**32 - 1} | {one.pid for one in perf.maps() if one.name.startswith(bench.folder)}
    perf.records = [one for one in perf.records if get_pid(one) in ours]
    perf.features = {bit: raw for bit, raw in perf.features.items() if bit != BUILD_IDS}
    perf.save(bench.data)
    bench.steps.append("# without the records of other processes")


BUILD_IDS = 2  # number of the feature in perf.data


def get_pid(record: Any) -> int:
    """Returns the pid of a record; 0 if it belongs to no process."""
    if isinstance(record, rd.Sample):
        return record.pid
    return struct.unpack_from("<I", record.body)[0] if isinstance(record, rd.Side) else 0


add("healthy-everything-6.1", "healthy", lambda bench: [build_family(bench), "600"],
    record=("-a", *CHAINS), after=remove_other_processes)

# perf reads /proc, waits a second, and only then gets mapping records.
for VERSION in ("6.1", "7.3"):
    add("attach-window-delay-" + VERSION, "attach-window", build("mapper", programs.MAPPER),
        record=(*CHAINS, "-D", "1000"), attach=True, seconds=2)


def run_from_memory(bench: Bench) -> list[str]:
    """Prepares a program that runs from memory, without a file."""
    program = bench.build_chain("chain", "-static", "-fno-omit-frame-pointer")
    return [bench.build("from_memory", programs.FROM_MEMORY, "-O1"), program]


add("missing-in-memory-6.1", "missing-file", run_from_memory)
# Chains begin in a function that libc called back, not where the program began.
add("sorted-by-libc-6.1", LIB, build("sorted", programs.SORTED_BY_LIBC))
# A JIT in a mount namespace whose /tmp hides its perf map. NAMESPACES records show the namespace.
add("namespaces-6.1", "pid-namespace-map", lambda bench: [
    "sh", "-c", "echo ready; timeout 2 unshare -fpm %s; true" % " ".join(
        bench.workload("wx_toggle", "--publish=none", "--control-fd", "none"))],
    record=(*CHAINS, "--namespaces"))

# perf with libunwind does not find this call frame information, as in the programs of tcc and in
# static ones of C++.
NO_INDEX = build_chain("-fomit-frame-pointer", "-Wl,--no-eh-frame-hdr")
add("no-index-6.12", "no-cfi-for-jit", NO_INDEX, record=DUMPS)
add("healthy-no-index-7.2", "healthy", NO_INDEX, record=DUMPS)
add("no-unwind-tables-6.12", "stacks:no-cfi-for-jit names:-", build_chain(
    "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"),
    record=make_dump_options(8192))

add("assembly-6.1", LIB, build("assembly", programs.ASSEMBLY))
# A JVM's garbage collector waits in such a function for a part of the time.
add("healthy-assembly-6.1", "healthy", build("assembly", programs.ASSEMBLY.replace(
    "volatile long sum;", programs.INNER).replace("calls(400000)", "calls(25000) + inner(100000)")))
add("assembly-dwarf-7.3", "no-cfi-for-jit", build("assembly", programs.ASSEMBLY), record=DUMPS)


def load_from_memory(bench: Bench) -> list[str]:
    library = bench.build("libwork.so", programs.LIBRARY, "-O2", "-shared", "-fPIC")
    return [bench.build("loads", programs.LIBRARY_FROM_MEMORY, "-O0"), "1200", library]


add("library-in-memory-7.3", "missing-file", load_from_memory, record=DUMPS)
add("healthy-signals-6.1", "healthy", build("signals", programs.SIGNALS))


@register("switch-output-6.12", "older-code attach-window exec-while-disabled")
def switch_output(bench: Bench) -> None:
    """Keeps the second file of --switch-output: it has mappings of the started process, but not of
    its children."""
    bench.must([*bench.recorder("6.12", (*CHAINS, "--switch-output=1s")), "--",
                build_family(bench), "5000"])
    os.rename(sorted(glob.glob(bench.data + ".2*"))[1], bench.data)


add("no-records-7.3", "older-code", build_chain(), record=(*CHAINS, "--synth=no"), attach=True)
add("healthy-i386-6.1", "healthy", build_chain("-m32", "-static", "-fno-omit-frame-pointer"))
