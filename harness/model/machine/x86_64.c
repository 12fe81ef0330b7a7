// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <string.h>

#include "harness/base/registry.h"
#include "harness/model/machine/machine.h"

/* Register numbers of DWARF: rbx 3, rbp 6, rsp 7, r12..r15, rip 16. */
enum { FP = 6, SP = 7, IP = 16 };
enum { SAVED = 1 << 3 | 1 << FP | 0xf << 12 };

/* Returns the number of bytes of an instruction that has one opcode byte, the operand byte @modrm,
 * and the byte @sib after it. */
static unsigned measure_instruction(uint8_t modrm, uint8_t sib)
{
	static const uint8_t displacement[4] = {0, 1, 4, 0};
	unsigned mod = modrm >> 6, rm = modrm & 7, size = 2 + displacement[mod];

	if (mod == 3)
		return size;
	if (rm == 4)
		size += 1 + (mod == 0 && (sib & 7) == 5 ? 4 : 0);
	return size + (mod == 0 && rm == 5 ? 4 : 0);
}

static bool follows_direct_call(const unsigned char *code, uint64_t offset, int64_t *distance)
{
	enum { NEAR = 0xe8, NEAR_SIZE = 5 };
	int32_t relative;

	if (offset < NEAR_SIZE || code[offset - NEAR_SIZE] != NEAR)
		return false;
	memcpy(&relative, code + offset - sizeof(relative), sizeof(relative));
	*distance = relative;
	return true;
}

static bool follows_call(const unsigned char *code, uint64_t offset)
{
	enum { GROUP5 = 0xff, CALL = 2, MOST = 7 };
	int64_t distance;

	if (follows_direct_call(code, offset, &distance))
		return true;
	for (unsigned size = 2; size <= MOST && size <= offset; size++) {
		const unsigned char *insn = code + offset - size;

		if (insn[0] == GROUP5 && (insn[1] >> 3 & 7) == CALL &&
		    measure_instruction(insn[1], size > 2 ? insn[2] : 0) == size)
			return true;
	}
	return false;
}

/* A return may have a BND or REP prefix. */
static bool returns(const unsigned char *code, uint64_t size)
{
	enum { RET = 0xc3, BND = 0xf2, REP = 0xf3 };
	const bool prefixed = size > 1 && (code[0] == BND || code[0] == REP);

	return size > prefixed && code[prefixed] == RET;
}

static bool passes_result(const unsigned char *code, uint64_t size)
{
	/* mov %eax,%edi; call */
	return size >= 3 && memcmp(code, "\x89\xc7\xe8", 3) == 0;
}

/* Recognizes sub, add, and and with the stack pointer as operand; lea into it; enter. A push is
 * recognized by its distance instead. */
static bool allocates(const unsigned char *code, uint64_t size)
{
	enum {
		REX_W = 0x48,
		REX_WRXB = 0x4f,
		ENTER = 0xc8,
		LEA = 0x8d,
		SUB = 0x29,
		SUB_LOAD = 0x2b
	};
	enum { IMMEDIATE_8 = 0x83, IMMEDIATE_32 = 0x81 };

	if (size && code[0] == ENTER)
		return true;
	if (size < 3 || code[0] < REX_W || code[0] > REX_WRXB)
		return false;
	switch (code[1]) {
	case IMMEDIATE_8:
	case IMMEDIATE_32:
		return (code[2] & 7) == 4;
	case SUB:
		return (code[2] & 7) == 4;
	case SUB_LOAD:
	case LEA:
		return (code[2] >> 3 & 7) == 4;
	default:
		return false;
	}
}

static const struct jp_machine_frames frames = {
	.pushed = 8,
	.fp = FP,
	.saved = SAVED,
	.follows_call = follows_call,
	.follows_direct_call = follows_direct_call,
	.returns = returns,
	.passes_result = passes_result,
	.allocates = allocates,
};

/* The registers PERF_REG_X86_* in perf's order: ax bx cx dx si di bp sp ip, flags and segments, r8
 * to r15. In user space interrupts are enabled, and of the reserved flags only bit 1 may be set,
 * which the CPU sets when it returns from an exec. Segments are the 64-bit ones, in which Xen sets
 * three more bits (arch/x86/kernel/process_64.c, arch/x86/include/asm/segment.h,
 * xen/include/public/arch-x86/xen-x86_64.h). */
static const struct jp_machine_register registers[] = {
	JP_DWARF(0),
	JP_DWARF(3),
	JP_DWARF(2),
	JP_DWARF(1),
	JP_DWARF(4),
	JP_DWARF(5),
	JP_DWARF(FP),
	JP_DWARF(SP),
	JP_DWARF(IP),
	{.number = -1, .mask = ~UINT64_C(0x3d7dd7), .value = 0x200},
	{.number = -1, .mask = ~UINT64_C(0xe000), .value = 0x33},
	{.number = -1, .mask = ~UINT64_C(0xe000), .value = 0x2b},
	JP_DWARF(-1),
	JP_DWARF(-1),
	JP_DWARF(-1),
	JP_DWARF(-1),
	JP_DWARF(8),
	JP_DWARF(9),
	JP_DWARF(10),
	JP_DWARF(11),
	JP_DWARF(12),
	JP_DWARF(13),
	JP_DWARF(14),
	JP_DWARF(15),
};

JP_DEFINE(machine, x86_64) = {
	.name = "x86_64",
	.e_machine = EM_X86_64,
	.registers = registers,
	.nr_registers = sizeof(registers) / sizeof(*registers),
	.ip = IP,
	.sp = SP,
	.mask = 0xff0fff, /* all registers that perf requests: not the segments */
	.frames = &frames,
};

/* 32-bit programs, which x86-64 kernels also run. Their samples number registers like x86-64, but
 * their frames have an own layout. DWARF's numbers: eax 0, ecx 1, edx 2, ebx 3, esp 4, ebp 5, esi
 * 6, edi 7, eip 8. */
enum { NARROW_SP = 4, NARROW_FP = 5, NARROW_IP = 8 };
enum { NARROW_SAVED = 1 << 3 | 1 << NARROW_FP | 1 << 6 | 1 << 7 };

static const struct jp_machine_frames narrow_frames = {
	.narrow = true,
	.pushed = 4,
	.fp = NARROW_FP,
	.saved = NARROW_SAVED,
	.follows_call = follows_call,
	.follows_direct_call = follows_direct_call,
	.returns = returns,
};

/* The registers PERF_REG_X86_* in perf's order: ax bx cx dx si di bp sp ip, flags and segments. The
 * code segment has the value of 32-bit code. */
static const struct jp_machine_register narrow_registers[] = {
	JP_DWARF(0),
	JP_DWARF(3),
	JP_DWARF(1),
	JP_DWARF(2),
	JP_DWARF(6),
	JP_DWARF(7),
	JP_DWARF(NARROW_FP),
	JP_DWARF(NARROW_SP),
	JP_DWARF(NARROW_IP),
	{.number = -1, .mask = ~UINT64_C(0x3d7dd7), .value = 0x200},
	{.number = -1, .mask = ~UINT64_C(0xe000), .value = 0x23},
	{.number = -1, .mask = ~UINT64_C(0xe000), .value = 0x2b},
};

JP_DEFINE(machine, i386) = {
	.name = "i386",
	.e_machine = EM_386,
	.registers = narrow_registers,
	.nr_registers = sizeof(narrow_registers) / sizeof(*narrow_registers),
	.ip = NARROW_IP,
	.sp = NARROW_SP,
	.kernel = EM_X86_64,
	.frames = &narrow_frames,
};
