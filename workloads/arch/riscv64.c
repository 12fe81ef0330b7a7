// SPDX-License-Identifier: GPL-2.0-only
#include <asm/ptrace.h>

/* Calling convention of emitted code on riscv64: a0 points to the function's own step. The function
 * preserves s0, and like any function of the ABI it may change ra, the a and the t registers. It
 * changes no other register. A call leaves the return address in ra. A function that makes calls
 * stores ra first, in the word below the canonical frame address, and the frame pointer s0 in the
 * word below ra. After each call it loads ra again, because the kernel takes the first caller from
 * ra. */

/* Registers of load_store.h, and a third for scratch. */
enum {
	ZERO = 0,
	LR = 1,
	STACK = 2,
	FP = 8,
	COUNT = 6,
	VALUE = 7,
	STEP = 10,
	NUMBER = 17,
	TARGET = 28,
	FAR = 29
};
#define ADD_COUNT      0x006383b3 /* add t2, t2, t1 */
#define MULTIPLY_COUNT 0x026383b3 /* mul t2, t2, t1 */
#define XOR_COUNT      0x0063c3b3 /* xor t2, t2, t1 */
#define JUMP           (0x67 | TARGET << 15)
#define SYSTEM_CALL    0x73 /* ecall */
#define TRACED_FP      s0
#include "workloads/arch/load_store.h"

/* RECORD: bytes of a frame record. NEAR: largest number of bytes by which one instruction can move
 * sp. */
enum { RECORD = 16, NEAR = 2032 };

/* Returns an instruction with a destination, a base register and 12 bits of @value. */
static uint32_t encode_immediate(uint32_t opcode, unsigned reg, unsigned base, int32_t value)
{
	return opcode | reg << 7 | base << 15 | (uint32_t)value << 20;
}

/* Returns `addi @reg, @base, @value`. */
static uint32_t encode_add(unsigned reg, unsigned base, int32_t value)
{
	return encode_immediate(0x13, reg, base, value);
}

static void add_value(struct jp_code *code, unsigned reg, unsigned base, int32_t value)
{
	put_insn(code, encode_add(reg, base, value));
}

/* Emits `lui @reg, ...`, and `addi @reg, @reg, ...` if the lower 12 bits are not 0. */
static void move_value(struct jp_code *code, unsigned reg, uint32_t value)
{
	const uint32_t upper = (value + 0x800) & ~0xfffu;

	if (upper)
		put_insn(code, 0x37 | reg << 7 | upper);
	if (value != upper)
		add_value(code, reg, upper ? reg : ZERO, (int32_t)(value - upper));
}

/* Emits code that lowers sp by @by bytes, or raises it if @by is negative. */
void jp_arch_adjust_sp(struct jp_code *code, int32_t by)
{
	if (by >= -NEAR && by <= NEAR) {
		lower_sp(code, encode_add(STACK, STACK, -by), by);
		return;
	}
	move_value(code, FAR, by);
	lower_sp(code, 0x40000033 | STACK << 7 | STACK << 15 | FAR << 20, by); /* sub sp, sp, t4 */
}

/* Emits `ld @reg, @offset(@base)`. */
static void load(struct jp_code *code, unsigned reg, unsigned base, int32_t offset)
{
	put_insn(code, encode_immediate(0x3003, reg, base, offset));
}

/* Emits `sd @reg, @offset(@base)`. */
static void store(struct jp_code *code, unsigned reg, unsigned base, uint32_t offset)
{
	put_insn(code, 0x3023 | (offset & 0x1f) << 7 | base << 15 | reg << 20 |
			       (offset >> 5 & 0x7f) << 25);
}

/* Emits code that pushes @low and @high: it lowers sp before it stores them, because a signal
 * handler overwrites memory below sp. Before that, it writes to their place, because a sample whose
 * sp is in a page that is not present yet has an empty stack dump. */
static void push_pair(struct jp_code *code, unsigned low, unsigned high)
{
	store(code, ZERO, STACK, (uint32_t)-RECORD);
	jp_arch_adjust_sp(code, RECORD);
	store(code, high, STACK, 8);
	store(code, low, STACK, 0);
}

