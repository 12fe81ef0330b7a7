# SPDX-License-Identifier: GPL-2.0-only
"""Findings about perf as a recorder and as a reader; see __main__.py."""

import contextlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from typing import Any, Callable, Iterator

from ci.base import files, process
from ci.findings import kernel
from ci.findings.context import Context, Shown, finding, perf_finding
from ci.perf.perf_tools import Perf

# Records a running program, given its pid.
Recorder = Callable[[str], object]
PERF_TYPE_SOFTWARE, PERF_SAMPLE_IP = 1, 1
# Works with a frame whose return address looks like PERF_CONTEXT_*, as any code may leave that uses
# rbp for another purpose.
GARBAGE = """
int main(void)
{
	static unsigned long frame[2] = {0, -1UL};

	__asm__ volatile("push %%rbp\\n\\tmov %0, %%rbp\\n\\tmov $400000000, %%rcx\\n"
			 "1:\\tdec %%rcx\\n\\tjnz 1b\\n\\tpop %%rbp" : : "r"(frame)
			 : "rcx", "memory", "cc");
	return 0;
}
"""
# A thread that is started after the main thread has exited works in work().
LATE_THREAD = """
#include <pthread.h>
static void *work(void *unused)
{
	for (volatile long i = 0; i < 300000000; i++)
		;
	return unused;
}
static void *start(void *main_thread)
{
	pthread_t thread;

	pthread_join((pthread_t)main_thread, NULL);
	if (!pthread_create(&thread, NULL, work, NULL))
		pthread_join(thread, NULL);
	return NULL;
}
int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, start, (void *)pthread_self());
	pthread_exit(NULL);
}
"""
# Maps a page of code after the other, none adjacent, for four seconds.
MAPPER = """
import ctypes, sys, time
mmap = ctypes.CDLL(None).mmap
mmap.restype = ctypes.c_void_p
mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
count, until = 0, time.monotonic() + 4
while time.monotonic() < until:
    if count == 1500:
        print("ready", flush=True)
    if mmap(0x10000000 + count * 0x2000, 0x1000, 7, 0x100022, -1, 0) != 0x10000000 + count * 0x2000:
        sys.exit(1)
    count += 1
    spin = time.monotonic() + 0.0002
    while time.monotonic() < spin:
        pass
"""


def build_program(path: str, source: str, *options: str) -> None:
    process.compile_c(source, path, "-O1", "-fno-omit-frame-pointer", *options)


def run_record(perf: Perf, *arguments: str) -> None:
    process.run_or_raise([perf.path, "record", "-k", "mono", *arguments], env=perf.environment,
                         timeout=300)


def judge_file(context: Context, path: str) -> dict[str, Any]:
    return json.loads(process.run_or_raise([context.jitproof, "judge", "--json", path],
                                           timeout=120))


def count_stacks(perf: Perf, path: str) -> tuple[int, int]:
    """Returns (samples, those without any address) that perf script shows."""
    text = perf.run("script", "-F", "comm,ip", "-i", path).stdout
    return (len(re.findall(r"^\S", text, re.MULTILINE)),
            len(re.findall(r"^\S.*\n(?!\s+[0-9a-f])", text, re.MULTILINE)))


@perf_finding("perf.marker")
def show_marker(context: Context, perf: Perf) -> tuple[bool, str]:
    build_program(context.path("garbage"), GARBAGE)
    path = context.path("garbage.data")
    run_record(perf, "-e", "cpu-clock:u", "-g", "-o", path, "--", context.path("garbage"))
    judged = judge_file(context, path)
    bare = count_stacks(perf, path)[1]
    return bare > judged["samples"] // 2, \
        "%d of %d samples without any address in perf script; %d have a user stack in the " \
        "file" % (bare, judged["samples"], judged["user_stacks"])


@perf_finding("perf.relative-ip")
def show_relative_ip(context: Context, perf: Perf) -> tuple[bool, str]:
    path = context.path("plain.data")
    run_record(perf, "-e", "cpu-clock:u", "-g", "-o", path, "--", context.program, "200")
    output = [int(word, 16) for word in
             re.findall(r"^\s+([0-9a-f]+)$", perf.run("script", "-F", "ip", "-i", path).stdout,
                        re.MULTILINE)]
    small = sum(address < 1 << 32 for address in output)
    # Programs are position-independent here: no true address is below 4 GiB.
    return small > len(output) // 2, \
        "script -F ip: %d of %d addresses are relative to their file" % (small, len(output))



