// SPDX-License-Identifier: GPL-2.0-only
#include <sys/user.h>

/* Calling convention of emitted code on arm64: x0 points to the function's own step. The function
 * preserves x29, and like any function of the AAPCS it may change x0 to x18. It changes no other
 * register. A call leaves the return address in x30. A function that makes calls stores x30 first,
 * in the word below the canonical frame address, and the frame pointer in the word below x30. */

/* Registers of load_store.h. Code jumps to a landing pad through TARGET. Number 31 is zero or sp,
 * depending on the instruction. */
enum {
	STEP = 0,
	NUMBER = 8,
	COUNT = 9,
	VALUE = 10,
	TARGET = 16,
	FP = 29,
	LR = 30,
	ZERO = 31,
	STACK = 31
};
#define ADD_COUNT      0x8b09014a /* add x10, x10, x9 */
#define MULTIPLY_COUNT 0x9b097d4a /* mul x10, x10, x9 */
#define XOR_COUNT      0xca09014a /* eor x10, x10, x9 */
#define JUMP           0xd61f0200 /* br x16 */
#define SYSTEM_CALL    0xd4000001 /* svc 0 */
#define TRACED_FP      regs[FP]
#include "workloads/arch/load_store.h"

/* Emits the first instruction of a function. In memory with PROT_BTI, calls through a register may
 * reach only this instruction and paciasp. */
void jp_arch_emit_landing_pad(struct jp_code *code)
{
	put_insn(code, 0xd503245f); /* bti c */
}

/* Emits `sub sp, sp, @by`, or `add sp, sp, -@by` if @by is negative. The immediate has 12 bits, and
 * can be shifted by 12. */
void jp_arch_adjust_sp(struct jp_code *code, int32_t by)
{
	uint32_t amount = by < 0 ? -by : by, shifted = amount > 0xfff;

	lower_sp(code,
		 (by < 0 ? 0x910003ff : 0xd10003ff) | shifted << 22 |
			 amount >> (12 * shifted) << 10,
		 by);
}

/* Emits `stp @low, @high, [sp, -16]!`. */
static void push_pair(struct jp_code *code, unsigned low, unsigned high)
{
	lower_sp(code, 0xa9bf03e0 | high << 10 | low, 16);
}

/* Emits `ldp @low, @high, [sp], 16`. */
static void pop_pair(struct jp_code *code, unsigned low, unsigned high)
{
	lower_sp(code, 0xa8c103e0 | high << 10 | low, -16);
}

/* Emits `ldr @reg, [@base, @offset]`. */
static void load(struct jp_code *code, unsigned reg, unsigned base, int32_t offset)
{
	put_insn(code, 0xf9400000 | (uint32_t)offset / 8 << 10 | base << 5 | reg);
}

/* Emits `str @reg, [@base, @offset]`. */
static void store(struct jp_code *code, unsigned reg, unsigned base, uint32_t offset)
{
	put_insn(code, 0xf9000000 | offset / 8 << 10 | base << 5 | reg);
}

static void move_value(struct jp_code *code, unsigned reg, uint32_t value)
{
	put_insn(code, 0xd2800000 | value << 5 | reg);
}

/* Emits `add @reg, @base, @value`, where register 31 is sp. */
static void add_value(struct jp_code *code, unsigned reg, unsigned base, int32_t value)
{
	put_insn(code, 0x91000000 | (uint32_t)value << 10 | base << 5 | reg);
}

static void count_down(struct jp_code *code)
{
	put_insn(code, 0xf1000400 | COUNT << 5 | COUNT); /* subs x9, x9, 1 */
}

/* Encodes @distance, in bytes, for the instructions that have a field of 19 bits for it. */
static uint32_t encode_distance(int32_t distance)
{
	return ((uint32_t)(distance / 4) & 0x7ffff) << 5;
}

/* Emits `b.ne` to offset @target. */
static void branch_back_to(struct jp_code *code, uint32_t target)
{
	put_insn(code, 0x54000001 | encode_distance((int32_t)(target - code->emitted->size)));
}

/* Reserves an instruction to load the function's word, which jp_arch_put_word() writes. */
void jp_arch_load_word(struct jp_code *code, enum jp_word_use use)
{
	put_insn(code, 0);
	code->loads_word = code->emitted->size;
}

/* Makes the reserved instruction `ldr`. */
void jp_arch_put_word(struct jp_code *code, enum jp_word_use use)
{
	const int32_t distance = jp_code_append_word(code, 0);
	const uint32_t size = sizeof(uint32_t), insn = 0x58000000 |
						       encode_distance(distance + (int32_t)size) |
						       word_registers[use];

	jp_code_patch(code, code->loads_word - size, &insn, size);
}

static void call_target(struct jp_code *code)
{
	put_insn(code, 0xd63f0000 | TARGET << 5);
	code->state.bp |= JP_INSN_RETURN;
}

void jp_arch_end_branch(struct jp_code *code, uint32_t branch)
{
	const uint32_t insn =
		0xb4000000 | encode_distance((int32_t)(code->emitted->size - branch)) | TARGET;

	jp_code_patch(code, branch, &insn, sizeof(insn));
}

void jp_arch_emit_ret(struct jp_code *code)
{
	put_insn(code, 0xd65f03c0);
}

void jp_arch_save_fp(struct jp_code *code)
{
	push_pair(code, FP, LR);
}

