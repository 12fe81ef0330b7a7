# SPDX-License-Identifier: GPL-2.0-only
"""Captures by rare options of perf, and of programs whose files change or are elsewhere."""

import os
import shutil
from typing import Sequence

from ci.labelled import programs
from ci.labelled.bench import Bench, find_program, get_chain_options, get_dump_options
from ci.labelled.of_engines import compile_chain
from ci.labelled.of_programs import CHAINS, WITH_FP, build_family
from ci.labelled.of_workloads import FP, JITDUMP, MAP, add_workload
from ci.labelled.recipe import register

LIB = "library-no-frame-pointer"
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"


def add_family(name: str, label: str, version: str, *options: str) -> None:
    """Adds a recipe for a program with frame pointers in several processes and threads."""
    @register(name, label)
    def make(bench: Bench) -> None:
        family = build_family(bench)
        bench.launch(version, options, [family, "1200"])
        bench.extra += [family, LIBC]  # our reader of captures does not decompress records


add_family("healthy-compressed-6.12", "healthy", "6.12", *CHAINS, "-z")
add_family("healthy-no-build-ids-7.3", "healthy", "7.3", *CHAINS, "-B", "-N")
add_family("healthy-user-callchains-6.1", "healthy", "6.1", *CHAINS, "--user-callchains")
add_family("healthy-no-inherit-7.3", "healthy", "7.3", *CHAINS, "--no-inherit")
add_family("healthy-two-events-6.1", "healthy", "6.1", *CHAINS, "-e",
           "{task-clock,context-switches}:S")
add_family("healthy-switches-7.3", "healthy", "7.3", "-e", "context-switches", "-c", "1", "-g")
add_family("shallow-6.12", "depth-limit", "6.12", *CHAINS, "-e", "cpu-clock/max-stack=3/")


add_workload("healthy-fields-7.3", "healthy", "7.3", (
    *CHAINS, "-d", "--phys-data", "--code-page-size", "--data-page-size", "-W", "--sample-cpu"),
    "anon_exec", FP, MAP)
add_workload("healthy-buildid-mmap-6.12", "healthy", "6.12", (*CHAINS, "--buildid-mmap"),
             "wx_toggle", FP, MAP)
add_workload("healthy-all-user-6.1", "healthy", "6.1", (*CHAINS, "--all-user"), "anon_exec", FP,
             MAP)
add_workload("healthy-overwrite-6.12", "healthy", "6.12", (*CHAINS, "--overwrite"), "anon_exec",
             FP, MAP)
add_workload("healthy-namespaces-6.12", "healthy", "6.12", (*CHAINS, "--namespaces"), "wx_toggle",
             FP, MAP)
add_workload("healthy-syscalls-ours", "healthy", "ours", get_chain_options("ours"), "syscalls",
             MAP)
add_workload("all-kernel-7.3", "kernel-only", "7.3", (*CHAINS, "--all-kernel"), "syscalls", MAP)
add_workload("all-kernel-no-stacks-6.12", "no-call-graph kernel-only", "6.12",
             ("-F", "999", "--all-kernel"), "syscalls", MAP)
add_workload("event-without-stacks-6.1", "no-call-graph", "6.1",
             ("-e", "cpu-clock/call-graph=no/", "-g", "-F", "999"), "anon_exec", FP, MAP)
add_workload("page-faults-6.12", "stacks:%s names:stripped-symbols" % LIB, "6.12",
             ("-e", "page-faults", "-c", "1", "-g"), "anon_exec", FP, MAP)
add_workload("not-injected-no-times-6.12", "stacks:- names:jitdump-not-injected", "6.12",
             (*CHAINS, "--no-timestamp"), "anon_exec", FP, JITDUMP)
add_workload("fuse-6.1", "missing-file", "6.1", CHAINS, "fuse_library", MAP)