@perf_finding("perf.pipe-switch")
def show_pipe_switch(context: Context, perf: Perf) -> tuple[bool, str]:
    """Writes more than one file of --switch-output to a pipe."""
    path = context.path("switch.data")
    with open(path, "wb") as output:
        result = subprocess.run(
            [perf.path, "record", "-o", "-", "--switch-output=1M", "-F", "5000",
             "-e", "cpu-clock:u", "--call-graph=dwarf", "--", context.program, "300"],
            env=perf.environment, stdout=output, stderr=subprocess.PIPE, check=False, timeout=60)
    return result.returncode != 0, "exit status %d after %d KB: %s" % (
        result.returncode, os.path.getsize(path) >> 10,
        result.stderr.decode(errors="replace").strip().splitlines()[-1])



def compresses(perf: Perf) -> bool:
    return perf.run("record", "-z", "-o", os.devnull, "--", "true").returncode != 129


@perf_finding("perf.switch-compressed")
def show_compressed_switch(context: Context, perf: Perf) -> tuple[bool, str]:
    """Reads each file of a compressed recording."""
    folder = context.path("switched")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    if not compresses(perf):
        return False, "no -z"
    run_record(perf, "-q", "-z", "-o", os.path.join(folder, "perf.data"), "--switch-output=50K",
               "-F", "5000", "-e", "cpu-clock:u", "--call-graph=dwarf", "--", context.program,
               "3000")
    results = [perf.run("script", "-F", "time", "-i", os.path.join(folder, name))
            for name in sorted(os.listdir(folder))]
    failed = sum(result.returncode != 0 or not result.stdout for result in results)
    return failed > 0, "%d of %d files cannot be read" % (failed, len(results))


def record_pipe(perf: Perf, context: Context, path: str, *options: str) -> None:
    with open(path, "wb") as out:
        subprocess.run([perf.path, "record", "-e", "cpu-clock:u", "-g", *options, "-o", "-", "--",
                        context.program, "100"], stdin=subprocess.DEVNULL, stdout=out,
                       stderr=subprocess.DEVNULL, env=perf.environment, check=True)


@finding("perf.report-status")
def show_report_status(context: Context) -> Iterator[Shown]:
    """Reads a pipe of the latest perf by all perfs."""
    path, perfs = context.path("later.data"), context.list_perfs()
    record_pipe(perfs[-1], context, path)
    for perf in perfs:
        result = perf.run("report", "--stdio", "-g", "none", "-F", "sample", "-i", path)
        nr_listed = sum(map(int, re.findall(r"^\s*(\d+)\s*$", result.stdout, re.MULTILINE)))
        samples = len(re.findall(r"^\s*\d+\.\d+:", perf.run(
            "script", "-F", "time", "-i", path).stdout, re.MULTILINE))
        yield perf.version, nr_listed < samples and not result.returncode, \
            "exit status %d, %d of %d samples in perf report" % (result.returncode, nr_listed,
                                                                 samples)


def read_pipe(context: Context, writer: Perf, *options: str) -> Iterator[Shown]:
    """Reads a pipe of @writer by all perfs."""
    path = context.path("pipe.data")
    record_pipe(writer, context, path, *options)
    for perf in context.list_perfs():
        result = perf.run("script", "-F", "time", "-i", path)
        yield perf.version, result.returncode != 0, \
            "script of a pipe of %s ends with %d and %d samples, message: %s" % (
                writer.version, result.returncode, result.stdout.count("\n"),
                (result.stderr.strip() or "nothing").splitlines()[0])


@finding("perf.pipe-last-feature")
def show_last_feature(context: Context) -> Iterator[Shown]:
    yield from read_pipe(context, context.list_perfs()[0])


@finding("perf.pipe-finished-init")
def show_finished_init(context: Context) -> Iterator[Shown]:
    yield from read_pipe(context, context.list_perfs()[-1])


@finding("perf.compressed-type")
def show_compressed_type(context: Context) -> Iterator[Shown]:
    yield from read_pipe(context, context.list_perfs()[-1], "-z")


# Fills its stack with random numbers, so that dumps of it do not compress, for a second.
RANDOM_STACK = """
#include <stdint.h>
#include <time.h>

int main(void)
{
	enum { WORDS = 7500 };
	volatile uint64_t words[WORDS];
	uint64_t state = 88172645463325252;

	while (clock() < CLOCKS_PER_SEC)
		for (int i = 0; i < WORDS; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			words[i] = state ^= state << 17;
		}
	return words[0] == 1;
}
"""


