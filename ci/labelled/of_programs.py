# SPDX-License-Identifier: GPL-2.0-only
"""Captures of compiled programs: their frame pointers, call frame information, symbols, files."""

import glob
import os
import struct
from typing import Any

from ci.base import files
from ci.labelled import programs
from ci.labelled.bench import Bench, get_chain_options, get_dump_options
from ci.labelled.recipe import register
from harness.selftest.support import run_directory as rd

CHAINS = ("-g", "-F", "999")
WITH_FP = ("-O1", "-fno-omit-frame-pointer")


def add_program(version: str) -> None:
    register("healthy-program-" + version, "healthy")(lambda bench: bench.launch(
        version, get_chain_options(version), [bench.build_chain()]))


for VERSION in ("5.10", "6.12", "7.2", "ours"):
    add_program(VERSION)
register("healthy-static-6.1", "healthy")(lambda bench: bench.launch(
    "6.1", CHAINS, [bench.build_chain("chain", "-static", "-fno-omit-frame-pointer")]))


def build_family(bench: Bench) -> str:
    return bench.build("family", programs.FAMILY, *WITH_FP, "-pthread")


def add_family(version: str) -> None:
    @register("healthy-family-" + version, "healthy")
    def make_capture(bench: Bench) -> None:
        bench.launch(version, get_chain_options(version),
                     [build_family(bench), "800", bench.build_chain()])


add_family("6.1")
add_family("ours")


@register("healthy-shell-7.3", "healthy")
def make_shell(bench: Bench) -> None:
    """Records a shell that starts a program several times."""
    chain = bench.build_chain()
    bench.launch("7.3", CHAINS, ["sh", "-c", "for i in 1 2 3 4; do %s 250; done" % chain])


@register("healthy-short-6.1", "healthy")
def make_short(bench: Bench) -> None:
    bench.launch("6.1", ("-g", "-F", "997"), [bench.build_chain(), "60"])


@register("healthy-idle-6.12", "healthy")
def make_idle(bench: Bench) -> None:
    chain = bench.build_chain()
    bench.launch("6.12", CHAINS, ["sh", "-c", "%s 100; sleep 1; %s 100" % (chain, chain)])


def add_coroutine(name: str, label: str, version: str, record: tuple[str, ...]) -> None:
    @register(name, label)
    def make_capture(bench: Bench) -> None:
        bench.launch(version, record, [bench.build("coroutine", programs.COROUTINE, *WITH_FP)])


add_coroutine("coroutine-6.1", "library-no-frame-pointer", "6.1", CHAINS)
add_coroutine("coroutine-ours", "library-no-frame-pointer", "ours", get_chain_options("ours"))
add_coroutine("healthy-coroutine-ours", "healthy", "ours", get_dump_options("ours", 4096))


def add_cplusplus(version: str, size: int) -> None:
    @register("healthy-c++-" + version, "healthy")
    def make_capture(bench: Bench) -> None:
        sorts = bench.build("sorts", programs.SORTS, "-O2", "-g1", language="c++")
        bench.launch(version, get_dump_options(version, size), [sorts, "1500"])


add_cplusplus("6.1", 8192)
add_cplusplus("7.3", 8192)
add_cplusplus("ours", 4096)


def add_deep(name: str, label: str, version: str, *options: str) -> None:
    @register(name, label)
    def make_capture(bench: Bench) -> None:
        bench.launch(version, get_chain_options(version), [
            bench.build("deep", programs.DEEP, *WITH_FP, *options)])


# A deep stack that fits into a chain, and a stack that does not.
add_deep("healthy-deep-ours", "healthy", "ours", "-DDEPTH=90", "-DSIZE=64")
add_deep("depth-program-6.1", "depth-limit", "6.1", "-DDEPTH=300", "-DSIZE=16")


def add_library(name: str, version: str, use: str, label: str = "library-no-frame-pointer",
                *options: str) -> None:
    @register(name, label)
    def make_capture(bench: Bench) -> None:
        lib = bench.build("libwork.so", programs.LIBRARY, "-O2", "-shared", "-fPIC",
                          *(options or ("-fomit-frame-pointer",)))
        uses = bench.build("uses", programs.USES_LIBRARY, *WITH_FP, "-DUSE=" + use, lib)
        bench.launch(version, get_chain_options(version), [uses])


add_library("library-leaf-6.1", "6.1", "library_leaf(n)")
add_library("library-leaf-ours", "ours", "library_leaf(n)")
add_library("library-loop-5.10", "5.10", "library_loop(n)")
add_library("library-loop-7.3", "7.3", "library_loop(n)")
add_library("library-call-6.12", "6.12", "library_call(called_back, n)")
add_library("healthy-library-6.12", "6.12", "library_call(called_back, n)", "healthy", "-DFRAMES",
            "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer")


