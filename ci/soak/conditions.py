# SPDX-License-Identifier: GPL-2.0-only
"""The table of conditions, CONDITIONS, and the functions that prepare a run under each."""

import functools
import os
import platform
import random
import resource
import shutil
import signal
import sys
import time
from typing import Callable

from ci.base import files, process
from ci.base.status import Missing
from ci.matrix.vm import configuration, suites
from ci.soak import drivers
from ci.soak.condition import Condition, Run

TREE = os.path.abspath(__file__ + "/../../..")
PARANOID = "/proc/sys/kernel/perf_event_paranoid"
NOBODY = 65534
SAMPLE_RATE = "/proc/sys/kernel/perf_event_max_sample_rate"
SET_MDWE, NO_EXEC_GAIN = 65, 1  # PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, linux/prctl.h
# The reasons with which a case may be an ERROR or TIMEOUT if it got too little CPU time.
STARVED = ("too little evidence", "the host took", "of [0-9]+ samples", "time limit",
           "did not (begin|end|answer) in", "sideband records .* were lost")
BUSY = "while True: pass"
# Touches a quarter of the free memory, at most 4 GiB, again and again.
MEMORY = """
import mmap
free = next(int(line.split()[1]) for line in open("/proc/meminfo") if "MemAvailable" in line)
size = min(free << 8, 4 << 30)
while True:
    with mmap.mmap(-1, size) as memory:
        for at in range(0, size, 4096):
            memory[at] = 1
"""
# Writes, syncs and reads 64 MiB again and again.
DISK = """
import os, sys
path, piece = sys.argv[1], b"x" * (1 << 20)
while True:
    with open(path, "w+b", buffering=0) as file:
        for _ in range(64):
            file.write(piece)
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(0)
        while file.read(1 << 20):
            pass
"""


def require_root() -> None:
    if os.geteuid():
        raise Missing("only root can prepare this")


def run_by(*words: str) -> Callable[[Run], None]:
    """Runs jitproof by another command, such as nice."""
    def prepare(run: Run) -> None:
        run.words = [process.find_program(words[0]), *words[1:]]
        result = process.run([*run.words, "true"])
        if result.returncode:
            raise Missing("%s: %s" % (words[0], result.stderr.strip()))
    return prepare


def use_one_cpu(run: Run) -> None:
    run_by("taskset", "-c", str(min(os.sched_getaffinity(0))))(run)


def start_loops(count: int) -> Callable[[Run], None]:
    return lambda run: drivers.start_python(BUSY, run.stack, count)


def enter_cgroup(run: Run, controller: str) -> drivers.Cgroup:
    group = drivers.Cgroup(controller)
    run.stack.callback(group.close)
    run.enter.append(group.enter)
    return group


def limit_cpu(percent: int) -> Callable[[Run], None]:
    def prepare(run: Run) -> None:
        group = enter_cgroup(run, "cpu")
        if group.version == 2:
            group.set("cpu.max", "%d 100000" % (percent * 1000))
        else:
            group.set("cpu.cfs_period_us", 100000)
            group.set("cpu.cfs_quota_us", percent * 1000)
    return prepare


def limit_memory(run: Run) -> None:
    group = enter_cgroup(run, "memory")
    group.set("memory.max" if group.version == 2 else "memory.limit_in_bytes", 512 << 20)


def stop_at_random(run: Run) -> None:
    run.drivers.append(lambda pid, ended: drivers.stop_at_random(
        functools.partial(drivers.find_session, pid), run.generator, (5, 50), ended))


def freeze(share: float) -> Callable[[Run], None]:
    def prepare(run: Run) -> None:
        try:
            group = enter_cgroup(run, "freezer")
            run.drivers.append(
                lambda pid, ended: drivers.stop_by_slices(group.freeze, share, ended))
        except Missing:
            run.drivers.append(lambda pid, ended: drivers.stop_by_slices(
                lambda stop: drivers.signal_all(
                    drivers.find_session(pid), signal.SIGSTOP if stop else signal.SIGCONT),
                share, ended))
    return prepare


