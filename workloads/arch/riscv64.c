// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/code.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <asm/ptrace.h>
#include <ucontext.h>

/* Calling convention of emitted code on riscv64: a0 points to the function's own step. The function
 * preserves s0, and like any function of the ABI it may change ra, the a and the t registers. It
 * changes no other register. A call leaves the return address in ra. A function that makes calls
 * stores ra first, in the word below the canonical frame address, and the frame pointer s0 in the
 * word below ra. After each call it loads ra again, because the kernel takes the first caller from
 * ra. */

/* Registers: zero; the link register; the stack pointer; the frame pointer; several for scratch;
 * the step; the target of a jump. */
enum {
	ZERO = 0,
	LR = 1,
	STACK = 2,
	FP = 8,
	COUNT = 6,
	VALUE = 7,
	STEP = 10,
	TARGET = 28,
	FAR = 29
};
/* RECORD: bytes of a frame record. NEAR: largest number of bytes by which one instruction can move
 * sp. */
enum { RECORD = 16, NEAR = 2032 };

static void put_insn(struct jp_code *code, uint32_t insn)
{
	jp_code_insn(code, &insn, sizeof(insn));
}

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

static void lower_sp(struct jp_code *code, uint32_t insn, int32_t by)
{
	jp_code_lower(code, &insn, sizeof(insn), by);
}

/* Emits code that lowers sp by @by bytes, or raises it if @by is negative. */
static void adjust_sp(struct jp_code *code, int32_t by)
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
	adjust_sp(code, RECORD);
	store(code, high, STACK, 8);
	store(code, low, STACK, 0);
}

