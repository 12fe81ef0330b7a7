// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <string.h>

#include "harness/model/machine/machine.h"
#include "harness/selftest/support/check.h"

enum { STACK = 0x7000, RA = 1, SP = 2, FP = 8, PC = 32 };

static bool load_word(void *context, uint64_t addr, uint64_t *value)
{
	const uint64_t *words = context;

	if (addr < STACK || addr >= STACK + 32)
		return false;
	*value = words[(addr - STACK) / 8];
	return true;
}

static bool calls(const struct jp_machine_frames *frames, uint32_t insn)
{
	return frames->after_call((const unsigned char *)&insn, sizeof(insn));
}

static bool returns(const struct jp_machine_frames *frames, uint32_t insn)
{
	return frames->returns((const unsigned char *)&insn, sizeof(insn));
}

static void test_steps(const struct jp_machine *machine)
{
	uint64_t words[4] = {STACK + 32, 0xaaaa1234, 0, 0xaaaa5678};
	struct jp_regs regs = {.machine = machine,
			       .known = (UINT64_C(1) << 33) - 1,
			       .r = {[FP] = STACK + 16, [SP] = STACK}};

	check(machine->frames->step(&regs, load_word, words) == JP_FRAME_STEPPED &&
		      regs.r[PC] == 0xaaaa1234 && regs.r[FP] == STACK + 32 &&
		      regs.r[SP] == STACK + 16,
	      "the record below the frame pointer leads to its caller");
	check(!(regs.known >> RA & 1) && regs.known >> 9 & 1,
	      "a caller keeps s1, and not the link register");
	check(machine->frames->step(&regs, load_word, words) == JP_FRAME_STEPPED &&
		      regs.r[PC] == 0xaaaa5678,
	      "the next record leads to its caller");
	check(machine->frames->step(&regs, load_word, words) == JP_FRAME_END,
	      "a frame pointer of 0 ends the walk");
	regs.r[FP] = STACK + 64;
	check(machine->frames->step(&regs, load_word, words) == JP_FRAME_BEYOND,
	      "a record may be above the dump");
	regs.r[FP] = STACK + 44;
	check(machine->frames->step(&regs, load_word, words) == JP_FRAME_BAD,
	      "an unaligned frame pointer is refused");
	regs.r[FP] = STACK + 40;
	check(machine->frames->step(&regs, load_word, words) == JP_FRAME_BAD,
	      "a record below the stack pointer is refused");
}

static void test_instructions(const struct jp_machine_frames *frames)
{
	const uint32_t back = 0xffdff0ef, ahead = 0x040000ef; /* jal -4, jal 64 */
	const uint16_t short_call = 0x9302, trap = 0x9002;    /* c.jalr t1, c.ebreak */
	int64_t distance = 0;

	check(frames->after_direct_call((const unsigned char *)&back, 4, &distance) &&
		      distance == -8,
	      "a call backwards");
	check(frames->after_direct_call((const unsigned char *)&ahead, 4, &distance) &&
		      distance == 60,
	      "a call forwards");
	check(!frames->after_call((const unsigned char *)&ahead, 3), "half an instruction");
	check(calls(frames, 0x000300e7) && calls(frames, ahead), "jalr and jal are calls");
	check(frames->after_call((const unsigned char *)&short_call, 2) &&
		      !frames->after_call((const unsigned char *)&trap, 2),
	      "c.jalr is a call, and c.ebreak is not");
	check(!calls(frames, 0x0400006f) && !calls(frames, 0x00030067) && !calls(frames, 0x8067),
	      "j, jr and ret are no calls");
	check(returns(frames, 0x8067) && returns(frames, 0x00018082), "ret and c.ret return");
	check(!returns(frames, 0x00030067) && !returns(frames, 0x13), "jr and nop do not");
}

int main(void)
{
	const struct jp_machine *machine = jp_machine_find(EM_RISCV);

	check(machine && jp_machine_named("riscv64") == machine &&
		      jp_machine_guess(UINT32_MAX) == machine,
	      "the machine is found by its number, its name and its registers");
	check(jp_machine_guess(0x185) == jp_machine_find(EM_X86_64),
	      "registers that x86-64 has too are taken for x86-64's");
	test_steps(machine);
	test_instructions(machine->frames);
	return check_done();
}
