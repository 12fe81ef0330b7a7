// SPDX-License-Identifier: GPL-2.0-only
/* 32-bit programs of x86, which x86-64 kernels also run. Their samples number registers like
 * x86-64, but their frames have an own layout. */
#include <elf.h>

#include "harness/base/registry.h"
#include "harness/model/machine/x86.h"

/* DWARF's numbers: eax 0, ecx 1, edx 2, ebx 3, esp 4, ebp 5, esi 6, edi 7, eip 8. */
enum { SP = 4, FP = 5, IP = 8 };
enum { SAVED = 1 << 3 | 1 << FP | 1 << 6 | 1 << 7 };

static const struct jp_machine_frames frames = {
	.narrow = true,
	.pushed = 4,
	.fp = FP,
	.saved = SAVED,
	.follows_call = jp_x86_follows_call,
	.follows_direct_call = jp_x86_follows_direct_call,
	.returns = jp_x86_returns,
};

/* The registers PERF_REG_X86_* in perf's order: ax bx cx dx si di bp sp ip, flags and segments (see
 * harness/model/machine/x86_64.c). The code segment has the value of 32-bit code. */
static const struct jp_machine_register registers[] = {
	JP_DWARF(0),
	JP_DWARF(3),
	JP_DWARF(1),
	JP_DWARF(2),
	JP_DWARF(6),
	JP_DWARF(7),
	JP_DWARF(FP),
	JP_DWARF(SP),
	JP_DWARF(IP),
	{.number = -1, .mask = ~UINT64_C(0x3d7dd7), .value = 0x200},
	{.number = -1, .mask = ~UINT64_C(0xe000), .value = 0x23},
	{.number = -1, .mask = ~UINT64_C(0xe000), .value = 0x2b},
};

JP_DEFINE(machine, i386) = {
	.name = "i386",
	.e_machine = EM_386,
	.registers = registers,
	.nr_registers = sizeof(registers) / sizeof(*registers),
	.ip = IP,
	.sp = SP,
	.kernel = EM_X86_64,
	.frames = &frames,
};
