# SPDX-License-Identifier: GPL-2.0-only
"""Findings about unusual perf maps and jitdumps; see __main__.py."""

import os
import struct
import subprocess
from typing import Callable

from ci.base import files
from ci.base.status import Missing
from ci.findings import inject as injecting, perf as recording
from ci.findings.context import Context, perf_finding
from ci.perf.perf_tools import Perf

TIMEOUT_S = 10  # in seconds: ample for perf to read a valid file


def make_workload_command(context: Context, number: int, publish: str, workload: str) -> str:
    """Returns a shell command that starts a workload for a second and writes its pid to
    pid.NUMBER."""
    return ("timeout 1 sh -c 'echo $$ >pid.%d; exec %s workload %s --truth truth.%d --publish=%s "
            "--control-fd=none' >/dev/null & " % (number, context.jitproof, workload, number,
                                                  publish))


def record_workloads(context: Context, perf: Perf, publish: str, count: int = 1,
                     graph: str = "fp", workload: str = "anon_exec") -> tuple[str, list[int]]:
    """Returns (folder with perf.data of @count workloads, their pids). @graph: kind of stacks."""
    folder = injecting.make_folder(context, "files")
    words = "".join(make_workload_command(context, i, publish, workload)
                    for i in range(count)) + "wait"
    recording.run_record(perf, "-N", "-q", "-e", "cpu-clock", "--call-graph", graph, "-o",
                         os.path.join(folder, "perf.data"), "--", "sh", "-c",
                         "cd %s; %s" % (folder, words))
    pids = []
    for number in range(count):
        pids.append(int(files.read(os.path.join(folder, "pid.%d" % number))))
    return folder, pids


def run_report(perf: Perf, folder: str) -> subprocess.CompletedProcess[str]:
    return perf.run("report", "--stdio", "--sort", "sym", "-i", os.path.join(folder, "perf.data"),
                    timeout=TIMEOUT_S)


def report_with_map(context: Context, perf: Perf, change: Callable[[str], None]) -> str | None:
    """Returns the output of perf report after change(path) on the perf map; None if it does not
    end."""
    folder, pids = record_workloads(context, perf, "map")
    path = "/tmp/perf-%d.map" % pids[0]
    try:
        change(path)
        return run_report(perf, folder).stdout
    except subprocess.TimeoutExpired:
        return None
    finally:
        os.unlink(path)


@perf_finding("perf.map-fifo")
def show_fifo(context: Context, perf: Perf) -> tuple[bool, str]:
    def change(path: str) -> None:
        os.unlink(path)
        os.mkfifo(path)

    text = report_with_map(context, perf, change)
    return text is None, \
        "perf report %s if the perf map is a FIFO" % (
            "does not end within %d s" % TIMEOUT_S if text is None else "ends")


@perf_finding("perf.map-owner")
def show_owner(context: Context, perf: Perf) -> tuple[bool, str]:
    if os.geteuid():
        raise Missing("only root can make another user's file")

    def change(path: str) -> None:
        os.unlink(path)
        with open(path, "x", encoding="ascii") as file:
            file.write("0 7fffffffffff planted\n")
        os.chown(path, 65534, 65534)

    text = report_with_map(context, perf, change)
    return "planted" in (text or ""), \
        "another user's perf map names %s of root's process" % (
            "the code" if "planted" in (text or "") else "nothing")


@perf_finding("perf.inject-missing")
def show_missing(context: Context, perf: Perf) -> tuple[bool, str]:
    folder, pids = record_workloads(context, perf, "jitdump --publish-dir=.", 2)
    before = injecting.run_inject(perf, folder)[0]
    os.unlink(os.path.join(folder, "jit-%d.dump" % pids[0]))
    after, result = injecting.run_inject(perf, folder)
    return before > after and result.returncode != 0, \
        "%d functions injected for two processes; %d (exit status %d) without one jitdump" % (
            before, after, result.returncode)


def inject_changed(context: Context, perf: Perf, change: Callable[[bytes, int], bytes]
                   ) -> tuple[bool, str]:
    """Runs `perf inject` on a jitdump, and on the bytes that @change returns for the jitdump and
    the size of its header. Returns whether only the second run finds no function, although it
    exits with status 0; and the number of functions of each run."""
    folder, pids = record_workloads(context, perf, "jitdump --publish-dir=.")
    before = injecting.run_inject(perf, folder)[0]
    path = os.path.join(folder, "jit-%d.dump" % pids[0])
    data = files.read_bytes(path)
    files.write_bytes(path, change(data, *struct.unpack_from("<I", data, 8)))
    after, result = injecting.run_inject(perf, folder)
    return before > 0 and after == 0 and result.returncode == 0, \
        "%d functions injected; %d (exit status %d) after the change" % (
            before, after, result.returncode)


@perf_finding("perf.inject-long-header")
def show_long_header(context: Context, perf: Perf) -> tuple[bool, str]:
    """Makes the header of a jitdump longer, as its field total_size allows."""
    return inject_changed(context, perf, lambda data, header: b"".join((
        data[:8], struct.pack("<I", header + 8), data[12:header], bytes(8), data[header:])))


@perf_finding("perf.inject-close")
def show_close(context: Context, perf: Perf) -> tuple[bool, str]:
    """Inserts a CLOSE record before the functions."""
    return inject_changed(context, perf, lambda data, header: b"".join((
        data[:header], struct.pack("<IIQ", 3, 16, *struct.unpack_from("<Q", data, header + 8)),
        data[header:])))