def press_disk(run: Run) -> None:
    folder = drivers.make_folder(run.stack)
    drivers.start_python(DISK, run.stack, 1, os.path.join(folder, "data"))


def run_perf(run: Run) -> None:
    perf = process.find_program("perf")
    child = drivers.start_process(
        run.stack, [perf, "record", "-a", "-g", "-e", "cpu-clock", "-F", "999", "-o", "/dev/null"],
        signal.SIGINT)
    time.sleep(1)  # no handshake for this works with every version of perf
    if child.poll() is not None:
        raise Missing("perf record -a ended with status %d" % child.returncode)


def run_as_user(run: Run) -> None:
    """Runs a copy of the program that an ordinary user may read."""
    require_root()
    paranoid = files.read(PARANOID)
    run.words = [process.find_program("setpriv"), "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY,
                 "--clear-groups",
                 "--no-new-privs"]
    try:
        files.write(PARANOID, "2")
    except OSError as error:
        raise Missing("%s cannot be written" % PARANOID) from error
    run.stack.callback(files.write, PARANOID, paranoid)
    place = drivers.make_folder(run.stack)
    os.chmod(place, 0o755)
    build = os.path.dirname(os.path.abspath(run.jitproof))
    for name in os.listdir(build):
        if name == "profiler":
            shutil.copytree(os.path.join(build, name), os.path.join(place, name))
        elif name.startswith("jitproof") and os.path.isfile(os.path.join(build, name)):
            shutil.copy(os.path.join(build, name), place)
    run.jitproof = os.path.join(place, os.path.basename(run.jitproof))
    os.chown(run.folder, NOBODY, NOBODY)


def use_shm(run: Run) -> None:
    if not os.path.ismount("/dev/shm"):
        raise Missing("nothing is mounted on /dev/shm")
    run.folder = drivers.make_folder(run.stack, "/dev/shm")


def use_noexec(run: Run) -> None:
    require_root()
    drivers.mount_tmpfs(run.stack, run.folder, "noexec,mode=0700")


def limit_resource(resource_number: int, value: int) -> Callable[[Run], None]:
    def prepare(run: Run) -> None:
        hard = resource.getrlimit(resource_number)[1]
        if hard != resource.RLIM_INFINITY and (value == resource.RLIM_INFINITY or value > hard):
            raise Missing("the hard limit is %d" % hard)
        run.enter.append(lambda: resource.setrlimit(resource_number, (value, hard)))
    return prepare


def throttle(run: Run) -> None:
    """Lowers the kernel's limit of samples for half of each 100 ms."""
    require_root()
    sample_rate = files.read(SAMPLE_RATE)

    def lower(low: bool) -> None:
        with open(SAMPLE_RATE, "w", encoding="ascii") as file:
            file.write("1000\n" if low else sample_rate)
    run.drivers.append(lambda pid, ended: drivers.stop_by_slices(lower, 0.5, ended))


def set_mdwe(run: Run) -> None:
    result = process.run([sys.executable, "-c", "import ctypes, sys; sys.exit(-ctypes.CDLL(None)"
                          ".prctl(%d, %d, 0, 0, 0))" % (SET_MDWE, NO_EXEC_GAIN)])
    if result.returncode:
        raise Missing("this kernel has no PR_SET_MDWE")
    run.enter.append(functools.partial(drivers.set_process, SET_MDWE, NO_EXEC_GAIN))