def record_into_pipe(bench: Bench, version: str, command: Sequence[str]) -> None:
    """Records into a pipe, whose file our reader of captures does not read."""
    bench.must(["sh", "-c", "timeout 2 %s record -o - %s -k mono -e cpu-clock -- %s > %s; true" % (
        bench.perf(version), " ".join(CHAINS), " ".join(command), bench.data)])
    bench.extra += [command[0], LIBC]


@register("healthy-pipe-7.3", "healthy")
def record_pipe(bench: Bench) -> None:
    record_into_pipe(bench, "7.3", [build_family(bench), "1200"])


@register("pipe-not-injected-6.1", "stacks:- names:jitdump-not-injected")
def record_jit_pipe(bench: Bench) -> None:
    record_into_pipe(bench, "6.1", bench.workload("anon_exec", FP, JITDUMP, "--control-fd",
                                                  "none"))


@register("stat-record-6.12", "no-samples")
def record_stat(bench: Bench) -> None:
    bench.must([bench.perf("6.12"), "stat", "record", "-e", "task-clock", "-o", bench.data, "--",
                build_family(bench), "200"])


@register("sched-record-6.1", "no-call-graph")
def record_sched(bench: Bench) -> None:
    bench.must([bench.perf("6.1"), "record", "-e", "sched:sched_switch", "-c", "1", "-o",
                bench.data, "--", build_family(bench), "600"])


@register("user-nobody-6.12", "healthy")
def record_as_nobody(bench: Bench) -> None:
    """Another user records its own program, without the kernel."""
    os.chmod(bench.folder, 0o777)
    bench.launch("6.12", ("-e", "cpu-clock:u", *CHAINS), [build_family(bench), "1200"],
                 before=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])


def build_helped(bench: Bench) -> str:
    return bench.build("helped", programs.HELPED, *WITH_FP, "-pthread")


@register("thread-only-6.12", "attach-window older-code")
def record_thread(bench: Bench) -> None:
    """Records the main thread alone, so that the helper's mappings have no records."""
    started = bench.start([build_helped(bench)])
    bench.must([*bench.recorder("6.12", CHAINS), "-t", str(started.pid), "--", "sleep", "1"])
    bench.stop(started, 2)


@register("no-inherit-helper-7.3", "attach-window older-code")
def record_no_inherit(bench: Bench) -> None:
    bench.launch("7.3", (*CHAINS, "--no-inherit"), [build_helped(bench), "1500"])


def add_ucontext(name: str, version: str, record: Sequence[str], *options: str) -> None:
    """Adds a recipe for a context of the C library, whose stack begins in libc."""
    @register(name, "healthy")
    def make(bench: Bench) -> None:
        bench.launch(version, record, [bench.build("ucontext", programs.UCONTEXT, "-O1",
                                                   *options)])


add_ucontext("ucontext-6.1", "6.1", CHAINS, "-fno-omit-frame-pointer")
add_ucontext("ucontext-dwarf-7.3", "7.3", get_dump_options("7.3", 8192))


@register("healthy-musl-static-6.1", "healthy")
def record_musl(bench: Bench) -> None:
    bench.launch("6.1", CHAINS, [compile_chain(bench, "musl-gcc", "musl-tools", "-static",
                                               "-fno-omit-frame-pointer")])


@register("musl-dwarf-7.3", "healthy")
def record_musl_dumps(bench: Bench) -> None:
    """musl's functions have no call frame information: only the frame below main is lost."""
    bench.launch("7.3", get_dump_options("7.3", 8192), [
        compile_chain(bench, "musl-gcc", "musl-tools", "-static")])


@register("healthy-i386-6.1", "healthy")
def record_i386(bench: Bench) -> None:
    bench.launch("6.1", CHAINS, [bench.build_chain("chain", "-m32", "-static",
                                                   "-fno-omit-frame-pointer")])


