# SPDX-License-Identifier: GPL-2.0-only
"""Findings about perf inject --jit and recording with a delay; see __main__.py."""

import glob
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
from typing import Iterator

from ci.base import files
from ci.findings import perf as recording
from ci.findings.context import Context, Shown, finding, perf_finding
from ci.perf.perf_tools import Perf


HEADER, BUILD_ID = 104, 2  # size of the header of a perf.data; number of a feature


def make_folder(context: Context, name: str) -> str:
    folder = context.path(name)
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    return folder


def run_inject(perf: Perf, folder: str, *options: str
               ) -> tuple[int, subprocess.CompletedProcess[str]]:
    """Returns (number of injected functions, finished process)."""
    for path in glob.glob(os.path.join(folder, "jitted-*")):
        os.unlink(path)
    home = os.path.join(folder, "home")
    result = perf.run("--buildid-dir", home, "inject", "--jit", *options,
                      "-i", os.path.join(folder, "perf.data"),
                      "-o", os.path.join(folder, "injected"))
    shutil.rmtree(home, ignore_errors=True)
    return len(glob.glob(os.path.join(folder, "jitted-*"))), result


@finding("perf.attach-delay")
def attach_delay(context: Context) -> Iterator[Shown]:
    path = context.path("delay.data")
    for perf in context.list_perfs():
        yield recording.record_three_times(
            "%s -D 100" % perf.version, lambda pid: recording.run_record(
                perf, "-m", "2048", "-e", "cpu-clock:u", "-D", "100", "-o", path, "-p", pid), path)


@perf_finding("perf.inject-namespace")
def show_namespaces(context: Context, perf: Perf) -> tuple[bool, str]:
    """Runs a workload as pid 1 of a pid namespace that outlives the recording; injects while it
    runs and after its end."""
    folder = make_folder(context, "namespace")
    # The workload prints its inner pid; then the shell ends, and perf with it.
    start = ("mkfifo ready; unshare --pid --fork sh -c 'exec \"$0\" workload anon_exec --truth "
             "truth --publish=jitdump --publish-dir=\"$1\" --control-fd=none' \"$0\" \"$1\" "
             ">ready 2>ready.err & echo $! >pid; read line <ready")
    result = perf.run("record", "-N", "-q", "-k", "mono", "-e", "cpu-clock", "-o", "perf.data",
                      "--", "sh", "-c", start, context.jitproof, folder, cwd=folder)
    try:
        if result.returncode:
            raise RuntimeError("perf %s record: %s" % (perf.version, result.stderr[-200:]))
        alive = run_inject(perf, folder)[0]
    finally:
        end_namespace(folder)
    nr_injected = run_inject(perf, folder)[0]
    return not alive or not nr_injected, \
        "%d functions injected while the process lives, %d after its end" % (alive, nr_injected)


# Maps the file named by its pid, which has the header of a jitdump.
OUTSIDER = """
import mmap, os, struct
with open("jit-%d.dump" % os.getpid(), "wb+") as file:
    file.write(struct.pack("=6I2Q", 0x4a695444, 1, 40, 62, 0, os.getpid(), 0, 0))
    file.flush()
    mmap.mmap(file.fileno(), 40, prot=mmap.PROT_READ | mmap.PROT_EXEC)
"""