def record_random_stack(perf: Perf, context: Context, path: str) -> None:
    program = context.path("random-stack")
    build_program(program, RANDOM_STACK)
    run_record(perf, "-q", "-z", "-e", "cpu-clock:u", "-F", "499", "--call-graph", "dwarf,65528",
               "-o", path, "--", program)


def count_samples(context: Context, path: str) -> int:
    """Returns the number of samples that `jitproof judge` reads, of a cut recording also."""
    return int(json.loads(process.run_or_raise(
        [context.jitproof, "judge", "--partial", "--json", path]))["samples"])


@perf_finding("perf.compressed-block")
def show_compressed_block(context: Context, perf: Perf) -> tuple[bool, str]:
    if not compresses(perf):
        return False, "no -z"
    path = context.path("compressed.data")
    record_random_stack(perf, context, path)
    result = perf.run("script", "-F", "time", "-G", "-i", path)
    nr_listed, samples = result.stdout.count("\n"), count_samples(context, path)
    return nr_listed < samples, "script ends with %d and shows %d of %d samples: %s" % (
        result.returncode, nr_listed, samples, (result.stderr.strip() or "nothing").splitlines()[0])


@perf_finding("perf.compressed-tail")
def show_compressed_tail(context: Context, perf: Perf) -> tuple[bool, str]:
    """Records until the end of the compressed data is missing, ten times at most."""
    if not compresses(perf):
        return False, "no -z"
    path = context.path("compressed.data")
    for count in range(1, 11):
        record_random_stack(perf, context, path)
        result = process.run([context.jitproof, "judge", "--json", path])
        if result.returncode:
            return True, "recording %d of 10: %s" % (count, result.stderr.strip().split(": ", 2)[2])
    return False, "10 recordings end with a whole record"


# Maps code at the same address twice; two names of the perf map overlap.
OVERLAPPING_NAMES = """
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	enum { FIRST = 0x90, SECOND_AT = 0x40, SECOND = 0x63, PAGE = 4096 };
	const int prot = PROT_READ | PROT_WRITE | PROT_EXEC, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	unsigned char *code = mmap(NULL, PAGE, prot, flags, -1, 0);
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	fprintf(map, "%lx %x first\\n%lx %x second\\n", (long)code, FIRST, (long)code + SECOND_AT,
		SECOND);
	fclose(map);
	for (int i = 0; i < 2; i++) {
		const clock_t end = clock() + CLOCKS_PER_SEC / 2;

		mmap(code, PAGE, prot, flags | MAP_FIXED, -1, 0);
		memset(code, 0x90, SECOND_AT + SECOND); /* nop */
		code[SECOND_AT + SECOND] = 0xc3; /* ret */
		while (clock() < end)
			for (int n = 0; n < 100000; n++)
				((void (*)(void))code)();
	}
}
"""


@perf_finding("perf.report-overlap")
def show_overlapping_names(context: Context, perf: Perf) -> tuple[bool, str]:
    path, program = context.path("overlapping.data"), context.path("overlapping")
    build_program(program, OVERLAPPING_NAMES)
    run_record(perf, "-q", "-e", "cpu-clock:u", "-F", "999", "-o", path, "--", program)
    listing = perf.run("script", "-F", "ip,sym", "-i", path).stdout
    report = perf.run("report", "--stdio", "-F", "sample,sym", "-i", path).stdout
    samples, shares = ({name: count(name) for name in ("first", "second")} for count in (
        lambda name: len(re.findall(r" %s$" % name, listing, re.MULTILINE)),
        lambda name: sum(map(int, re.findall(r"^\s*(\d+)\s+\[\.\] %s\s*$" % name, report,
                                             re.MULTILINE)))))
    pid = perf.run("script", "-F", "pid", "-i", path).stdout.split()[0]
    os.unlink("/tmp/perf-%d.map" % int(pid))
    return samples != shares, "script: %s; report: %s" % (samples, shares)


@perf_finding("perf.script-thread-gone")
def show_late_thread(context: Context, perf: Perf) -> tuple[bool, str]:
    path, program = context.path("late.data"), context.path("late")
    build_program(program, LATE_THREAD, "-pthread")
    run_record(perf, "-e", "cpu-clock:u", "-o", path, "--", program)
    listed = perf.run("script", "-F", "ip,sym", "-i", path).stdout.splitlines()
    report = perf.run("report", "--stdio", "-F", "sample,sym", "-i", path).stdout
    nr_named = sum(line.endswith(" work") for line in listed)
    counted = sum(map(int, re.findall(r"^\s*(\d+)\s+\[\.\] work\s*$", report, re.MULTILINE)))
    return nr_named < counted, \
        "%d of %d samples named in perf script, %d in perf report" % (
            nr_named, len(listed), counted)