static void pop_pair(struct jp_code *code, unsigned low, unsigned high)
{
	load(code, high, STACK, 8);
	load(code, low, STACK, 0);
	if (low == FP)
		code->state.bp = JP_BP_CALLER;
	jp_arch_adjust_sp(code, -RECORD);
}

static void count_down(struct jp_code *code)
{
	add_value(code, COUNT, COUNT, -1);
}

/* Returns the instruction that compares @reg with 0 and branches over @distance bytes. */
static uint32_t encode_branch(uint32_t opcode, unsigned reg, uint32_t distance)
{
	return opcode | reg << 15 | (distance >> 11 & 1) << 7 | (distance >> 1 & 0xf) << 8 |
	       (distance >> 5 & 0x3f) << 25 | (distance >> 12 & 1) << 31;
}

/* Emits `bnez COUNT` to offset @target. */
static void branch_back_to(struct jp_code *code, uint32_t target)
{
	put_insn(code, encode_branch(0x1063, COUNT, target - code->emitted->size));
}

void jp_arch_load_word(struct jp_code *code, enum jp_word_use use)
{
	put_insn(code, 0x17 | FAR << 7); /* auipc t4, 0 */
	load(code, word_registers[use], FAR, 0);
	code->loads_word = code->emitted->size;
}

void jp_arch_put_word(struct jp_code *code, enum jp_word_use use)
{
	const uint32_t size = sizeof(uint32_t);
	const int32_t distance = jp_code_append_word(code, 0) + 2 * (int32_t)size;
	const uint32_t insn = encode_immediate(0x3003, word_registers[use], FAR, distance);

	jp_code_patch(code, code->loads_word - size, &insn, size);
}

/* Emits a call of the function whose address is in TARGET, and loads the link register again. */
static void call_target(struct jp_code *code)
{
	const bool has_own_bp = code->state.bp == JP_BP_OWN;

	put_insn(code, encode_immediate(0x67, LR, TARGET, 0));
	code->state.bp |= JP_INSN_RETURN;
	load(code, LR, has_own_bp ? FP : STACK, has_own_bp ? -8 : (int32_t)code->state.pre - 8);
	code->state.bp &= ~JP_INSN_RETURN;
}

void jp_arch_end_branch(struct jp_code *code, uint32_t branch)
{
	const uint32_t insn = encode_branch(0x63, TARGET, code->emitted->size - branch);

	jp_code_patch(code, branch, &insn, sizeof(insn));
}

void jp_arch_emit_ret(struct jp_code *code)
{
	put_insn(code, 0x8067);
}

void jp_arch_emit_landing_pad(struct jp_code *code)
{
}

void jp_arch_save_fp(struct jp_code *code)
{
	push_pair(code, FP, LR);
	code->emitted->saved_at = code->emitted->size;
}

void jp_arch_set_fp(struct jp_code *code)
{
	add_value(code, FP, STACK, RECORD);
	code->state.bp = JP_BP_OWN;
}

void jp_arch_reset_sp(struct jp_code *code)
{
	add_value(code, STACK, FP, -RECORD);
	code->state = (struct jp_truth_insn){.bp = JP_BP_OWN, .pre = RECORD};
}

void jp_arch_restore_fp(struct jp_code *code)
{
	pop_pair(code, FP, LR);
}

void jp_arch_push_return(struct jp_code *code)
{
	push_pair(code, ZERO, LR);
	code->emitted->saved_at = code->emitted->size;
}

void jp_arch_align_sp(struct jp_code *code)
{
	put_insn(code, encode_immediate(0x7013, STACK, STACK, -64)); /* andi sp, sp, -64 */
}

void jp_arch_emit_long_prologue(struct jp_code *code)
{
	add_value(code, VALUE, STACK, -2048); /* as a check of the stack does */
	load(code, COUNT, STEP, 0);
	jp_arch_save_fp(code);
	load(code, VALUE, STEP, 8);
	put_insn(code, ADD_COUNT);
	jp_arch_set_fp(code);
	push_pair(code, 9, 18);
	push_pair(code, 19, 20);
	jp_arch_adjust_sp(code, 48);
}

