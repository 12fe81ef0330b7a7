# SPDX-License-Identifier: GPL-2.0-only
"""Captures by rare options of perf, and of programs whose files change or are elsewhere."""

import os
import shutil
from typing import Sequence

from ci.labelled import programs
from ci.labelled.bench import Bench, CHAINS, find_program, make_dump_options, WITH_FP
from ci.labelled.of_engines import compile_chain
from ci.labelled.of_programs import build_family
from ci.labelled.of_workloads import FP, JITDUMP, MAP
from ci.labelled.recipe import add, add_workload, LIB, LIBC, register

DUMPS = make_dump_options(8192)


def add_family(name: str, label: str, *options: str) -> None:
    """Adds a recipe for a program with frame pointers in several processes and threads. @options:
    those of the recorder."""
    def prepare(bench: Bench) -> list[str]:
        family = build_family(bench)
        bench.extra += [family, LIBC]  # our reader of captures does not decompress records
        return [family, "1200"]
    add(name, label, prepare, record=options)


add_family("healthy-compressed-6.12", "healthy", *CHAINS, "-z")
add_family("healthy-no-build-ids-7.3", "healthy", *CHAINS, "-B", "-N")
add_family("healthy-user-callchains-6.1", "healthy", *CHAINS, "--user-callchains")
add_family("healthy-no-inherit-7.3", "healthy", *CHAINS, "--no-inherit")
add_family("healthy-two-events-6.1", "healthy", *CHAINS, "-e", "{task-clock,context-switches}:S")
add_family("healthy-switches-7.3", "healthy", "-e", "context-switches", "-c", "1", "-g")
add_family("shallow-6.12", "depth-limit", *CHAINS, "-e", "cpu-clock/max-stack=3/")

add_workload("healthy-fields-7.3", "healthy", "anon_exec", FP, MAP, record=(
    *CHAINS, "-d", "--phys-data", "--code-page-size", "--data-page-size", "-W", "--sample-cpu"))
add_workload("healthy-buildid-mmap-6.12", "healthy", "wx_toggle", FP, MAP,
             record=(*CHAINS, "--buildid-mmap"))
add_workload("healthy-all-user-6.1", "healthy", "anon_exec", FP, MAP,
             record=(*CHAINS, "--all-user"))
add_workload("healthy-overwrite-6.12", "healthy", "anon_exec", FP, MAP,
             record=(*CHAINS, "--overwrite"))
add_workload("healthy-namespaces-6.12", "healthy", "wx_toggle", FP, MAP,
             record=(*CHAINS, "--namespaces"))
add_workload("healthy-syscalls-ours", "healthy", "syscalls", MAP)
add_workload("all-kernel-7.3", "kernel-only", "syscalls", MAP, record=(*CHAINS, "--all-kernel"))
add_workload("all-kernel-no-stacks-6.12", "no-call-graph kernel-only", "syscalls", MAP,
             record=("-F", "999", "--all-kernel"))
add_workload("event-without-stacks-6.1", "no-call-graph", "anon_exec", FP, MAP,
             record=("-e", "cpu-clock/call-graph=no/", "-g", "-F", "999"))
add_workload("page-faults-6.12", "stacks:%s names:stripped-symbols" % LIB, "anon_exec", FP, MAP,
             record=("-e", "page-faults", "-c", "1", "-g"))
add_workload("not-injected-no-times-6.12", "stacks:- names:jitdump-not-injected", "anon_exec", FP,
             JITDUMP, record=(*CHAINS, "--no-timestamp"))
add_workload("fuse-6.1", "missing-file", "fuse_library", MAP)


def record_into_pipe(bench: Bench, version: str, command: Sequence[str]) -> None:
    """Records into a pipe, whose file our reader of captures does not read."""
    bench.must(["sh", "-c", "timeout 2 %s record -o - %s -k mono -e cpu-clock -- %s > %s; true" % (
        bench.perf(version), " ".join(CHAINS), " ".join(command), bench.data)])
    bench.extra += [command[0], LIBC]


register("healthy-pipe-7.3", "healthy")(lambda bench: record_into_pipe(
    bench, "7.3", [build_family(bench), "1200"]))
register("pipe-not-injected-6.1", "stacks:- names:jitdump-not-injected")(
    lambda bench: record_into_pipe(bench, "6.1", bench.workload(
        "anon_exec", FP, JITDUMP, "--control-fd", "none")))


