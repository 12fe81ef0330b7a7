// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <string.h>

#include "harness/model/machine/machine.h"
#include "harness/selftest/support/check.h"

enum { STACK = 0x7000, FP = 29, SP = 31, PC = 32 };

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
	const uint64_t signature = UINT64_C(0x2a) << 48;
	uint64_t words[4] = {STACK + 16, 0xaaaa1234 | signature, 0, 0xaaaa5678};
	struct jp_regs regs = {.machine = machine,
			       .known = (UINT64_C(1) << 33) - 1,
			       .r = {[FP] = STACK, [SP] = STACK}};

	check(machine->frames->step(&regs, load_word, words) == JP_FRAME_STEPPED &&
		      regs.r[PC] == 0xaaaa1234 && regs.r[FP] == STACK + 16 &&
		      regs.r[SP] == STACK + 16,
	      "a frame record leads to its caller, without the signature");
	check(!(regs.known >> 30 & 1) && regs.known >> 19 & 1,
	      "a caller keeps x19, and not the link register");
	check(machine->frames->step(&regs, load_word, words) == JP_FRAME_STEPPED &&
		      regs.r[PC] == 0xaaaa5678,
	      "the next record leads to its caller");
	check(machine->frames->step(&regs, load_word, words) == JP_FRAME_END,
	      "a frame pointer of 0 ends the walk");
	regs.r[FP] = STACK + 64;
	check(machine->frames->step(&regs, load_word, words) == JP_FRAME_BEYOND,
	      "a record may be above the dump");
	regs.r[FP] = STACK + 4;
	check(machine->frames->step(&regs, load_word, words) == JP_FRAME_BAD,
	      "an unaligned frame pointer is refused");
}

static void test_instructions(const struct jp_machine_frames *frames)
{
	const uint32_t back = 0x97ffffff, ahead = 0x94000010; /* bl -4, bl 64 */
	int64_t distance = 0;

	check(frames->after_direct_call((const unsigned char *)&back, 4, &distance) &&
		      distance == -8,
	      "a call backwards");
	check(frames->after_direct_call((const unsigned char *)&ahead, 4, &distance) &&
		      distance == 60,
	      "a call forwards");
	check(!frames->after_call((const unsigned char *)&ahead, 3), "half an instruction");
	check(calls(frames, 0xd63f0200) && calls(frames, 0xd63f0a1f) && calls(frames, 0xd73f0e01),
	      "calls through registers: blr, blraaz, blrab");
	check(!calls(frames, 0x14000010) && !calls(frames, 0xd61f0200) &&
		      !calls(frames, 0xd65f03c0),
	      "b, br and ret are no calls");
	check(returns(frames, 0xd65f03c0) && returns(frames, 0xd65f0bff) &&
		      returns(frames, 0xd65f0fff),
	      "ret, retaa and retab return");
	check(!returns(frames, 0xd61f0200) && !returns(frames, 0xd503201f), "br and nop do not");
}

int main(void)
{
	const struct jp_machine *machine = jp_machine_find(EM_AARCH64);

	check(machine && jp_machine_named("aarch64") == machine &&
		      jp_machine_guess(UINT64_C(0x1ffffffff)) == machine &&
		      jp_machine_guess(0xff0fff) == jp_machine_find(EM_X86_64),
	      "the machine is found by its number, its name and its registers");
	test_steps(machine);
	test_instructions(machine->frames);
	return check_done();
}
