// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>

#include "harness/machine.h"
#include "harness/registry.h"

/* DWARF's numbers: rbx 3, rbp 6, rsp 7, r12..r15, rip 16. */
enum { FP = 6, SP = 7, IP = 16 };
enum { SAVED = 1 << 3 | 1 << FP | 0xf << 12 };

/* A frame is two words: the caller's rbp, and the return address above it. */
static enum jp_frame_answer frame(struct jp_regs *regs, jp_cfi_load load, void *context)
{
	uint64_t fp = regs->r[FP], caller, ip;

	if (!(regs->known & 1 << FP) || fp < regs->r[SP] || fp % 8)
		return JP_FRAME_BAD;
	if (!load(context, fp, &caller) || !load(context, fp + 8, &ip))
		return JP_FRAME_BEYOND;
	regs->r[FP] = caller;
	regs->r[SP] = fp + 16;
	regs->r[IP] = ip;
	regs->known &= SAVED | 1 << SP | 1 << IP;
	return JP_FRAME_STEPPED;
}

static const struct jp_machine x86_64 = {
	.name = "x86-64",
	.elf = 62, /* EM_X86_64 */
	.ip = IP,
	.sp = SP,
	.fp = FP,
	.pushed = 8,
	.saved = SAVED,
	.frame = frame,
};
JP_REGISTER(machine, x86_64);
