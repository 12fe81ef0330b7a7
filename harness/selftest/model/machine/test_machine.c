// SPDX-License-Identifier: GPL-2.0-only
/* Steps by frame records, on each machine. */
#include <elf.h>

#include "harness/model/machine/machine.h"
#include "harness/model/unwind/stack_dump.h"
#include "harness/selftest/support/check.h"

enum { STACK = 0x7000, CALLER = 0xaaaa1234, OUTER = 0xaaaa5678 };

static const struct machine_case {
	const char *machine;
	uint64_t signature; /* bits that the first return address has in addition */
	/* A callee-saved register, and a register that is not. */
	uint8_t kept_register, lost_register;
} walks[] = {
	{"x86_64", 0, 3, 0},
	{"i386", 0, 3, 2},
	{"aarch64", UINT64_C(0x2a) << 48, 19, 30},
	{"riscv64", 0, 9, 1},
};

/* Returns the bytes of @words as the words of @machine, which may have 4 bytes. */
static const unsigned char *pack(const struct jp_machine *machine, const uint64_t words[4],
				 uint32_t half[4])
{
	for (int i = 0; i < 4; i++)
		half[i] = (uint32_t)words[i];
	return machine->frames->narrow ? (const unsigned char *)half : (const unsigned char *)words;
}

static void test_steps(const struct machine_case *walk)
{
	const struct jp_machine *machine = jp_machine_named(walk->machine);
	const struct jp_machine_frames *frames = machine->frames;
	const uint64_t word = jp_machine_word(frames), fp_above = frames->fp_above;
	const uint64_t next = STACK + 2 * word,
		       words[4] = {next + fp_above, CALLER | walk->signature, 0, OUTER};
	uint32_t half[4];
	struct jp_stack_dump dump = {.bytes = pack(machine, words, half),
				     .sp = STACK,
				     .size = 4 * word,
				     .narrow = frames->narrow};
	struct jp_regs regs = {.machine = machine, .mask = (UINT64_C(1) << 33) - 1};
	uint64_t *fp = &regs.r[frames->fp], *ip = &regs.r[machine->ip];

	*fp = STACK + fp_above;
	regs.r[machine->sp] = STACK;
	check(jp_machine_step(&regs, jp_stack_dump_load, &dump) == JP_FRAME_STEPPED &&
		      *ip == CALLER && *fp == next + fp_above && regs.r[machine->sp] == next,
	      "%s: a frame record leads to its caller, without a signature", walk->machine);
	check(regs.mask >> walk->kept_register & 1 && !(regs.mask >> walk->lost_register & 1),
	      "%s: a caller keeps the callee-saved registers only", walk->machine);
	check(jp_machine_step(&regs, jp_stack_dump_load, &dump) == JP_FRAME_STEPPED && *ip == OUTER,
	      "%s: the dump's last word is read", walk->machine);
	check(jp_machine_step(&regs, jp_stack_dump_load, &dump) == JP_FRAME_END,
	      "%s: a frame pointer of 0 ends the walk", walk->machine);
	*fp = STACK + 8 * word + fp_above;
	check(jp_machine_step(&regs, jp_stack_dump_load, &dump) == JP_FRAME_BEYOND &&
		      dump.missed == STACK + 8 * word,
	      "%s: a record may be above the dump", walk->machine);
	*fp += word / 2;
	check(jp_machine_step(&regs, jp_stack_dump_load, &dump) == JP_FRAME_BAD,
	      "%s: an unaligned frame pointer is refused", walk->machine);
	*fp = regs.r[machine->sp] - word + fp_above;
	check(jp_machine_step(&regs, jp_stack_dump_load, &dump) == JP_FRAME_BAD,
	      "%s: a record below the stack pointer is refused", walk->machine);
	*fp = word;
	check(jp_machine_step(&regs, jp_stack_dump_load, &dump) == JP_FRAME_BAD,
	      "%s: a frame pointer near 0 is refused", walk->machine);
	*fp = STACK + fp_above;
	regs.r[machine->sp] = STACK;
	regs.mask &= ~(UINT64_C(1) << frames->fp);
	check(jp_machine_step(&regs, jp_stack_dump_load, &dump) == JP_FRAME_BAD,
	      "%s: an unknown frame pointer is refused", walk->machine);
}

TEST(identity)
{
	const struct jp_machine *kernels = jp_machine_named("x86_64"),
				*arm = jp_machine_find(EM_AARCH64),
				*riscv = jp_machine_find(EM_RISCV);

	check(kernels && jp_machine_find(EM_X86_64) == kernels && arm &&
		      jp_machine_named("aarch64") == arm && riscv &&
		      jp_machine_named("riscv64") == riscv,
	      "machines are found by number and name");
	check(jp_machine_compat(kernels) == jp_machine_find(EM_386),
	      "x86-64 kernels run programs of i386");
	check(jp_machine_guess(kernels->mask) == kernels &&
		      jp_machine_guess(UINT64_C(0x1ffffffff)) == arm &&
		      jp_machine_guess(UINT32_MAX) == riscv && jp_machine_guess(0x185) == kernels,
	      "a machine is found by its registers: the first one that has them");
}

TEST(machine)
{
	for (size_t i = 0; i < sizeof(walks) / sizeof(*walks); i++)
		test_steps(&walks[i]);
}
