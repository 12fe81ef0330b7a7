// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>

#include "harness/base/load.h"
#include "harness/base/registry.h"
#include "harness/model/machine/machine.h"

/* Register numbers of DWARF are those of the ISA: x0 to x31, with the stack pointer x2 and the
 * frame pointer x8. DWARF has no number for the pc. It gets 32 here, which is a floating-point
 * register in DWARF that no function preserves. */
enum { SP = 2, FP = 8, IP = 32 };
/* Mask of the callee-saved registers: x8, x9, and x18 to x27. */
enum { SAVED = 3 << 8 | 0x3ff << 18 };
enum { RECORD = 16 }; /* bytes of a frame record */
/* Largest number of bytes that the kernel has loaded but not stored yet when its copy of a stack
 * meets an absent page (arch/riscv/lib/uaccess.S, from v5.14 on). */
enum { UNDUMPED = 56 };

enum { SHORT_SIZE = 2, INSN_SIZE = 4 };

static uint16_t read_short_insn(const unsigned char *code)
{
	return (uint16_t)(code[0] | code[1] << 8);
}

/* Returns the distance of a jal: bits 20, 10 to 1, 11, and 19 to 12. */
static int32_t decode_jal(uint32_t insn)
{
	return (int32_t)(insn & 0x80000000) >> 11 | (int32_t)(insn & 0xff000) |
	       (int32_t)(insn >> 9 & 0x800) | (int32_t)(insn >> 20 & 0x7fe);
}

/* A call beyond 1 MiB is not direct: it computes the address in a register. */
static bool follows_direct_call(const unsigned char *code, uint64_t offset, int64_t *distance)
{
	const uint32_t jal = 0xef, mask = 0xfff;
	uint32_t insn;

	if (offset < INSN_SIZE)
		return false;
	insn = jp_load32(code + offset - INSN_SIZE);
	if ((insn & mask) != jal)
		return false;
	*distance = (int64_t)decode_jal(insn) - INSN_SIZE;
	return true;
}

/* A call through a register may be a compressed c.jalr. */
static bool follows_call(const unsigned char *code, uint64_t offset)
{
	const uint16_t c_jalr = 0x9002, short_mask = 0xf07f, reg = 0xf80;
	const uint32_t jalr = 0xe7, mask = 0x7fff;
	int64_t distance;
	uint16_t insn;

	if (follows_direct_call(code, offset, &distance))
		return true;
	if (offset < SHORT_SIZE)
		return false;
	insn = read_short_insn(code + offset - SHORT_SIZE);
	return ((insn & short_mask) == c_jalr && insn & reg) ||
	       (offset >= INSN_SIZE && (jp_load32(code + offset - INSN_SIZE) & mask) == jalr);
}

static bool returns(const unsigned char *code, uint64_t size)
{
	const uint16_t c_ret = 0x8082;
	const uint32_t ret = 0x8067;

	return (size >= SHORT_SIZE && read_short_insn(code) == c_ret) ||
	       (size >= INSN_SIZE && jp_load32(code) == ret);
}

static const struct jp_machine_frames frames = {
	.return_at = -8,
	.fp = FP,
	.fp_above = RECORD,
	.saved = SAVED,
	/* as in arch_stack_walk_user() of arch/riscv/kernel/stacktrace.c, from 5.15 to 7.3 */
	.link_first = true,
	.undumped = UNDUMPED,
	.follows_call = follows_call,
	.follows_direct_call = follows_direct_call,
	.returns = returns,
};

#define AS4(first) JP_DWARF(first), JP_DWARF(first + 1), JP_DWARF(first + 2), JP_DWARF(first + 3)
/* The registers PERF_REG_RISCV_* in perf's order: pc, and x1 to x31. */
static const struct jp_machine_register registers[] = {
	JP_DWARF(IP), JP_DWARF(1), JP_DWARF(2), JP_DWARF(3), AS4(4),  AS4(8),
	AS4(12),      AS4(16),     AS4(20),     AS4(24),     AS4(28),
};

JP_DEFINE(machine, riscv64) = {
	.name = "riscv64",
	.e_machine = EM_RISCV,
	.registers = registers,
	.nr_registers = sizeof(registers) / sizeof(*registers),
	.ip = IP,
	.sp = SP,
	.mask = UINT32_MAX,
	.frames = &frames,
};