@perf_finding("perf.pipe-fields")
def show_pipe_fields(context: Context, perf: Perf) -> tuple[bool, str]:
    path = context.path("pipe.data")
    record_pipe(perf, context, path)
    frames = re.findall(r"^\s+[0-9a-f]+ \S", perf.run(
        "script", "-F", "pid", "--no-inline", "-i", path).stdout, re.MULTILINE)
    return bool(frames), \
        "script -F pid of a pipe prints %d frames with symbols" % len(frames)


@perf_finding("perf.first-event")
def show_first_event(context: Context, perf: Perf) -> tuple[bool, str]:
    """Breakpoints are sampled while a software event records the mappings; no sample has its id."""
    path = context.path("exact/exact/anon/perf.data")
    process.run([context.jitproof, "run", "-o", context.path("exact"), "exact/anon"])
    with open(path, "r+b") as file:
        data = file.read(1 << 16)
        step, offset, size = struct.unpack_from("<QQQ", data, 16)
        for attr in range(offset, offset + size, step):
            if struct.unpack_from("<I", data, attr)[0] == PERF_TYPE_SOFTWARE:
                kinds = struct.unpack_from("<Q", data, attr + 24)[0]
                file.seek(attr + 24)
                file.write(struct.pack("<Q", kinds & ~PERF_SAMPLE_IP))
    result = perf.run("script", "-i", path)
    return result.returncode != 0, \
        "PERF_SAMPLE_IP not in the sideband's event, which samples nothing: script ends with " \
        "%d, message: %s" % (result.returncode,
                             (result.stderr.strip() or "nothing").splitlines()[0])


def attach_to(source: str, recorder: Recorder) -> str:
    """Attaches to the Python program @source once it has printed "ready". Returns what it prints
    after that."""
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE,
                          text=True) as program:
        assert program.stdout
        if program.stdout.readline() != "ready\n":
            raise RuntimeError("the program to attach to did not start")
        recorder(str(program.pid))
        return program.communicate()[0]