void jp_arch_set_fp(struct jp_code *code)
{
	add_value(code, FP, STACK, 0); /* mov x29, sp */
	code->state.bp |= JP_BP_OWN;
}

void jp_arch_reset_sp(struct jp_code *code)
{
	add_value(code, STACK, FP, 0); /* mov sp, x29 */
	code->state = (struct jp_truth_insn){.bp = JP_BP_OWN, .pre = 16};
}

void jp_arch_restore_fp(struct jp_code *code)
{
	pop_pair(code, FP, LR);
	code->state = (struct jp_truth_insn){.bp = JP_BP_CALLER};
}

void jp_arch_push_return(struct jp_code *code)
{
	push_pair(code, ZERO, LR);
}

void jp_arch_align_sp(struct jp_code *code)
{
	add_value(code, COUNT, STACK, 0); /* mov x9, sp */
	put_insn(code, 0x927ae53f);       /* and sp, x9, -64 */
}

/* Signs the return address: without signatures, paciasp and autiasp do nothing. */
void jp_arch_emit_long_prologue(struct jp_code *code)
{
	put_insn(code, 0xd503233f); /* paciasp also serves as a landing pad */
	code->state.bp |= JP_INSN_SIGNED;
	add_value(code, VALUE, STACK, 0);
	put_insn(code, 0xf13f814b); /* subs x11, x10, 4064: as a check of the stack does */
	load(code, COUNT, STEP, 0);
	jp_arch_save_fp(code);
	load(code, VALUE, STEP, 8);
	put_insn(code, ADD_COUNT);
	jp_arch_set_fp(code);
	push_pair(code, 19, 20);
	push_pair(code, 21, 22);
	jp_arch_adjust_sp(code, 48);
}

void jp_arch_emit_long_epilogue(struct jp_code *code)
{
	jp_arch_adjust_sp(code, -48);
	pop_pair(code, 21, 22);
	put_insn(code, ADD_COUNT);
	pop_pair(code, 19, 20);
	jp_arch_restore_fp(code);
	code->state.bp |= JP_INSN_SIGNED;
	put_insn(code, XOR_COUNT);
	put_insn(code, 0xd50323bf); /* autiasp */
	code->state.bp &= ~JP_INSN_SIGNED;
	put_insn(code, 0xd503201f); /* nop */
	jp_arch_emit_ret(code);
}

void jp_arch_touch_pages(struct jp_code *code)
{
	uint32_t top;

	move_value(code, COUNT, 32);
	add_value(code, 11, STACK, 0); /* mov x11, sp */
	top = code->emitted->size;
	put_insn(code, 0x9140056b); /* add x11, x11, 1, lsl 12 */
	put_insn(code, 0x381ff17f); /* sturb wzr, [x11, -1] */
	count_down(code);
	branch_back_to(code, top);
}

const struct jp_arch_elf jp_arch_elf = {.machine = EM_AARCH64,
					.sp = STACK,
					.bp = FP,
					.return_address = LR,
					.signature = UINT64_C(0x7f) << 48};

/* The walk of perf_callchain_user() of arch/arm64 ends at a frame pointer that is zero, is not
 * aligned to 8 bytes, or does not lead upwards. */
int jp_arch_accepts_frame(uint64_t fp, uint64_t from)
{
	return fp && fp % 8 == 0 && fp > from;
}

void jp_arch_read_interrupted(const void *ucontext, uint64_t *ip, uint64_t *sp)
{
	const mcontext_t *regs = &((const ucontext_t *)ucontext)->uc_mcontext;

	*ip = regs->pc;
	*sp = regs->sp;
}

void jp_arch_clear_fp(void *ucontext)
{
	((ucontext_t *)ucontext)->uc_mcontext.regs[FP] = 0;
}

/* The second copy of x0 only aligns the stack. */
asm(".macro begin_frame\n"
    "	stp x29, x30, [sp, -16]!\n"
    "	.cfi_def_cfa_offset 16\n"
    "	.cfi_offset x29, -16\n"
    "	.cfi_offset x30, -8\n"
    "	mov x29, sp\n"
    "	.cfi_def_cfa_register x29\n"
    ".endm\n"
    ".macro end_frame\n"
    "	ldp x29, x30, [sp], 16\n"
    "	.cfi_def_cfa sp, 0\n"
    "	.cfi_restore x29\n"
    "	.cfi_restore x30\n"
    "	ret\n"
    ".endm\n"
    ".pushsection .text\n" JP_ASM_BEGIN(
	    "jp_arch_enter") "	cbz x3, 1f\n"
			     "	mov sp, x3\n"
			     "1:	stp x0, x0, [sp, -16]!\n"
			     "	mov x9, x1\n"
			     "	mov x0, x2\n"
			     "	mov x1, sp\n"
			     "	mov x2, x29\n"
			     "	blr x9\n"
			     "	ldr x0, [sp]\n"
			     "	ldr x16, [x0]\n"
			     "	blr x16\n" JP_ASM_RETURN_LABEL
			     "	mov sp, x29\n" JP_ASM_END("jp_arch_enter") JP_ASM_BEGIN(
				     "jp_arch_call_out") "	ldr x9, [x0, 8]\n"
							 "	blr x9\n" JP_ASM_END(
								 "jp_arch_call_out") ".popsection"
										     "\n");
