/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <ucontext.h>

#include "harness/base/own_machine.h"
#include "harness/format/event.h"
#include "harness/format/perfdata/machine.h"

/* Stores the registers of @context, which a signal's handler got or getcontext() filled, in @regs.
 * Inline, since the caller may have to leave its own frame out. */
static inline void own_registers(struct jp_regs *regs, const ucontext_t *context)
{
	const mcontext_t *from = &context->uc_mcontext;

#if defined(__x86_64__)
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		regs->r[i] = from->gregs[order[i]];
	regs->mask = (1 << sizeof(order) / sizeof(*order)) - 1;
#elif defined(__aarch64__)
	for (size_t i = 0; i < 31; i++)
		regs->r[i] = from->regs[i];
	regs->r[31] = from->sp;
	regs->r[32] = from->pc;
	regs->mask = (UINT64_C(1) << 33) - 1;
#elif defined(__riscv)
	for (size_t i = 1; i < 32; i++)
		regs->r[i] = from->__gregs[i];
	regs->r[32] = from->__gregs[REG_PC];
	regs->mask = (UINT64_C(1) << 33) - 1;
#endif
	regs->machine = jp_machine_find(jp_get_own_machine());
}
