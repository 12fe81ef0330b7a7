// SPDX-License-Identifier: GPL-2.0-only
/* 32-bit programs of x86, which x86-64 kernels also run. Their samples number registers like
 * x86-64, but their frames have an own layout. */
#include <elf.h>

#include "harness/base/registry.h"
#include "harness/model/machine/x86.h"

/* DWARF's numbers: eax 0, ecx 1, edx 2, ebx 3, esp 4, ebp 5, esi 6, edi 7, eip 8. */
enum { SP = 4, FP = 5, IP = 8 };
enum { SAVED = 1 << 3 | 1 << FP | 1 << 6 | 1 << 7 };

/* A frame is two words: the caller's ebp, and the return address above it. */
static enum jp_frame_answer step(struct jp_regs *regs, jp_stack_load load, void *context)
{
	uint64_t fp = regs->r[FP], caller, ip;

	if (regs->known & 1 << FP && !fp)
		return JP_FRAME_END;
	if (!(regs->known & 1 << FP) || fp < regs->r[SP] || fp % 4)
		return JP_FRAME_BAD;
	if (!load(context, fp, &caller) || !load(context, fp + 4, &ip))
		return JP_FRAME_BEYOND;
	regs->r[FP] = caller;
	regs->r[SP] = fp + 8;
	regs->r[IP] = ip;
	regs->known &= SAVED | 1 << SP | 1 << IP;
	return JP_FRAME_STEPPED;
}

static const struct jp_machine_frames frames = {
	.narrow = true,
	.pushed = 4,
	.fp = FP,
	.saved = SAVED,
	.step = step,
	.after_call = jp_x86_after_call,
	.after_direct_call = jp_x86_after_direct_call,
	.returns = jp_x86_returns,
};

/* The registers PERF_REG_X86_* in perf's order: ax bx cx dx si di bp sp ip, flags and segments (see
 * harness/model/machine/x86_64.c). The code segment has the value of 32-bit code. */
#define AS(dwarf)                                                                                  \
	{                                                                                          \
		.number = dwarf                                                                    \
	}
static const struct jp_machine_register registers[] = {
	AS(0),
	AS(3),
	AS(1),
	AS(2),
	AS(6),
	AS(7),
	AS(FP),
	AS(SP),
	AS(IP),
	{.number = -1, .mask = ~UINT64_C(0x3d7dd7), .value = 0x200},
	{.number = -1, .mask = ~UINT64_C(0xe000), .value = 0x23},
	{.number = -1, .mask = ~UINT64_C(0xe000), .value = 0x2b},
};

static const struct jp_machine i386 = {
	.name = "i386",
	.e_machine = EM_386,
	.registers = registers,
	.nr_registers = sizeof(registers) / sizeof(*registers),
	.ip = IP,
	.sp = SP,
	.kernel = EM_X86_64,
	.frames = &frames,
};
JP_REGISTER(machine, i386);