@register("stat-record-6.12", "no-samples")
def record_stat(bench: Bench) -> None:
    bench.must([bench.perf("6.12"), "stat", "record", "-e", "task-clock", "-o", bench.data, "--",
                build_family(bench), "200"])


@register("sched-record-6.1", "no-call-graph")
def record_sched(bench: Bench) -> None:
    bench.must([bench.perf("6.1"), "record", "-e", "sched:sched_switch", "-c", "1", "-o",
                bench.data, "--", build_family(bench), "600"])


def open_to_all(bench: Bench) -> list[str]:
    os.chmod(bench.folder, 0o777)
    return [build_family(bench), "1200"]


# Another user records its own program, without the kernel.
add("user-nobody-6.12", "healthy", open_to_all, record=("-e", "cpu-clock:u", *CHAINS),
    before=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])


def build_helped(bench: Bench) -> str:
    return bench.build("helped", programs.HELPED, *WITH_FP, "-pthread")


@register("thread-only-6.12", "attach-window older-code")
def record_thread(bench: Bench) -> None:
    """Records the main thread alone, so that the helper's mappings have no records."""
    started = bench.start([build_helped(bench)])
    bench.must([*bench.recorder("6.12", CHAINS), "-t", str(started.pid), "--", "sleep", "1"])
    bench.stop(started, 2)


add("no-inherit-helper-7.3", "attach-window older-code",
    lambda bench: [build_helped(bench), "1500"], record=(*CHAINS, "--no-inherit"))
# A context of the C library, whose stack begins in libc.
add("ucontext-6.1", "healthy", lambda bench: [bench.build("ucontext", programs.UCONTEXT, *WITH_FP)])
add("ucontext-dwarf-7.3", "healthy",
    lambda bench: [bench.build("ucontext", programs.UCONTEXT, "-O1")], record=DUMPS)
add("healthy-musl-static-6.1", "healthy", lambda bench: [compile_chain(
    bench, "musl-gcc", "musl-tools", "-static", "-fno-omit-frame-pointer")])
# musl's functions have no call frame information: only the frame below main is lost.
add("musl-dwarf-7.3", "healthy",
    lambda bench: [compile_chain(bench, "musl-gcc", "musl-tools", "-static")], record=DUMPS)
add("busybox-6.1", "stacks:-|%s names:stripped-symbols" % LIB, lambda bench: [
    find_program("busybox", "busybox-static"), "sh", "-c",
    "echo ready; i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done"])


def build_with_debug_link(bench: Bench) -> list[str]:
    """Builds a stripped program, whose symbols are beside it."""
    program, debug = bench.build_chain(), bench.place(".debug/chain.debug")
    os.makedirs(os.path.dirname(debug))
    bench.must(["objcopy", "--only-keep-debug", program, debug])
    bench.must(["strip", "--strip-all", program])
    bench.must(["objcopy", "--add-gnu-debuglink=" + debug, program])
    bench.extra.append(debug)
    return [program]


add("healthy-debug-link-7.2", "healthy", build_with_debug_link)


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


def move_into_root(bench: Bench) -> list[str]:
    """Prepares a program in a root of its own: perf looks for its file in another one."""
    own = bench.place("own")
    os.makedirs(own)
    shutil.move(bench.build_chain("chain", "-static", "-fno-omit-frame-pointer"), own)
    return ["/usr/sbin/chroot", own, "/chain", "1500"]


def mount_own_disk(bench: Bench) -> list[str]:
    """Prepares a program in a file system that only its mount namespace has."""
    program, disk = bench.build_chain(), bench.place("disk")
    os.makedirs(disk)
    return ["unshare", "-m", "sh", "-c", "mount -t tmpfs none {0} && cp {1} {0} && "
            "exec {0}/chain 1500".format(disk, program)]


def build_two(bench: Bench) -> list[str]:
    """Builds a program that will be deleted, and a stripped one that runs for a shorter time."""
    return ["sh", "-c", "echo ready; %s 400 & exec %s 1300" % (
        bench.build_chain("stripped", "-fno-omit-frame-pointer", "-s"), bench.build_chain("gone"))]


add("chroot-6.12", "stacks:- names:missing-file", move_into_root)
add("mount-gone-7.3", "stacks:- names:missing-file", mount_own_disk)
add("two-processes-6.1", "stacks:- names:missing-file", build_two,
    after=lambda bench: bench.must(["rm", bench.place("gone")]))
