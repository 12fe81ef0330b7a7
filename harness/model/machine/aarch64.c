// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>

#include "harness/base/load.h"
#include "harness/base/registry.h"
#include "harness/model/machine/machine.h"

/* Register numbers of DWARF, which are also perf's: x0 to x28, the frame pointer x29, the link
 * register x30, sp. The next number is perf's pc. */
enum { FP = 29, SP = 31, IP = 32, REGISTERS };
/* Mask of the callee-saved registers: x19 to x28, and the frame pointer. */
enum { SAVED = 0x7ff << 19 };
/* A signed address has its signature in bits 48 to 54: Linux ignores the top byte of user
 * addresses, which have 48 bits unless a program asks for more
 * (arch/arm64/include/asm/pointer_auth.h). */
#define SIGNATURE (UINT64_C(0x7f) << 48)

/* Largest number of bytes that the kernel has loaded but not stored yet when its copy of a stack
 * meets an absent page (arch/arm64/lib/copy_template.S, from v4.3 on). */
enum { UNDUMPED = 48 };

enum { INSN_SIZE = 4 };

static bool follows_direct_call(const unsigned char *code, uint64_t offset, int64_t *distance)
{
	const uint32_t bl = 0x94000000, mask = 0xfc000000;
	uint32_t insn;

	if (offset < INSN_SIZE)
		return false;
	insn = jp_load32(code + offset - INSN_SIZE);
	if ((insn & mask) != bl)
		return false;
	/* 26 signed bits of instructions, from the call on. */
	*distance = (int64_t)((uint64_t)insn << 38) / (INT64_C(1) << 36) - INSN_SIZE;
	return true;
}

/* A call through a register may authenticate the address: blr, blraa(z), blrab(z). */
static bool follows_call(const unsigned char *code, uint64_t offset)
{
	const uint32_t blr = 0xd63f0000, signing = 1 << 24 | 0xfff, mask = 0xfffffc1f;
	int64_t distance;
	uint32_t insn;

	if (follows_direct_call(code, offset, &distance))
		return true;
	if (offset < INSN_SIZE)
		return false;
	insn = jp_load32(code + offset - INSN_SIZE);
	return (insn & mask) == blr || ((insn & ~signing) == blr && (insn & 0x800));
}

/* ret, retaa and retab */
static bool returns(const unsigned char *code, uint64_t size)
{
	const uint32_t ret = 0xd65f0000, register_mask = 0xfffffc1f, retaa = 0xd65f0bff,
		       key = 0x400;
	uint32_t insn;

	if (size < INSN_SIZE)
		return false;
	insn = jp_load32(code);
	return (insn & register_mask) == ret || (insn & ~key) == retaa;
}

static const struct jp_machine_frames frames = {
	.return_at = -8,
	.fp = FP,
	.saved = SAVED,
	.signature = SIGNATURE,
	/* user_backtrace() of arch/arm64/kernel/perf_callchain.c requires that each frame is above
	 * the last one. */
	.upwards = true,
	.undumped = UNDUMPED,
	.follows_call = follows_call,
	.follows_direct_call = follows_direct_call,
	.returns = returns,
};

#define AS8(first)                                                                                 \
	JP_DWARF(first), JP_DWARF(first + 1), JP_DWARF(first + 2), JP_DWARF(first + 3),            \
		JP_DWARF(first + 4), JP_DWARF(first + 5), JP_DWARF(first + 6), JP_DWARF(first + 7)
static const struct jp_machine_register registers[REGISTERS] = {AS8(0), AS8(8), AS8(16), AS8(24),
								JP_DWARF(IP)};

JP_DEFINE(machine, aarch64) = {
	.name = "aarch64",
	.e_machine = EM_AARCH64,
	.registers = registers,
	.nr_registers = REGISTERS,
	.ip = IP,
	.sp = SP,
	.mask = (UINT64_C(1) << REGISTERS) - 1,
	.frames = &frames,
};