void jp_arch_emit_long_epilogue(struct jp_code *code)
{
	jp_arch_adjust_sp(code, -48);
	pop_pair(code, 19, 20);
	put_insn(code, ADD_COUNT);
	pop_pair(code, 9, 18);
	jp_arch_restore_fp(code);
	put_insn(code, XOR_COUNT);
	put_insn(code, 0x13); /* nop */
	jp_arch_emit_ret(code);
}

void jp_arch_touch_pages(struct jp_code *code)
{
	uint32_t top;

	move_value(code, COUNT, 32);
	add_value(code, VALUE, STACK, 0);
	move_value(code, FAR, 4096);
	top = code->emitted->size;
	put_insn(code, 0x01d383b3); /* add t2, t2, t4 */
	put_insn(code, 0xfe038fa3); /* sb zero, -1(t2) */
	count_down(code);
	branch_back_to(code, top);
}

const struct jp_arch_elf jp_arch_elf = {.machine = EM_RISCV,
					.flags = EF_RISCV_FLOAT_ABI_DOUBLE,
					.sp = STACK,
					.bp = FP,
					.return_address = LR,
					.fp_above = RECORD,
					.zero_ends = true};

/* arch_stack_walk_user() of arch/riscv reads the first frame whatever @fp is, and ends at a later
 * frame pointer that is zero or not aligned: to 8 bytes since v6.10, to 4 before. */
int jp_arch_accepts_frame(uint64_t fp, uint64_t from)
{
	return !from || (fp && fp % 8 == 0);
}

void jp_arch_read_interrupted(const void *ucontext, uint64_t *ip, uint64_t *sp)
{
	const mcontext_t *regs = &((const ucontext_t *)ucontext)->uc_mcontext;

	*ip = regs->__gregs[REG_PC];
	*sp = regs->__gregs[REG_SP];
}

void jp_arch_clear_fp(void *ucontext)
{
	((ucontext_t *)ucontext)->uc_mcontext.__gregs[REG_S0] = 0;
}

asm(".macro begin_frame\n"
    "	addi sp, sp, -16\n"
    "	.cfi_def_cfa_offset 16\n"
    "	sd ra, 8(sp)\n"
    "	.cfi_offset ra, -8\n"
    "	sd s0, 0(sp)\n"
    "	.cfi_offset s0, -16\n"
    "	addi s0, sp, 16\n"
    "	.cfi_def_cfa s0, 0\n"
    ".endm\n"
    ".macro end_frame\n"
    "	.cfi_def_cfa sp, 16\n"
    "	ld ra, 8(sp)\n"
    "	.cfi_restore ra\n"
    "	ld s0, 0(sp)\n"
    "	.cfi_restore s0\n"
    "	addi sp, sp, 16\n"
    "	.cfi_def_cfa_offset 0\n"
    "	ret\n"
    ".endm\n"
    ".pushsection .text\n" JP_ASM_BEGIN(
	    "jp_arch_enter") "	beqz a3, 1f\n"
			     "	mv sp, a3\n"
			     "1:	addi sp, sp, -16\n"
			     "	sd a0, 0(sp)\n"
			     "	mv t1, a1\n"
			     "	mv a0, a2\n"
			     "	mv a1, sp\n"
			     "	mv a2, s0\n"
			     "	jalr t1\n"
			     "	ld a0, 0(sp)\n"
			     "	ld t3, 0(a0)\n"
			     "	jalr t3\n" JP_ASM_RETURN_LABEL
			     "	addi sp, s0, -16\n" JP_ASM_END("jp_arch_enter") JP_ASM_BEGIN(
				     "jp_arch_call_out") "	ld t1, 8(a0)\n"
							 "	jalr t1\n" JP_ASM_END(
								 "jp_arch_call_out") ".popsection"
										     "\n");