def count_known_pages(recorder: Recorder, path: str) -> tuple[int, int]:
    """Returns (pages mapped up to the last that has a record, how many of them have no record), for
    a program that maps while a recorder attaches."""
    attach_to(MAPPER, recorder)
    data = files.read_bytes(path)
    pages = set()
    offset, size = struct.unpack_from("<QQ", data, 40)
    end = offset + size
    while offset + 8 <= end:
        kind, _, size = struct.unpack_from("<IHH", data, offset)
        if kind in (1, kernel.MMAP2):
            address = struct.unpack_from("<Q", data, offset + 16)[0]
            if 0x10000000 <= address < 1 << 32:
                pages.add((address - 0x10000000) // 0x2000)
        elif kind == 2:
            raise RuntimeError("records were lost: cannot measure")
        offset += size
    if max(pages) < 1500:
        raise RuntimeError("the recorder attached too late: cannot measure")
    return max(pages) + 1, max(pages) + 1 - len(pages)


def record_three_times(version: str, recorder: Recorder, path: str) -> Shown:
    tries = [count_known_pages(recorder, path) for _ in range(3)]
    return version, any(missing for _, missing in tries), \
        "record -p: of %s pages, mapped in sequence, %s have no record" % (
            ", ".join(str(count) for count, _ in tries),
            ", ".join(str(missing) for _, missing in tries))


@finding("perf.attach-window")
def show_attach_window(context: Context) -> Iterator[Shown]:
    path = context.path("attach.data")
    for perf in context.list_perfs():
        yield record_three_times(perf.version, lambda pid: run_record(
            perf, "-m", "2048", "-e", "cpu-clock:u", "-o", path, "-p", pid), path)
    yield record_three_times("jitproof", lambda pid: process.run(
        [context.jitproof, "record", "-o", path, "-p", pid], timeout=60), path)


# Starts a thread every 0.5 ms, then lets each use 4 ms of CPU time; prints the threads' numbers.
STARTER = """
import threading, time
turns, threads = [threading.Semaphore(0) for _ in range(600)], []
def work(turn):
    threads.append(threading.get_native_id())
    turn.acquire()
    while time.thread_time() < 0.004:
        pass
started = []
print("ready", flush=True)
for turn in turns:
    started.append(threading.Thread(target=work, args=(turn,)))
    started[-1].start()
    time.sleep(0.0005)
for thread, turn in zip(started, turns):
    turn.release()
    thread.join()
print(*threads)
"""


def record_threads(version: str, recorder: Recorder, path: str, reader: Perf) -> Shown:
    """Attaches to a program while it starts threads. Returns how many threads have no sample."""
    started = {int(thread) for thread in attach_to(STARTER, recorder).split()}
    listed = reader.run("script", "-F", "tid", "-i", path).stdout.split()
    missing = started - {int(thread) for thread in listed}
    return version, bool(missing), \
        "record -p: %d of %d threads that used 4 ms of CPU time each have no sample" % (
            len(missing), len(started))


@finding("perf.attach-threads")
def show_attach_to_threads(context: Context) -> Iterator[Shown]:
    path = context.path("threads.data")
    for perf in context.list_perfs():
        yield record_threads(perf.version, lambda pid: run_record(
            perf, "-q", "-F", "4000", "-m", "2048", "-e", "cpu-clock:u", "-o", path, "-p", pid),
            path, perf)
    yield record_threads("jitproof", lambda pid: process.run(
        [context.jitproof, "record", "-F", "4000", "-o", path, "-p", pid], timeout=60), path, perf)


def record_steps(perf: Perf, context: Context, path: str, *commands: str) -> None:
    """Records a shell that executes the program when asked. The command "go" starts the program and
    waits until it runs; all other commands are sent to perf."""
    control, acknowledged, go = (context.path(name) for name in ("control", "acknowledged", "go"))
    for fifo in (control, acknowledged, go):
        os.mkfifo(fifo)
    try:
        with subprocess.Popen(
                [perf.path, "record", "-D", "-1", "-e", "cpu-clock:u", "-g", "--control",
                 "fifo:%s,%s" % (control, acknowledged), "-o", path, "--", "sh", "-c",
                 "read x <%s; exec %s 400" % (go, context.program)], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env=perf.environment) as recorder, \
                open(control, "w", encoding="ascii") as requests, \
                open(acknowledged, encoding="ascii") as replies:
            for command in commands:
                if command == "go":
                    files.write(go, "go\n")
                    assert recorder.stdout
                    recorder.stdout.readline()
                    continue
                requests.write(command + "\n")
                requests.flush()
                replies.readline()
    finally:
        for fifo in (control, acknowledged, go):
            os.unlink(fifo)


@perf_finding("perf.exec-disabled")
def show_exec_disabled(context: Context, perf: Perf) -> tuple[bool, str]:
    path = context.path("control.data")
    record_steps(perf, context, path, "go", "enable")
    never = judge_file(context, path)
    record_steps(perf, context, path, "enable", "disable", "go", "enable")
    judged = judge_file(context, path)
    return judged["addresses_unmapped"] > judged["addresses"] // 2, \
        "exec while the control is disabled: %d of %d addresses in no mapping; before it was " \
        "enabled first: %d of %d" % (
            judged["addresses_unmapped"], judged["addresses"], never["addresses_unmapped"],
            never["addresses"])


@contextlib.contextmanager
def run_workload(context: Context, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Runs a workload, from the moment at which it is ready."""
    truth = context.path("workload.truth")
    with subprocess.Popen([context.jitproof, "workload", *arguments, "--truth", truth],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout and child.stdin
        if not child.stdout.readline().startswith("ready"):
            raise RuntimeError(arguments[0] + " is not ready")
        try:
            yield child
        finally:
            child.stdin.close()
    os.unlink(truth)


def count_names(context: Context, perf: Perf, workload: str) -> tuple[int, int]:
    """Returns (samples in code that a perf map names, those for which perf shows that name)."""
    path = context.path("map.data")
    with run_workload(context, workload) as child:
        run_record(perf, "-e", "cpu-clock:u", "-o", path, "-p", str(child.pid), "--", "sleep",
                   "0.3")
        with open("/proc/%d/maps" % child.pid, encoding="utf-8") as file:
            code = [(int(start, 16), int(end, 16)) for start, end in re.findall(
                r"^(\w+)-(\w+) r.x. \w+ \S+ \d+ *(?:/memfd:.*)?$", file.read(), re.MULTILINE)]
        nr_named = "/tmp/perf-%d.map" % child.pid
        with open(nr_named, "x", encoding="ascii") as file:
            for start, end in code:
                file.write("%x %x jit_code\n" % (start, end - start))
        try:
            text = perf.run("script", "-F", "ip,sym", "-i", path).stdout
        finally:
            os.unlink(nr_named)
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    inside = [line for line in lines if any(start <= int(line[0], 16) < end for start, end in code)
              or line[-1] == "jit_code"]
    return len(inside), sum(line[-1] == "jit_code" for line in inside)


@perf_finding("perf.anon-name")
def show_anon_name(context: Context, perf: Perf) -> tuple[bool, str]:
    path = context.path("anon.data")
    run_record(perf, "-e", "cpu-clock:u", "-o", path, "--", context.jitproof, "workload",
               "anon_exec", "--truth", context.path("anon.truth"))
    os.unlink(context.path("anon.truth"))
    names = set(re.findall(r"\((/tmp/perf-\d+\.map)\)",
                           perf.run("script", "-F", "ip,dso", "-i", path).stdout))
    return any(not os.path.exists(name) for name in names), \
        "//anon is shown as %s, which does not exist" % (", ".join(names) or "itself")


@perf_finding("perf.memfd-map")
def show_memfd_map(context: Context, perf: Perf) -> tuple[bool, str]:
    anon, memfd = (count_names(context, perf, name) for name in ("anon_exec", "memfd_double"))
    return anon[1] > 0 and memfd[1] == 0, \
        "a perf map names %d of %d samples in anonymous code, %d of %d in a memfd" % (
            anon[1], anon[0], memfd[1], memfd[0])


@perf_finding("perf.attach-thread-gone")
def show_main_thread_gone(context: Context, perf: Perf) -> tuple[bool, str]:
    path = context.path("gone.data")
    with run_workload(context, "thread_churn") as child:
        run_record(perf, "-q", "-e", "cpu-clock:u", "-g", "-o", path, "-p", str(child.pid),
                   "--", "sleep", "0.5")
    process_judged, = (one for one in judge_file(context, path)["processes"]
                       if one["pid"] == child.pid)
    return process_judged["samples"] > 0 and process_judged["mmap2"]["file"] == 0, \
        "the main thread has exited: records of %d mapped files, %d of %d addresses in no " \
        "mapping" % (process_judged["mmap2"]["file"], process_judged["addresses_unmapped"],
                     process_judged["addresses"])


@perf_finding("perf.attach-letters")
def show_attach_to_letters(context: Context, perf: Perf) -> tuple[bool, str]:
    """Attaches to a program whose name has a letter that is not ASCII."""
    path = context.path("letters.data")
    program = context.path("caf\N{LATIN SMALL LETTER E WITH ACUTE}")
    shutil.copy(context.program, program)
    with subprocess.Popen([program, "60000"], stdout=subprocess.DEVNULL) as child:
        try:
            run_record(perf, "-q", "-e", "cpu-clock:u", "-g", "-o", path, "-p", str(child.pid),
                       "--", "sleep", "0.5")
        finally:
            child.kill()
    ours = judge_file(context, path)
    is_lost = program not in perf.run("script", "--show-mmap-events", "-i", path).stdout
    return ours["samples"] > 0 and is_lost, \
        "a program with a letter outside of ASCII: %s, %d of %d addresses in no mapping" % (
            "no record" if is_lost else "recorded", ours["addresses_unmapped"], ours["addresses"])


@perf_finding("perf.lost-twice")
def show_lost_twice(context: Context, perf: Perf) -> tuple[bool, str]:
    path = context.path("lost.data")
    run_record(perf, "-m", "1", "-F", "20000", "-e", "cpu-clock:u", "--call-graph", "dwarf",
               "-o", path, "--", context.program, "200")
    judged = judge_file(context, path)
    return judged["lost_samples"] >= judged["lost_events"] > 0, \
        "with a small ring, LOST records count %d, LOST_SAMPLES %d" % (
            judged["lost_events"], judged["lost_samples"])


@perf_finding("perf.record-twice")
def record_twice(context: Context, perf: Perf) -> tuple[bool, str]:
    """Checks for repeated samples: a flush that one CPU's samples trigger also reads other rings,
    at any moment."""
    path = context.path("twice.data")
    busy = "%s 1500 & %s 1500; wait" % (context.program, context.program)
    run_record(perf, "-a", "--no-buffering", "-F", "20000", "-e", "cpu-clock", "-o", path, "--",
               "sh", "-c", busy)
    lines = perf.run("script", "--ns", "-F", "tid,cpu,time", "-i", path).stdout.splitlines()
    return len(set(lines)) < len(lines), \
        "%d of %d samples occur twice" % (len(lines) - len(set(lines)), len(lines))
