# SPDX-License-Identifier: GPL-2.0-only
"""Findings about the running kernel; see __main__.py."""

import contextlib
import os
import platform
import struct
import subprocess
import sys
from typing import Iterator

from ci.base import files, process
from ci.base.status import Missing
from ci.findings.context import Context, Shown, finding
from ci.perf.perf_tools import Perf

SAMPLE, MMAP2, MMAP_BUILD_ID = 9, 10, 1 << 14


@contextlib.contextmanager
def record_system_wide(context: Context, perf: Perf) -> Iterator[None]:
    """Lets perf record the whole system with build ids in mapping records; yields once it
    records."""
    fifos = [context.path(name) for name in ("control", "acknowledged")]
    for path in fifos:
        os.mkfifo(path)
    watcher = subprocess.Popen(
        [perf.path, "record", "-a", "-D", "-1", "-e", "cpu-clock", "--buildid-mmap", "--control",
         "fifo:" + ",".join(fifos), "-o", context.path("all.data")],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with open(fifos[0], "w", encoding="ascii") as control, \
                open(fifos[1], encoding="ascii") as acknowledged:
            control.write("enable\n")
            control.flush()
            if not acknowledged.readline():
                raise RuntimeError("perf record -a --buildid-mmap does not run")
            yield
    finally:
        watcher.terminate()
        watcher.wait()
        for path in fifos:
            os.unlink(path)


def read_records(path: str) -> Iterator[tuple[int, int, int]]:
    """Yields (type, misc, size) of each record of a file that perf record or jitproof record
    wrote."""
    data = files.read_bytes(path)
    offset, size = struct.unpack_from("<QQ", data, 40)
    end = offset + size if size else len(data)
    while offset + 8 <= end:
        kind, misc, size = struct.unpack_from("<IHH", data, offset)
        if size < 8:
            return
        yield kind, misc, size
        offset += size


@finding("kernel.build-id")
def build_id(context: Context) -> Iterator[Shown]:
    list_perfs = context.list_perfs()
    if list_perfs[-1].number < (5, 12):
        raise Missing("perf %s has no --buildid-mmap" % list_perfs[-1].version)
    path = context.path("other.data")
    with record_system_wide(context, list_perfs[-1]):
        for perf in list_perfs:
            options = ["--no-buildid-mmap"] if perf.number >= (5, 12) else []
            result = perf.run("record", *options, "-e", "cpu-clock:u", "-o", path, "--",
                              context.program, "200")
            has_build_id = [misc & MMAP_BUILD_ID != 0 for kind,
                     misc, _ in read_records(path) if kind == MMAP2]
            end = "signal %d" % -result.returncode if result.returncode < 0 else \
                "status %d" % result.returncode
            if result.returncode == 0:
                shown = perf.run("script", "-F", "ip,sym", "-i", path).stdout.splitlines()
                end += ", %d of %d samples without a name" % (
                    sum("[unknown]" in line for line in shown), len(shown))
            yield "%s/%s" % (platform.release(), perf.version), any(has_build_id), \
                "while another perf asks for build ids: %d of %d records of a perf that does not " \
                "are marked; its exit: %s" % (sum(has_build_id), len(has_build_id), end)


@finding("kernel.mlock")
def show_mlock(context: Context) -> Iterator[Shown]:
    perf = context.list_perfs()[-1]
    as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env",
               "HOME=/nonexistent"] if os.geteuid() == 0 else []
    command = [*as_user, perf.path, "record", "-e", "cpu-clock:u", "-m", "1024", "-o"]
    waits = "echo ready; read x"
    with subprocess.Popen([*command, "/dev/null", "--", "sh", "-c", waits], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as first:
        assert first.stdout and first.stderr
        if first.stdout.readline() != "ready\n":
            raise Missing("the limit is below 8 MiB for a first capture: "
                                     + first.stderr.read().strip()[:100])
        second = process.run([*command, "/dev/null", "--", "true"], timeout=60)
        first.communicate("\n", timeout=60)
    single = process.run([*command, "/dev/null", "--", "true"], timeout=60)
    message = (second.stderr.strip() or "nothing").splitlines()[0]
    yield platform.release(), second.returncode != 0 and single.returncode == 0, \
        "a user's second capture of 8 MiB of rings: status %d (%s); alone: %d" % (
            second.returncode, message, single.returncode)


SHORT = """
import os, time
for _ in range(200):
    child = os.fork()
    if not child:
        while time.thread_time() < %s:
            pass
        os._exit(0)
    os.waitpid(child, 0)
"""


@finding("kernel.short-tasks")
def show_short_tasks(context: Context) -> Iterator[Shown]:
    perf, path = context.list_perfs()[-1], context.path("short.data")
    counts = []
    for seconds in (.003, .006):
        result = perf.run("record", "-e", "cpu-clock", "-F", "199", "-o", path, "--",
                          sys.executable, "-c", SHORT % seconds)
        if result.returncode != 0:
            raise Missing(result.stderr.strip()[:100])
        pids = perf.run("script", "-F", "pid", "-i", path).stdout.split()
        counts.append(len(pids) - max(map(pids.count, set(pids))))
    yield platform.release(), counts[0] < 12 and counts[1] >= 180, \
        "199 Hz, 200 processes: %d samples if each runs 3 ms (119 expected), %d if each runs " \
        "6 ms (239)" % tuple(counts)


# Runs for a second with its stack pointer 13 bytes below the end of its address space.
HIGH_STACK = """
.globl _start
_start:	mov $0x7fffffffeff3, %rsp
	mov $3000000000, %rcx
1:	dec %rcx
	jnz 1b
	mov $60, %eax
	xor %edi, %edi
	syscall
"""


@finding("kernel.unaligned")
def show_unaligned(context: Context) -> Iterator[Shown]:
    if platform.machine() != "x86_64":
        raise Missing("x86-64")
    with open("/proc/sys/kernel/panic_on_warn", encoding="ascii") as file:
        if file.read().strip() != "0":
            raise Missing("kernel.panic_on_warn=0: the kernel would stop")
    perf, path = context.list_perfs()[-1], context.path("unaligned.data")
    process.compile_c(HIGH_STACK, context.path("high"), "-nostdlib", "-static",
                      language="assembler")
    result = perf.run("record", "-e", "cpu-clock:u", "-F", "99", "--call-graph", "dwarf",
                      "-o", path, "--", context.path("high"))
    if result.returncode != 0:
        raise Missing(result.stderr.strip()[:100])
    sizes = [size for kind, _, size in read_records(path) if kind == SAMPLE]
    nr_odd = sum(size % 8 != 0 for size in sizes)
    yield platform.release(), nr_odd > 0, \
        "stack pointer 13 bytes below the end of the address space: %d of %d samples have a size " \
        "that is no multiple of 8 bytes" % (nr_odd, len(sizes))
