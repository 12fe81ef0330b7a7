# SPDX-License-Identifier: GPL-2.0-only
"""Findings about unwinding stack dumps, by perf and by the kernel; see __main__.py."""

import platform
import types
from typing import Callable, Iterator, Sequence

from ci.base import process
from ci.findings import perf as recording
from ci.findings.context import Context, Shown, finding, perf_finding
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
# Two functions, one of them with a large frame.
NESTED = """
static __attribute__((noinline, noclone)) long inner(long n)
{
	for (long i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(i));
	return n + 1;
}

static __attribute__((noinline, noclone)) long outer(long n)
{
	volatile char room[256];

	room[n & 255] = 1;
	return inner(n) + room[n & 255];
}

int main(void)
{
	return outer(800000000) == 42;
}
"""
# Has epilogues that pop many registers.
EPILOGUES = """
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
"""


def record_program(context: Context, *arguments: str) -> str:
    path = context.path("unwind.data")
    process.run_or_raise([context.jitproof, "record", "-F", "999", "--stack", "16384", "-o", path,
                          "--", *arguments])
    return path


def build_program(context: Context, source: str, *options: str) -> str:
    recording.build_program(context.path("unwound"), source, *options)
    return context.path("unwound")


def compare_unwinders(context: Context, perf: Perf, path: str) -> agreement.Comparison:
    return agreement.compare(types.SimpleNamespace(jitproof=context.jitproof), perf, path, [])


def add_difference(name: str, difference: str, prepare: Callable[[Context], Sequence[str]]) -> None:
    """Adds a finding about a class of different stacks. @prepare: returns the recorded command."""
    @perf_finding(name)
    def show_difference(context: Context, perf: Perf) -> tuple[bool, str]:
        result = compare_unwinders(context, perf, record_program(context, *prepare(context)))
        return result.classes[difference] > 0, \
            "%d of %d stacks of perf script differ so; frames: jitproof %d, perf %d" % (
                result.classes[difference], result.samples, *result.frames)


# Twelve programs in succession; about half have libc above the shell's address.
add_difference("perf.unwind-exec", "perf reads a file's tables where it lay before an exec",
               lambda context: ["/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do %s 100; "
                                "done" % context.program])
add_difference("perf.unwind-twice", "perf (libdw) has the file at only one of its two addresses",
               lambda context: [build_program(context, TWICE, "-no-pie")])
add_difference("perf.unwind-beyond", "perf invents ffffffffffffffff where the dump ends",
               lambda context: [build_program(context, LARGE, "-DSTEP=64")])
add_difference("perf.unwind-popped", "perf reads a register that is popped already",
               lambda context: [build_program(context, EPILOGUES, "-O2", "-fomit-frame-pointer")])


@finding("kernel.empty-dump")
def show_empty_dump(context: Context) -> Iterator[Shown]:
    path = record_program(context, build_program(context, LARGE, "-DSTEP=262144"))
    stacks = agreement.read_ours(context.jitproof, path, [])
    dumps = [stack["dump"] for of_kind in stacks.values() for stack in of_kind]
    empty = dumps.count(0)
    yield platform.release(), empty > len(dumps) // 2, \
        "a frame of 256 KiB without writes: %d of %d dumps of 16 KiB are empty" % (
            empty, len(dumps))


@perf_finding("perf.unwind-maps")
def show_without_data(context: Context, perf: Perf) -> tuple[bool, str]:
    """Compares one capture with a copy that lacks the mapping records of data."""
    path, bare = record_program(context, context.program, "200"), context.path("bare.data")
    data = rd.PerfData.load(path)
    data.records = [record for record in data.records
                    if record.kind != rd.MMAP2 or not record.misc & MMAP_DATA]
    data.save(bare)
    with_data = compare_unwinders(context, perf, path).frames[1]
    result = compare_unwinders(context, perf, bare)
    return result.frames[1] == result.samples < with_data, \
        "%d stacks, frames: perf %d, with data mappings %d; jitproof %d" % (
            result.samples, result.frames[1], with_data, result.frames[0])


@perf_finding("perf.unwind-moved")
def show_moved_text(context: Context, perf: Perf) -> tuple[bool, str]:
    """Links the text at another distance from its file offset than the first segment, as lld
    does."""
    result = compare_unwinders(context, perf, record_program(context, build_program(
        context, NESTED, "-fomit-frame-pointer", "-Wl,--section-start=.text=0x21000")))
    return result.same * 2 < result.samples, \
        "%d of %d stacks are as jitproof's" % (result.same, result.samples)


@perf_finding("perf.unwind-assembly")
def show_bare_assembly(context: Context, perf: Perf) -> tuple[bool, str]:
    path = record_program(context, build_program(context, BARE))
    stacks = [stack.split() for stack in
              perf.run("script", "-i", path, "-F", "ip,sym").stdout.split("\n\n")]
    bare = [stack for stack in stacks if stack[1:2] == ["bare"]]
    skipped = [stack for stack in bare if stack[3:4] == ["main"]]
    return len(skipped) > 0, \
        "%d of %d stacks go from the assembly to its caller's caller" % (
            len(skipped), len(bare))