def run_in_stopped_guest(run: Run) -> None:
    """Boots a kernel of the matrix, chosen by the seed, with this machine's clock."""
    if platform.machine() != "x86_64":
        raise Missing("guests need an x86-64 machine")
    build = os.path.dirname(os.path.abspath(run.jitproof))
    if not os.path.exists(build + "/vm/init"):
        raise Missing("%s/vm/init is not built: make vm-init" % os.path.basename(build))
    kernel = run.generator.choice(configuration.load(configuration.FILE)["kernels"]["versions"])
    cases = suites.list_cases(run.jitproof, tuple(run.arguments[1:]))
    if run.arguments[0] == "--set=check":
        lines = process.run_or_raise([run.jitproof, "list", *run.arguments[1:]]).splitlines()
        check = {line.split()[0] for line in lines if line.split()[1:2] == ["check"]}
        cases = [name for name in cases if name in check]
    output = os.path.join(run.folder, "guest")
    run.output, run.cases = (os.path.join(output, kernel, name) for name in ("", "cases"))
    run.command = [sys.executable, os.path.join(TREE, "ci/matrix"), "run", "--accel", "wall",
                   "--no-facts", "-j", "1", "--seed", str(run.seed), "--suite", "full",
                   "--kernel", kernel, "--jitproof", run.jitproof, "--init", build + "/vm/init",
                   "--clock", build + "/vm/clock.so", "--cache", build + "/matrix-cache",
                   "-o", output, *[word for name in cases for word in ("--case", name)]]
    run.drivers.append(lambda pid, ended: drivers.stop_at_random(
        functools.partial(drivers.find_machines, pid), random.Random(run.seed), (5, 200),
        ended))


CONDITIONS = (
    Condition("idle", "no other load", lambda run: None),
    Condition("busy-2", "2 busy loops", start_loops(2), STARVED),
    Condition("busy-4", "4 busy loops", start_loops(4), STARVED),
    Condition("busy-8", "8 busy loops", start_loops(8), STARVED),
    Condition("one-cpu", "`taskset -c 0`", use_one_cpu, STARVED),
    Condition("quota-50", "CPU quota of 50 %", limit_cpu(50), STARVED),
    Condition("quota-20", "CPU quota of 20 %", limit_cpu(20), STARVED),
    Condition("nice", "`nice -n 19`", run_by("nice", "-n", "19"), STARVED),
    Condition("idle-class", "`chrt -i 0`", run_by("chrt", "-i", "0"), STARVED),
    Condition("stopped", "all its processes stopped for 5 to 50 ms at random", stop_at_random,
              (*STARVED, "a recording ends when its workload is stopped")),
    Condition("frozen-50", "frozen half of the time", freeze(0.5), STARVED),
    Condition("frozen-75", "frozen 75 % of the time", freeze(0.75), STARVED),
    Condition("memory", "memory pressure",
              lambda run: drivers.start_python(MEMORY, run.stack), STARVED),
    Condition("disk", "I/O pressure", press_disk, STARVED),
    Condition("perf", "`perf record -a` at the same time", run_perf),
    Condition("throttled", "events throttled above 1000 samples a second, half of the time",
              throttle, (*STARVED, "perf_event_max_sample_rate")),
    Condition("fixed-addresses", "`setarch -R`", run_by("setarch", platform.machine(), "-R"),
              skips=("random addresses",)),
    Condition("user", "an ordinary user at perf_event_paranoid 2", run_as_user, STARVED,
              ("root", "paranoid", "permission", "Permission", "EPERM", "EACCES",
               "not permitted", "perf_event_mlock", "privilege")),
    Condition("shm", "TMPDIR below /dev/shm", use_shm),
    Condition("noexec", "TMPDIR on a noexec mount", use_noexec, skips=("noexec",)),
    Condition("stack", "`ulimit -s unlimited`",
              limit_resource(resource.RLIMIT_STACK, resource.RLIM_INFINITY)),
    Condition("descriptors", "`ulimit -n 64`", limit_resource(resource.RLIMIT_NOFILE, 64),
              ("Too many open files.*(ulimit|limit of descriptors)",),
              ("descriptors", "ulimit")),
    Condition("mdwe", "PR_SET_MDWE", set_mdwe, skips=("MDWE",)),
    Condition("time-namespace", "a time namespace, 1000 s ahead",
              run_by("unshare", "--time", "--monotonic", "1000", "--boottime", "1000", "--fork",
                     "--kill-child"), skips=("time namespace",)),
    Condition("memory-512", "a cgroup of 512 MB", limit_memory, STARVED),
    # ci/matrix itself lists the cases that a guest cannot run.
    Condition("stopped-guest", "a guest whose QEMU is stopped for 5 to 200 ms at random",
              run_in_stopped_guest, (*STARVED, "the machine's clocks disagree"), ("",)),
)