@register("no-unwind-tables-6.12", "stacks:no-cfi-for-jit names:-")
def record_without_tables(bench: Bench) -> None:
    bench.launch("6.12", get_dump_options("6.12", 8192), [bench.build_chain(
        "chain", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")])


@register("stripped-no-fp-6.1", "stacks:%s names:stripped-symbols" % LIB)
def record_stripped_library(bench: Bench) -> None:
    library = bench.build("libwork.so", programs.LIBRARY, "-O2", "-shared", "-fPIC",
                          "-fomit-frame-pointer", "-s")
    bench.launch("6.1", CHAINS, [bench.build("uses", programs.USES_LIBRARY, *WITH_FP,
                                             "-DUSE=library_loop(n)", library)])


@register("busybox-6.1", "stacks:-|%s names:stripped-symbols" % LIB)
def record_busybox(bench: Bench) -> None:
    bench.launch("6.1", CHAINS, [find_program("busybox", "apt-get install busybox-static"), "sh",
                                 "-c", "echo ready; i=0; while [ $i -lt 400000 ]; do "
                                 "i=$((i + 1)); done"])


@register("healthy-debug-link-7.2", "healthy")
def record_debug_link(bench: Bench) -> None:
    """Records a stripped program, whose symbols are beside it."""
    program, debug = bench.build_chain(), bench.place(".debug/chain.debug")
    os.makedirs(os.path.dirname(debug))
    bench.must(["objcopy", "--only-keep-debug", program, debug])
    bench.must(["strip", "--strip-all", program])
    bench.must(["objcopy", "--add-gnu-debuglink=" + debug, program])
    bench.launch("7.2", CHAINS, [program])
    bench.extra.append(debug)


@register("upgraded-library-6.1", "stacks:- names:missing-file")
def upgrade_library(bench: Bench) -> None:
    """Replaces a library while a program runs with the old one, as an upgrade does."""
    options = ("-O2", "-shared", "-fPIC", "-DFRAMES", "-fno-omit-frame-pointer",
               "-mno-omit-leaf-frame-pointer")
    library = bench.build("libwork.so", programs.LIBRARY, *options)
    started = bench.start([bench.build("uses", programs.USES_LIBRARY, *WITH_FP,
                                       "-DUSE=library_leaf(n)", library)])
    bench.must(["rm", library])
    bench.build("libwork.so", programs.LIBRARY, *options, "-g")
    bench.must([*bench.recorder("6.1", CHAINS), "-p", str(started.pid), "--", "sleep", "1"])
    bench.stop(started, 2)


@register("chroot-6.12", "stacks:- names:missing-file")
def record_chroot(bench: Bench) -> None:
    """Records a program in a root of its own: perf looks for its file in another one."""
    own = bench.place("own")
    os.makedirs(own)
    shutil.move(bench.build_chain("chain", "-static", "-fno-omit-frame-pointer"), own)
    bench.launch("6.12", CHAINS, ["/usr/sbin/chroot", own, "/chain", "1500"])


@register("mount-gone-7.3", "stacks:- names:missing-file")
def record_mount(bench: Bench) -> None:
    """Records a program in a file system that only its mount namespace had."""
    program, disk = bench.build_chain(), bench.place("disk")
    os.makedirs(disk)
    bench.launch("7.3", CHAINS, ["unshare", "-m", "sh", "-c",
                                 "mount -t tmpfs none {0} && cp {1} {0} && exec {0}/chain 1500"
                                 .format(disk, program)])


@register("two-processes-6.1", "stacks:- names:missing-file")
def record_two(bench: Bench) -> None:
    """Records a deleted program, and for a shorter time a stripped one."""
    stripped = bench.build_chain("stripped", "-fno-omit-frame-pointer", "-s")
    gone = bench.build_chain("gone")
    bench.launch("6.1", CHAINS, ["sh", "-c", "echo ready; %s 400 & exec %s 1300" % (stripped,
                                                                                  gone)])
    bench.must(["rm", gone])
