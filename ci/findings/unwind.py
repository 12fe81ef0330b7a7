# SPDX-License-Identifier: GPL-2.0-only
"""Findings about unwinding stack dumps, by perf and by the kernel; see __main__.py."""

import platform
import types
from typing import Iterator

from ci.base import process
from ci.findings import perf as recording
from ci.findings.context import Context, Shown
from ci.perf import agreement
from ci.perf.perf_tools import Perf
from harness.selftest.support import run_directory as rd

MMAP_DATA = 1 << 13  # PERF_RECORD_MISC_MMAP_DATA

# Has a frame of 256 KiB and writes every STEP-th byte of it.
LARGE = """
int main(void)
{
	volatile char room[1 << 18];

	for (long i = sizeof(room) - 1; i >= 0; i -= STEP)
		room[i] = 1;
	for (long i = 0; i < 300000000; i++)
		__asm__ volatile("" : "+r"(i));
	return room[sizeof(room) - 1] - 1;
}
"""
# Maps part of its own text a second time and runs it there.
TWICE = """
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>

static __attribute__((noinline, noclone, aligned(64))) long spin(long turns)
{
	for (volatile long i = 0; i < turns; i++)
		;
	return turns;
}

int main(void)
{
	uintptr_t page = (uintptr_t)spin & -4096ul;
	extern const char __executable_start;
	int fd = open("/proc/self/exe", O_RDONLY);
	char *copy = mmap(0, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			  page - (uintptr_t)&__executable_start);
	long (*elsewhere)(long) = (long (*)(long))(copy + ((uintptr_t)spin - page));
	long sum = 0;

	if (copy == MAP_FAILED)
		return 1;
	for (int i = 0; i < 40; i++)
		sum += elsewhere(1000000) + spin(1000000);
	return sum == 1;
}
"""

# Assembly without call frame information and without a frame, called by called_here().
BARE = """
__asm__(".text\\n.globl bare\\n.type bare,@function\\nbare: push %rbx\\n mov %rdi, %rbx\\n"
	"1: dec %rbx\\n jnz 1b\\n pop %rbx\\n ret\\n.size bare,.-bare\\n");
long bare(long turns);

__attribute__((noinline, noclone)) long called_here(long turns)
{
	return bare(turns) + 1;
}

int main(void)
{
	return called_here(800000000) == 42;
}
"""


def record_program(context: Context, name: str, *arguments: str) -> str:
    path = context.path(name)
    process.run_or_raise([context.jitproof, "record", "-F", "999", "--stack", "16384", "-o", path,
                          "--",
                          *arguments])
    return path


def compare_unwinders(context: Context, path: str) -> Iterator[tuple[Perf, agreement.Comparison]]:
    for perf in context.list_perfs():
        yield perf, agreement.compare(types.SimpleNamespace(jitproof=context.jitproof), perf, path,
                                      [])


def show_differences(context: Context, path: str, name: str) -> Iterator[Shown]:
    for perf, result in compare_unwinders(context, path):
        yield perf.version, result.classes[name] > 0, \
            "%d of %d stacks of perf script differ so; frames: jitproof %d, perf %d" % (
                result.classes[name], result.samples, *result.frames)


def show_before_exec(context: Context) -> Iterator[Shown]:
    """Records twelve programs in succession; about half have libc above the shell's address."""
    path = record_program(context, "exec.data", "/bin/sh", "-c",
                          "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do %s 100; done" % context.program)
    yield from show_differences(context, path, "perf takes the tables' address from before exec")


def show_two_places(context: Context) -> Iterator[Shown]:
    program = context.path("twice")
    recording.build_program(program, TWICE, "-no-pie")
    path = record_program(context, "twice.data", program)
    yield from show_differences(context, path, "perf (libdw) has the file at one of two places")


def show_invented(context: Context) -> Iterator[Shown]:
    program = context.path("beyond")
    recording.build_program(program, LARGE, "-DSTEP=64")
    path = record_program(context, "beyond.data", program)
    yield from show_differences(context, path, "perf invents ffffffffffffffff where the dump ends")


def show_popped(context: Context) -> Iterator[Shown]:
    name = "perf reads a register that is popped already"
    program = context.path("epilogues")
    recording.build_program(program, """
static __attribute__((noinline, noclone)) long leaf(long n)
{
	__asm__ volatile("" : "+r"(n) : : "rbx", "rbp", "r12", "r13", "r14", "r15");
	return n;
}

int main(int argc, char **argv)
{
	long sum = 0;
	volatile char room[argc * 16];

	room[0] = 1;
	for (long i = 0; i < 100000000; i++)
		sum += leaf(i);
	return sum == room[0];
}
""", "-O2", "-fomit-frame-pointer")
    yield from show_differences(context, record_program(context, "epilogues.data", program), name)


def show_empty_dump(context: Context) -> Iterator[Shown]:
    program = context.path("untouched")
    recording.build_program(program, LARGE, "-DSTEP=262144")
    path = record_program(context, "untouched.data", program)
    stacks = agreement.read_ours(context.jitproof, path, [])
    dumps = [stack["dump"] for found in stacks.values() for stack in found]
    empty = dumps.count(0)
    yield platform.release(), empty > len(dumps) // 2, \
        "a frame of 256 KiB without writes: %d of %d dumps of 16 KiB are empty" % (
            empty, len(dumps))


def show_without_data(context: Context) -> Iterator[Shown]:
    """Compares one capture with a copy that lacks the mapping records of data."""
    path = record_program(context, "maps.data", context.program, "200")
    bare = context.path("bare.data")
    made = rd.PerfData.load(path)
    made.records = [record for record in made.records
                    if record.kind != rd.MMAP2 or not record.misc & MMAP_DATA]
    made.save(bare)
    with_data = {perf.version: result.frames[1] for perf,
                 result in compare_unwinders(context, path)}
    for perf, result in compare_unwinders(context, bare):
        yield perf.version, result.frames[1] == result.samples < with_data[perf.version], \
            "%d stacks, frames: perf %d, with data mappings %d; jitproof %d" % (
                result.samples, result.frames[1], with_data[perf.version], result.frames[0])


def show_bare_assembly(context: Context) -> Iterator[Shown]:
    program = context.path("bare")
    recording.build_program(program, BARE, "-O1", "-fno-omit-frame-pointer")
    path = record_program(context, "assembly.data", program)
    for perf in context.list_perfs():
        stacks = [stack.split() for stack in
                  perf.run("script", "-i", path, "-F", "ip,sym").stdout.split("\n\n")]
        found = [stack for stack in stacks if stack[1:2] == ["bare"]]
        skipped = [stack for stack in found if stack[3:4] == ["main"]]
        yield perf.version, len(skipped) > 0, \
            "%d of %d stacks go from the assembly to its caller's caller" % (
                len(skipped), len(found))


FINDINGS = {
    "kernel.empty-dump": show_empty_dump,
    "perf.unwind-maps": show_without_data,
    "perf.unwind-exec": show_before_exec,
    "perf.unwind-twice": show_two_places,
    "perf.unwind-beyond": show_invented,
    "perf.unwind-popped": show_popped,
    "perf.unwind-assembly": show_bare_assembly,
}