@perf_finding("perf.inject-outsider")
def show_outsider(context: Context, perf: Perf) -> tuple[bool, str]:
    """Records all CPUs in a pid namespace, while a process outside of it maps a jitdump."""
    folder = make_folder(context, "outsider")
    for name in ("ready", "done"):
        os.mkfifo(os.path.join(folder, name))
    with subprocess.Popen(
            ["unshare", "--pid", "--fork", "--mount-proc", perf.path, "record", "-q", "-a",
             "-k", "mono", "-e", "cpu-clock", "-o", "perf.data", "--", "sh", "-c",
             "echo >ready; read line <done"],
            cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as record:
        files.read(os.path.join(folder, "ready"))
        subprocess.run([sys.executable, "-c", OUTSIDER], cwd=folder, check=True)
        files.write(os.path.join(folder, "done"), "\n")
    if record.returncode:
        raise RuntimeError("perf %s record: exit %d" % (perf.version, record.returncode))
    result = run_inject(perf, folder)[1]
    return result.returncode < 0 or result.returncode == 128 + signal.SIGSEGV, \
        "perf inject --jit ended with %d" % result.returncode


# Asks the vDSO for the time again and again.
CLOCK = """
#include <time.h>
int main(void)
{
	struct timespec now;

	for (int i = 0; i < 20000000; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	return 0;
}
"""


def count_vdso_names(perf: Perf, path: str) -> int:
    """Returns the number of samples that perf shows with a function of the vDSO."""
    result = perf.run("script", "-F", "ip,sym", "-i", path)
    return result.stdout.count("__vdso_")


@perf_finding("perf.inject-vdso")
def show_vdso(context: Context, perf: Perf) -> tuple[bool, str]:
    program, path = context.path("clock"), context.path("vdso.data")
    injected = context.path("vdso.injected")
    recording.build_program(program, CLOCK)
    recording.run_record(perf, "-e", "cpu-clock:u", "-o", path, "--", program)
    counts, is_lost = ["%d samples named in the vDSO" % count_vdso_names(perf, path)], False
    for option in ("-b", "-B"):
        result = perf.run("inject", option, "-i", path, "-o", injected)
        if result.returncode:
            counts.append("no %s" % option)
            continue
        named = count_vdso_names(perf, injected)
        is_lost |= not named
        counts.append("%d after %s" % (named, option))
    return is_lost, ", ".join(counts)


@perf_finding("perf.inject-map")
def show_map(context: Context, perf: Perf) -> tuple[bool, str]:
    path, injected = context.path("map.data"), context.path("map.injected")
    with recording.run_workload(context, "anon_exec", "--publish=map") as child:
        recording.run_record(perf, "-q", "-e", "cpu-clock:u", "-o", path, "-p", str(child.pid),
                             "--", "sleep", "0.3")
    result = perf.run("inject", "-B", "-i", path, "-o", injected)
    before, after = (perf.run("script", "-F", "ip,sym", "-i", file).stdout.count(" program")
                     for file in (path, injected))
    os.unlink("/tmp/perf-%d.map" % child.pid)
    if result.returncode:
        return False, "no -B"
    return before > 0 and not after, "%d samples named by the map, %d after -B" % (before, after)


def end_namespace(folder: str) -> None:
    """Kills the first process of the namespace, the child of unshare."""
    outer = int(files.read(os.path.join(folder, "pid")))
    inner = [int(pid) for pid in files.read("/proc/%d/task/%d/children" % (outer, outer)).split()]
    for pid in inner:
        watch = os.pidfd_open(pid)
        os.kill(pid, signal.SIGKILL)
        select.select([watch], [], [], 20)
        os.close(watch)


def count_hidden_bytes(raw: bytes) -> int:
    """Returns how many bytes of the build ids the file's attrs and their ids overlap."""
    size, attr_size, attrs, attrs_size, data, data_size = struct.unpack_from("<6Q", raw, 8)
    features = int.from_bytes(raw[72:80], "little")
    if size != HEADER or not features & 1 << BUILD_ID:
        return 0
    entry = data + data_size + 16 * bin(features & (1 << BUILD_ID) - 1).count("1")
    start, length = struct.unpack_from("<QQ", raw, entry)
    ids, _ = struct.unpack_from("<QQ", raw, attrs + attr_size - 16)
    return max(0, min(start + length, attrs + attrs_size) - max(start, min(ids, attrs)))


@perf_finding("perf.build-id-size")
def show_build_id_size(context: Context, perf: Perf) -> tuple[bool, str]:
    """Reads what the inject of the oldest perf wrote."""
    oldest = context.list_perfs()[0]
    path, injected = context.path("ids.data"), context.path("ids.injected")
    recording.run_record(oldest, "-e", "cpu-clock:u", "-o", path, "--", context.program, "100")
    oldest.run("inject", "-b", "-i", path, "-o", injected)
    result = perf.run("script", "-F", "time", "-i", injected)
    return result.returncode != 0, "script of %s's inject -b: %d samples, message: %s" % (
        oldest.version, result.stdout.count("\n"), (result.stderr.splitlines() or ["nothing"])[0])


@perf_finding("perf.inject-pipe-build-ids")
def show_pipe_build_ids(context: Context, perf: Perf) -> tuple[bool, str]:
    path, injected = context.path("pipe.data"), context.path("injected.data")
    recording.record_pipe(perf, context, path)
    result = perf.run("inject", "-b", "-i", path, "-o", injected)
    hidden = count_hidden_bytes(files.read_bytes(injected))
    return hidden > 0, \
        "exit status %d; attrs lie over %d bytes of build ids" % (result.returncode, hidden)
