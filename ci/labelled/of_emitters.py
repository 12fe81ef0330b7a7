# SPDX-License-Identifier: GPL-2.0-only
"""Captures of programs whose emitted code has frames unlike those of our workloads, and of files
with packed symbols."""

from ci.labelled import programs
from ci.labelled.bench import Bench, make_dump_options, WITH_FP
from ci.labelled.recipe import add

# Runs the x86-64 code CODE and names it in a perf map.
EMITTER = programs.ENDS + """
#include <sys/mman.h>

static const unsigned char code[] = {CODE};
volatile long sum;

__attribute__((noinline)) void run(void (*emitted)(int))
{
	emitted(300);
	sum++;
}

__attribute__((noinline)) void work(void *memory)
{
	run(memory);
	sum++;
}

int main(int argc, char **argv)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	if (!map || memory == MAP_FAILED)
		return 1;
	fprintf(map, "%lx %zx emitted\\n", (long)memory, sizeof(code));
	fclose(map);
	memcpy(memory, code, sizeof(code));
	begin(argc, argv);
	while (go_on())
		work(memory);
	return 0;
}
"""
# Counts down from 2^20 or 2^11.
SPIN = "48 c7 c1 00 00 10 00  48 01 c8  48 ff c9  75 f8"
SPIN_SHORTLY = SPIN.replace("00 00 10 00", "00 08 00 00")
# Calls the code after it, which spins. Neither has a frame.
WITHOUT_FRAMES = f"48 83 ec 08  e8 05 00 00 00  48 83 c4 08  c3  {SPIN} c3"
# Points %rbp to a frame that is its own caller.
CIRCLE = ("55  48 83 ec 10  48 89 24 24  48 8d 05 00 00 00 00  48 89 44 24 08  48 89 e5 "
          f"{SPIN} 48 83 c4 10  5d  c3")
# With a frame: spins, and calls itself as often as its argument states.
RECURSION = f"55  48 89 e5  85 ff  74 16  {SPIN_SHORTLY}  ff cf  e8 e2 ff ff ff  5d  c3"


def make_emitter(code: str) -> str:
    return EMITTER.replace("CODE", ", ".join("0x" + byte for byte in code.split()))


def add_emitter(name: str, label: str, code: str) -> None:
    add(name, label, lambda bench: [bench.build("emitter", make_emitter(code), *WITH_FP)])


add_emitter("without-frames-7.3", "jit-no-frame-pointer", WITHOUT_FRAMES)
add_emitter("without-frames-ours", "jit-no-frame-pointer", WITHOUT_FRAMES)
add_emitter("circle-6.1", "jit-no-frame-pointer depth-limit", CIRCLE)
add_emitter("recursion-6.12", "depth-limit", RECURSION)
# The program's stack is larger than the dumps, so that call frame information alone does not help.
DEEP = make_emitter(f"55  48 89 e5  {SPIN} 5d  c3").replace(
    "run(memory);", """char locals[12000];
	for (int i = 0; i < 200; i++) {
		memset(locals, 1, sizeof(locals));
		__asm__ volatile("" : : "r"(locals) : "memory");
	}
	run(memory);""")
add("no-cfi-deep-6.12", "stacks:no-cfi-for-jit names:-",
    lambda bench: [bench.build("emitter", DEEP, *WITH_FP)], record=make_dump_options(8192))


def build_packed(bench: Bench) -> list[str]:
    """Builds a program that contains its symbols as a compressed file, as in Fedora."""
    program, symbols = bench.build_chain(), bench.place("symbols")
    bench.must(["objcopy", "--only-keep-debug", program, symbols])
    bench.must(["xz", "--format=xz", symbols])
    bench.must(["strip", "--strip-all", program])
    bench.must(["objcopy", "--add-section", ".gnu_debugdata=" + symbols + ".xz", program])
    return [program]


add("healthy-packed-7.3", "healthy", build_packed)
add("packed-6.1", "stripped-symbols", build_packed)