static void pop_pair(struct jp_code *code, unsigned low, unsigned high)
{
	load(code, high, STACK, 8);
	load(code, low, STACK, 0);
	if (low == FP)
		code->now.bp = JP_BP_CALLER;
	adjust_sp(code, -RECORD);
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

/* Emits room for a branch over later instructions. Returns its offset. */
static uint32_t reserve_branch(struct jp_code *code)
{
	const uint32_t at = code->emitted->size;

	put_insn(code, 0);
	return at;
}

/* Turns the instruction at offset @at into `beqz @reg` to the end of the code so far. */
static void skip_if_zero(struct jp_code *code, uint32_t at, unsigned reg)
{
	const uint32_t insn = encode_branch(0x63, reg, code->emitted->size - at);

	jp_code_patch(code, at, &insn, sizeof(insn));
}

/* Emits a loop whose iteration count is at a0 + @field. An iteration takes several cycles, most of
 * them in the multiplication, so that a timer can hit each of its instructions. */
static void emit_loop(struct jp_code *code, int32_t field)
{
	uint32_t top;

	load(code, COUNT, STEP, field);
	top = code->emitted->size;
	put_insn(code, 0x006383b3); /* add t2, t2, t1 */
	put_insn(code, 0x026383b3); /* mul t2, t2, t1 */
	put_insn(code, 0x0063c3b3); /* xor t2, t2, t1 */
	count_down(code);
	branch_back_to(code, top);
}

/* Emits the load of the function's word into @reg, which put_word() completes. */
static void load_word(struct jp_code *code, unsigned reg)
{
	put_insn(code, 0x17 | FAR << 7); /* auipc t4, 0 */
	load(code, reg, FAR, 0);
	code->loads_word = code->emitted->size;
}

/* Appends the function's word, and completes the instructions that load it into @reg. */
static void put_word(struct jp_code *code, unsigned reg)
{
	const uint32_t size = sizeof(uint32_t);
	const int32_t distance = jp_code_word(code, 0) + 2 * (int32_t)size;
	const uint32_t insn = encode_immediate(0x3003, reg, FAR, distance);

	jp_code_patch(code, code->loads_word - size, &insn, size);
}

/* Emits a call of the function whose address is in @reg, and loads the link register again. */
static void call_register(struct jp_code *code, unsigned reg)
{
	const bool own = code->now.bp == JP_BP_OWN;

	put_insn(code, encode_immediate(0x67, LR, reg, 0));
	code->now.bp |= JP_INSN_RETURN;
	load(code, LR, own ? FP : STACK, own ? -8 : (int32_t)code->now.pre - 8);
	code->now.bp &= ~JP_INSN_RETURN;
}

/* Emits the body of a step: `repeat` times the loop `before` and a call of the next step, then the
 * loop `after`. The remaining repetitions are at [sp], and the step at [sp + 8]. */
static void emit_body(struct jp_code *code)
{
	uint32_t top, skip;

	load(code, COUNT, STEP, offsetof(struct jp_path_step, repeat));
	store(code, COUNT, STACK, 0);
	store(code, STEP, STACK, 8);
	top = code->emitted->size;
	emit_loop(code, offsetof(struct jp_path_step, before));
	load(code, TARGET, STEP, sizeof(struct jp_path_step));
	skip = reserve_branch(code); /* the path ends here */
	add_value(code, STEP, STEP, sizeof(struct jp_path_step));
	call_register(code, TARGET);
	load(code, STEP, STACK, 8);
	skip_if_zero(code, skip, TARGET);
	load(code, COUNT, STACK, 0);
	count_down(code);
	store(code, COUNT, STACK, 0);
	branch_back_to(code, top);
	emit_loop(code, offsetof(struct jp_path_step, after));
}

_Static_assert(offsetof(struct jp_path_step, code) == 0,
	       "emit_body() and jump_to_next() load the next step's code");

static void emit_ret(struct jp_code *code)
{
	put_insn(code, 0x8067);
}

/* Emits code that stores the frame record and makes the frame pointer point above it. */
static void push_record(struct jp_code *code)
{
	push_pair(code, FP, LR);
	code->emitted->saved_at = code->emitted->size;
	add_value(code, FP, STACK, RECORD);
	code->now.bp = JP_BP_OWN;
}

/* Emits the prologue of a frame with a frame pointer and @locals bytes of locals. */
static void emit_prologue(struct jp_code *code, int32_t locals)
{
	push_record(code);
	adjust_sp(code, locals);
}

/* Emits code that removes the locals from the stack, and then the frame record. */
static void emit_leave(struct jp_code *code)
{
	add_value(code, STACK, FP, -RECORD);
	code->now = (struct jp_truth_insn){.bp = JP_BP_OWN, .pre = RECORD};
	pop_pair(code, FP, LR);
}

static void emit_fp(struct jp_code *code)
{
	emit_prologue(code, 32);
	emit_body(code);
	emit_leave(code);
	emit_ret(code);
}

/* A leaf does not store its return address: it is in the link register only. */
static void emit_leaf(struct jp_code *code)
{
	emit_loop(code, offsetof(struct jp_path_step, before));
	emit_loop(code, offsetof(struct jp_path_step, after));
	emit_ret(code);
}

/* Emits code that begins a frame without a frame pointer and stores ra where a frame record would
 * have it. */
static void push_return(struct jp_code *code, int32_t locals)
{
	push_pair(code, ZERO, LR);
	code->emitted->saved_at = code->emitted->size;
	adjust_sp(code, locals);
}

static void pop_return(struct jp_code *code, int32_t locals)
{
	adjust_sp(code, -locals);
	pop_pair(code, COUNT, LR);
	emit_ret(code);
}

static void emit_no_fp(struct jp_code *code)
{
	push_return(code, 48);
	emit_body(code);
	pop_return(code, 48);
}

/* Emits further instructions between those of the prologue and those of the epilogue, as compilers
 * do. */
static void emit_long(struct jp_code *code)
{
	add_value(code, VALUE, STACK, -2048); /* a stack check */
	load(code, COUNT, STEP, 0);
	push_pair(code, FP, LR);
	code->emitted->saved_at = code->emitted->size;
	load(code, VALUE, STEP, 8);
	put_insn(code, 0x006383b3); /* add t2, t2, t1 */
	add_value(code, FP, STACK, RECORD);
	code->now.bp = JP_BP_OWN;
	push_pair(code, 9, 18);
	push_pair(code, 19, 20);
	adjust_sp(code, 48);
	emit_body(code);
	adjust_sp(code, -48);
	pop_pair(code, 19, 20);
	put_insn(code, 0x006383b3); /* add t2, t2, t1 */
	pop_pair(code, 9, 18);
	pop_pair(code, FP, LR);
	put_insn(code, 0x0063c3b3); /* xor t2, t2, t1 */
	put_insn(code, 0x13);       /* nop */
	emit_ret(code);
}

static void emit_large(struct jp_code *code)
{
	emit_prologue(code, 3072);
	emit_body(code);
	emit_leave(code);
	emit_ret(code);
}

static void emit_realign(struct jp_code *code)
{
	push_record(code);
	put_insn(code, encode_immediate(0x7013, STACK, STACK, -64)); /* andi sp, sp, -64 */
	code->now.align = 6;
	adjust_sp(code, 192);
	emit_body(code);
	emit_leave(code);
	emit_ret(code);
}

/* Emits code that writes to each page of the locals, as compilers do to detect a stack overflow. */
static void touch_pages(struct jp_code *code)
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

static void emit_hollow(struct jp_code *code)
{
	emit_prologue(code, 128 << 10);
	emit_body(code);
	emit_leave(code);
	emit_ret(code);
}

static void emit_huge(struct jp_code *code)
{
	emit_prologue(code, 128 << 10);
	touch_pages(code);
	emit_body(code);
	emit_leave(code);
	emit_ret(code);
}

static void emit_other_bp(struct jp_code *code)
{
	push_pair(code, FP, LR);
	code->emitted->saved_at = code->emitted->size;
	adjust_sp(code, 48);
	load_word(code, FP);
	code->now.bp = JP_BP_OTHER;
	emit_body(code);
	adjust_sp(code, -48);
	pop_pair(code, FP, LR);
	emit_ret(code);
	put_word(code, FP);
}

static void jump_to_next(struct jp_code *code)
{
	add_value(code, STEP, STEP, sizeof(struct jp_path_step));
	code->now.bp |= JP_INSN_TAIL;
	put_insn(code, encode_immediate(0x67, ZERO, TARGET, 0));
	code->now.bp &= ~JP_INSN_TAIL;
}

static void emit_tail(struct jp_code *code)
{
	struct jp_truth_insn within;
	uint32_t skip;

	emit_prologue(code, 32);
	emit_loop(code, offsetof(struct jp_path_step, before));
	load(code, TARGET, STEP, sizeof(struct jp_path_step));
	skip = reserve_branch(code);
	within = code->now;
	emit_leave(code);
	jump_to_next(code);
	code->now = within;
	skip_if_zero(code, skip, TARGET);
	emit_loop(code, offsetof(struct jp_path_step, after));
	emit_leave(code);
	emit_ret(code);
}

static void emit_stub(struct jp_code *code)
{
	load(code, TARGET, STEP, sizeof(struct jp_path_step));
	jump_to_next(code);
}

/* The return address is at sp + 56, but call frame information places it at sp + 16. */
static void emit_misled(struct jp_code *code)
{
	push_return(code, 48);
	load_word(code, COUNT);
	store(code, COUNT, STACK, 16);
	code->now.bp |= JP_INSN_MISLED;
	emit_body(code);
	adjust_sp(code, -48);
	code->now.bp &= ~JP_INSN_MISLED;
	pop_pair(code, COUNT, LR);
	emit_ret(code);
	put_word(code, COUNT);
}

/* Emits the beginning of a function that makes `before` calls: a frame of @locals bytes that keeps
 * a0 at sp + 16 and the number of remaining calls at sp + 24. Returns the offset of the loop. */
static uint32_t begin_calls(struct jp_code *code, int32_t locals)
{
	emit_prologue(code, locals);
	store(code, STEP, STACK, 16);
	load(code, COUNT, STEP, offsetof(struct jp_path_step, before));
	store(code, COUNT, STACK, 24);
	return code->emitted->size;
}

static void end_calls(struct jp_code *code, uint32_t top)
{
	load(code, STEP, STACK, 16);
	load(code, COUNT, STACK, 24);
	count_down(code);
	store(code, COUNT, STACK, 24);
	branch_back_to(code, top);
	emit_loop(code, offsetof(struct jp_path_step, after));
	emit_leave(code);
	emit_ret(code);
}

/* Emits `before` calls of getrandom() for 1 KiB. Each call takes microseconds in the kernel. */
static void emit_syscall(struct jp_code *code)
{
	uint32_t top = begin_calls(code, 1104);

	add_value(code, STEP, STACK, 64);
	move_value(code, 11, 1024);
	move_value(code, 12, 0);
	move_value(code, 17, 278);
	put_insn(code, 0x73); /* ecall */
	end_calls(code, top);
}

/* Emits `before` calls of clock_gettime(CLOCK_MONOTONIC, sp + 64). The function's word is the
 * address of clock_gettime(). */
static void emit_clock(struct jp_code *code)
{
	uint32_t top = begin_calls(code, 80);

	add_value(code, 11, STACK, 64);
	move_value(code, STEP, 1);
	load_word(code, TARGET);
	call_register(code, TARGET);
	end_calls(code, top);
	put_word(code, TARGET);
}

void (*const jp_arch_shapes[JP_SHAPES])(struct jp_code *code) = {
	[JP_SHAPE_FP] = emit_fp,         [JP_SHAPE_LEAF] = emit_leaf,
	[JP_SHAPE_NO_FP] = emit_no_fp,   [JP_SHAPE_LONG] = emit_long,
	[JP_SHAPE_LARGE] = emit_large,   [JP_SHAPE_REALIGN] = emit_realign,
	[JP_SHAPE_CLOCK] = emit_clock,   [JP_SHAPE_HUGE] = emit_huge,
	[JP_SHAPE_HOLLOW] = emit_hollow, [JP_SHAPE_OTHER_BP] = emit_other_bp,
	[JP_SHAPE_TAIL] = emit_tail,     [JP_SHAPE_STUB] = emit_stub,
	[JP_SHAPE_MISLED] = emit_misled, [JP_SHAPE_SYSCALL] = emit_syscall,
};

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

int jp_arch_read_traced(int pid, uint64_t *ip, uint64_t *sp, uint64_t *bp)
{
	struct user_regs_struct regs;
	struct iovec to = {&regs, sizeof(regs)};

	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &to))
		return -errno;
	*ip = regs.pc;
	*sp = regs.sp;
	*bp = regs.s0;
	return 0;
}

