// SPDX-License-Identifier: GPL-2.0-only
/* Stacks of 32-bit programs. */
#include <elf.h>
#include <string.h>

#include "harness/model/machine/machine.h"
#include "harness/model/unwind/stack_dump.h"
#include "harness/selftest/support/check.h"

enum { STACK = 0xfffe0000, SP = 4, FP = 5, IP = 8 };

static void test_steps(const struct jp_machine *machine)
{
	const uint32_t words[4] = {STACK + 8, 0xf7001234, 0, 0xf7005678};
	struct jp_stack_dump dump = {.bytes = (const unsigned char *)words,
				     .sp = STACK,
				     .size = sizeof(words),
				     .narrow = true};
	struct jp_regs regs = {
		.machine = machine, .known = 0x1ff, .r = {[SP] = STACK, [FP] = STACK}};

	check(machine->frames->step(&regs, jp_stack_dump_load, &dump) == JP_FRAME_STEPPED &&
		      regs.r[IP] == 0xf7001234 && regs.r[FP] == STACK + 8 &&
		      regs.r[SP] == STACK + 8,
	      "a frame is two words of 4 bytes");
	check(!(regs.known & 7) && regs.known >> 3 & 1, "a caller keeps ebx, and not eax to edx");
	check(machine->frames->step(&regs, jp_stack_dump_load, &dump) == JP_FRAME_STEPPED &&
		      regs.r[IP] == 0xf7005678,
	      "the dump's last word is read");
	check(machine->frames->step(&regs, jp_stack_dump_load, &dump) == JP_FRAME_END,
	      "a frame pointer of 0 ends the walk");
	regs.r[SP] = STACK;
	regs.r[FP] = STACK + 12;
	check(machine->frames->step(&regs, jp_stack_dump_load, &dump) == JP_FRAME_BEYOND &&
		      dump.missed == UINT64_C(0xfffe0010),
	      "a word may be above the dump");
	regs.r[FP] = STACK + 2;
	check(machine->frames->step(&regs, jp_stack_dump_load, &dump) == JP_FRAME_BAD,
	      "an unaligned frame pointer is refused");
}

int main(void)
{
	const struct jp_machine *kernels = jp_machine_named("x86_64");
	const struct jp_machine *machine = kernels ? jp_machine_compat(kernels) : NULL;

	if (check(machine && machine->e_machine == EM_386, "x86-64 kernels run programs of i386"))
		test_steps(machine);
	check(jp_machine_guess(kernels->mask) == kernels,
	      "the registers of a file without features are x86-64's");
	return check_done();
}