@register("program-no-fp-7.2", "library-no-frame-pointer")
def make_program_without(bench: Bench) -> None:
    """Records a program that is built without frame pointers and computes in %rbp."""
    text = programs.USES_LIBRARY.replace("USE", "library_loop(n)") + programs.LIBRARY
    bench.launch("7.2", CHAINS, [bench.build("program", text, "-O2", "-fomit-frame-pointer")])


def add_deep_dump(name: str, label: str, version: str, granted: int, *options: str) -> None:
    @register(name, label)
    def make_capture(bench: Bench) -> None:
        deep_ = bench.build("deep", programs.DEEP, "-O1", "-fomit-frame-pointer", *options)
        bench.launch(version, get_dump_options(version, granted), [deep_])


add_deep_dump("dump-small-program-5.10", "dump-too-small", "5.10", 1024, "-DDEPTH=40", "-DSIZE=200")
add_deep_dump("dump-small-program-7.3", "dump-too-small", "7.3", 4096, "-DDEPTH=20", "-DSIZE=1500")
add_deep_dump("dump-small-program-ours", "dump-too-small", "ours", 2048, "-DDEPTH=60", "-DSIZE=100")
add_deep_dump("dump-hollow-6.1", "empty-dump", "6.1", 16384, "-DDEPTH=2", "-DSIZE=60000",
              "-DHOLLOW=1")
add_deep_dump("dump-hollow-ours", "empty-dump", "ours", 16384, "-DDEPTH=1", "-DSIZE=40000",
              "-DHOLLOW=1")
add_deep_dump("healthy-dump-7.2", "healthy", "7.2", 8192, "-DDEPTH=10", "-DSIZE=100")


def add_missing(name: str, version: str, *options: str, dump: bool) -> None:
    """Adds a recipe whose recorded program is deleted before the capture is read."""
    @register(name, "missing-file")
    def make_capture(bench: Bench) -> None:
        if dump:
            program = bench.build("sorts", programs.SORTS, "-O2", *options, language="c++")
            record = get_dump_options(version, 4096)
        else:
            program, record = bench.build_chain("chain", *options), get_chain_options(version)
        bench.launch(version, record, [program, "1000"])
        bench.must(["rm", program])


add_missing("missing-program-6.1", "6.1", "-fno-omit-frame-pointer", dump=False)
add_missing("missing-program-7.3", "7.3", dump=True)
add_missing("missing-program-ours", "ours", dump=True)


@register("replaced-program-6.12", "missing-file")
def make_replaced(bench: Bench) -> None:
    """Records a program that is built again before the capture is read, with another build id."""
    program = bench.build_chain()
    bench.launch("6.12", CHAINS, [program])
    bench.must(["rm", program])
    bench.build_chain("chain", "-fno-omit-frame-pointer", "-g", "-O2")


def add_stripped(version: str, *options: str) -> None:
    @register("stripped-%s%s" % (version, "-static" if options else ""), "stripped-symbols")
    def make_capture(bench: Bench) -> None:
        program = bench.build_chain("chain", "-fno-omit-frame-pointer", *options)
        bench.must(["strip", "--strip-all", program])
        bench.launch(version, get_chain_options(version), [program])


add_stripped("5.10")
add_stripped("7.3", "-static")
add_stripped("ours")


@register("kernel-only-6.1", "kernel-only")
def make_kernel_only(bench: Bench) -> None:
    bench.launch("6.1", ("-e", "cpu-clock:k", *CHAINS),
                 [bench.build("calls", programs.CALLS, *WITH_FP)])


@register("kernel-only-7.3", "kernel-only")
def make_kernel_chains(bench: Bench) -> None:
    bench.launch("7.3", ("--kernel-callchains", *CHAINS), [bench.build_chain()])


def add_lost_samples(version: str, *options: str) -> None:
    """Adds a recipe whose ring has room for a few dozen samples only."""
    @register("lost-samples-" + version, "lost-samples")
    def make_capture(bench: Bench) -> None:
        bench.launch(version, options, [build_family(bench), "400"])


add_lost_samples("6.1", "-m", "1", "-F", "9999", "-g")
add_lost_samples("6.12", "-m", "2", "-F", "1999", "--call-graph", "dwarf,4096")


def add_lost_records(version: str, *options: str) -> None:
    """Adds a recipe whose ring has room for a few dozen mapping records, and whose reader has the
    lowest priority on the only CPU."""
    @register("lost-records-" + version, "lost-records")
    def make_capture(bench: Bench) -> None:
        storm = bench.build("storm", programs.STORM, *WITH_FP)
        bench.launch(version, options, ["nice", "-n", "-19", storm, "1500"],
                     before=["taskset", "-c", "0", "nice", "-n", "19"])