/* The return label is hidden and has no type, so that symbolizers do not take it for a function. */
asm(".pushsection .text\n"
    ".globl jp_arch_enter\n"
    ".globl jp_arch_enter_return\n"
    ".hidden jp_arch_enter_return\n"
    ".type jp_arch_enter, @function\n"
    "jp_arch_enter:\n"
    "	.cfi_startproc\n"
    "	addi sp, sp, -16\n"
    "	.cfi_def_cfa_offset 16\n"
    "	sd ra, 8(sp)\n"
    "	.cfi_offset ra, -8\n"
    "	sd s0, 0(sp)\n"
    "	.cfi_offset s0, -16\n"
    "	addi s0, sp, 16\n"
    "	.cfi_def_cfa s0, 0\n"
    "	beqz a3, 1f\n"
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
    "	jalr t3\n"
    "jp_arch_enter_return:\n"
    "	addi sp, s0, -16\n"
    "	.cfi_def_cfa sp, 16\n"
    "	ld ra, 8(sp)\n"
    "	.cfi_restore ra\n"
    "	ld s0, 0(sp)\n"
    "	.cfi_restore s0\n"
    "	addi sp, sp, 16\n"
    "	.cfi_def_cfa_offset 0\n"
    "	ret\n"
    "	.cfi_endproc\n"
    ".size jp_arch_enter, . - jp_arch_enter\n"
    ".globl jp_arch_call_out\n"
    ".type jp_arch_call_out, @function\n"
    "jp_arch_call_out:\n"
    "	.cfi_startproc\n"
    "	addi sp, sp, -16\n"
    "	.cfi_def_cfa_offset 16\n"
    "	sd ra, 8(sp)\n"
    "	.cfi_offset ra, -8\n"
    "	sd s0, 0(sp)\n"
    "	.cfi_offset s0, -16\n"
    "	addi s0, sp, 16\n"
    "	.cfi_def_cfa s0, 0\n"
    "	ld t1, 8(a0)\n"
    "	jalr t1\n"
    "	ld ra, 8(sp)\n"
    "	.cfi_restore ra\n"
    "	ld s0, 0(sp)\n"
    "	.cfi_restore s0\n"
    "	.cfi_def_cfa sp, 16\n"
    "	addi sp, sp, 16\n"
    "	.cfi_def_cfa_offset 0\n"
    "	ret\n"
    "	.cfi_endproc\n"
    ".size jp_arch_call_out, . - jp_arch_call_out\n"
    ".popsection\n");