add_lost_records("6.1", "-m", "1", "-F", "999", "-g")
add_lost_records("7.3", "-m", "1", "-F", "1999", "-g")
add_lost_records("ours", "--sideband-ring=4096", "-F", "999")

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


@register("healthy-everything-6.1", "healthy")
def make_everything(bench: Bench) -> None:
    """Records the whole system, then removes the records of other processes."""
    bench.launch("6.1", ("-a", *CHAINS), [build_family(bench), "600"])
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


def add_delayed_attach(version: str) -> None:
    """Adds a recipe in which perf reads /proc, waits a second, and only then gets mapping
    records."""
    @register("attach-window-delay-" + version, "attach-window")
    def make_capture(bench: Bench) -> None:
        mapper = bench.build("mapper", programs.MAPPER, *WITH_FP)
        bench.attach(version, (*CHAINS, "-D", "1000"), [mapper], seconds=2)


add_delayed_attach("6.1")
add_delayed_attach("7.3")


@register("missing-cut-short-6.1", "missing-file")
def cut_short(bench: Bench) -> None:
    """Truncates the program's file: the remaining part has a build id but no symbols."""
    program = bench.build_chain()
    bench.launch("6.1", CHAINS, [program])
    bench.must(["truncate", "-s", "4096", program])


@register("missing-in-memory-6.1", "missing-file")
def make_in_memory(bench: Bench) -> None:
    """Records a program that runs from memory, without a file."""
    program = bench.build_chain("chain", "-static", "-fno-omit-frame-pointer")
    bench.launch("6.1", CHAINS, [bench.build("from_memory", programs.FROM_MEMORY, "-O1"), program])


@register("sorted-by-libc-6.1", "library-no-frame-pointer")
def make_sorted_by_libc(bench: Bench) -> None:
    """Chains begin in a function that libc called back, not where the program began."""
    bench.launch("6.1", CHAINS, [bench.build("sorted", programs.SORTED_BY_LIBC, *WITH_FP)])


@register("namespaces-6.1", "pid-namespace-map")
def make_namespaces(bench: Bench) -> None:
    """Records a JIT in a mount namespace whose /tmp hides its perf map. NAMESPACES records show the
    namespace."""
    jit = bench.workload("wx_toggle", "--publish=none", "--control-fd", "none")
    bench.launch("6.1", (*CHAINS, "--namespaces"), [
        "sh", "-c", "echo ready; timeout 2 unshare -fpm %s; true" % " ".join(jit)])


def add_without_index(name: str, label: str, version: str) -> None:
    """Adds a recipe for call frame information that perf with libunwind does not find, as in the
    programs of tcc and in static ones of C++."""
    @register(name, label)
    def make_capture(bench: Bench) -> None:
        bench.launch(version, get_dump_options(version, 4096), [bench.build_chain(
            "chain", "-fomit-frame-pointer", "-Wl,--no-eh-frame-hdr")])


add_without_index("no-index-6.12", "no-cfi-for-jit", "6.12")
add_without_index("healthy-no-index-7.2", "healthy", "7.2")


def add_assembly(name: str, label: str, version: str, record: tuple[str, ...]) -> None:
    @register(name, label)
    def make_capture(bench: Bench) -> None:
        bench.launch(version, record, [bench.build("assembly", programs.ASSEMBLY, *WITH_FP)])


add_assembly("assembly-6.1", "library-no-frame-pointer", "6.1", CHAINS)
add_assembly("assembly-dwarf-7.3", "no-cfi-for-jit", "7.3", get_dump_options("7.3", 4096))


@register("library-in-memory-7.3", "missing-file")
def make_library_in_memory(bench: Bench) -> None:
    library = bench.build("libwork.so", programs.LIBRARY, "-O2", "-shared", "-fPIC")
    bench.launch("7.3", get_dump_options("7.3", 4096), [
        bench.build("loads", programs.LIBRARY_FROM_MEMORY, "-O0"), "1200", library])


@register("healthy-signals-6.1", "healthy")
def make_signals(bench: Bench) -> None:
    bench.launch("6.1", CHAINS, [bench.build("signals", programs.SIGNALS, *WITH_FP)])


@register("switch-output-6.12", "older-code attach-window exec-while-disabled")
def switch_output(bench: Bench) -> None:
    """Keeps the second file of --switch-output: it has mappings of the started process, but not of
    its children."""
    bench.must([*bench.recorder("6.12", (*CHAINS, "--switch-output=1s")), "--",
                build_family(bench), "5000"])
    os.rename(sorted(glob.glob(bench.data + ".2*"))[1], bench.data)


@register("no-records-7.3", "older-code")
def record_nothing_older(bench: Bench) -> None:
    bench.attach("7.3", (*CHAINS, "--synth=no"), [bench.build_chain()])
