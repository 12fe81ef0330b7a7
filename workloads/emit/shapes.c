// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/shapes.h"

#include <errno.h>
#include <stddef.h>

#include "workloads/emit/arch_code.h"

/* Emits the body of a step: `repeat` times the loop `before` and a call of the next step, then the
 * loop `after`. */
static void emit_body(struct jp_code *code)
{
	uint32_t top, branch;

	jp_arch_begin_body(code);
	top = code->emitted->size;
	jp_arch_emit_loop(code, offsetof(struct jp_path_step, loops_before));
	branch = jp_arch_branch_at_end(code);
	jp_arch_call_next(code);
	jp_arch_end_branch(code, branch);
	jp_arch_repeat(code, 0, top);
	jp_arch_emit_loop(code, offsetof(struct jp_path_step, loops_after));
}

/* Emits the prologue of a frame with a frame pointer and @locals bytes of locals. */
static void emit_prologue(struct jp_code *code, int32_t locals)
{
	jp_arch_emit_landing_pad(code);
	jp_arch_save_fp(code);
	jp_arch_set_fp(code);
	if (locals)
		jp_arch_adjust_sp(code, locals);
}

static void emit_epilogue(struct jp_code *code)
{
	jp_arch_leave(code);
	jp_arch_emit_ret(code);
}

/* Emits an epilogue with an instruction for each step, even where one instruction does both. */
static void emit_slow_epilogue(struct jp_code *code)
{
	jp_arch_reset_sp(code);
	jp_arch_restore_fp(code);
	jp_arch_emit_ret(code);
}

static void emit_fp(struct jp_code *code)
{
	emit_prologue(code, 32);
	emit_body(code);
	emit_epilogue(code);
}

/* If a call does not push the return address, a leaf leaves it in the link register. */
static void emit_leaf(struct jp_code *code)
{
	jp_arch_emit_landing_pad(code);
	jp_arch_emit_loop(code, offsetof(struct jp_path_step, loops_before));
	jp_arch_emit_loop(code, offsetof(struct jp_path_step, loops_after));
	jp_arch_emit_ret(code);
}

/* Returns the bytes of locals of a frame without a frame pointer. With the pushed return address,
 * or else a frame record of 16 bytes, the frame has 64 bytes; on i386, 60. */
static int32_t get_plain_locals(void)
{
	return jp_arch_elf.pushed ? 56 : 48;
}

static void begin_plain_frame(struct jp_code *code)
{
	jp_arch_emit_landing_pad(code);
	jp_arch_push_return(code);
	jp_arch_adjust_sp(code, get_plain_locals());
}

static void emit_no_fp(struct jp_code *code)
{
	begin_plain_frame(code);
	emit_body(code);
	jp_arch_adjust_sp(code, -get_plain_locals());
	jp_arch_pop_return(code);
	jp_arch_emit_ret(code);
}

/* Emits more instructions than a prologue and an epilogue need, as compilers do. */
static void emit_long_prologue(struct jp_code *code)
{
	jp_arch_emit_long_prologue(code);
	emit_body(code);
	jp_arch_emit_long_epilogue(code);
}

static void emit_large(struct jp_code *code)
{
	emit_prologue(code, 3072);
	emit_body(code);
	emit_slow_epilogue(code);
}

static void emit_realign(struct jp_code *code)
{
	emit_prologue(code, 0);
	jp_arch_align_sp(code);
	code->state.align = 6;
	jp_arch_adjust_sp(code, 192);
	emit_body(code);
	emit_slow_epilogue(code);
}

static void emit_hollow(struct jp_code *code)
{
	emit_prologue(code, 128 << 10);
	emit_body(code);
	emit_epilogue(code);
}

static void emit_huge(struct jp_code *code)
{
	emit_prologue(code, 128 << 10);
	jp_arch_touch_pages(code);
	emit_body(code);
	emit_epilogue(code);
}

static void emit_other_bp(struct jp_code *code)
{
	jp_arch_emit_landing_pad(code);
	jp_arch_save_fp(code);
	jp_arch_adjust_sp(code, 48);
	jp_arch_load_word(code, JP_WORD_FP);
	code->state.bp = JP_BP_OTHER;
	emit_body(code);
	jp_arch_adjust_sp(code, -48);
	jp_arch_restore_fp(code);
	jp_arch_emit_ret(code);
	jp_arch_put_word(code, JP_WORD_FP);
}

static void emit_tail(struct jp_code *code)
{
	struct jp_truth_insn within;
	uint32_t branch;

	emit_prologue(code, 32);
	jp_arch_emit_loop(code, offsetof(struct jp_path_step, loops_before));
	branch = jp_arch_branch_at_end(code);
	within = code->state;
	jp_arch_leave(code);
	jp_arch_jump_to_next(code);
	code->state = within;
	jp_arch_end_branch(code, branch);
	jp_arch_emit_loop(code, offsetof(struct jp_path_step, loops_after));
	emit_epilogue(code);
}

static void emit_misled(struct jp_code *code)
{
	begin_plain_frame(code);
	jp_arch_load_word(code, JP_WORD_STORED);
	jp_arch_store_word(code);
	code->state.bp |= JP_INSN_MISLED;
	emit_body(code);
	jp_arch_adjust_sp(code, -get_plain_locals());
	code->state.bp &= ~JP_INSN_MISLED;
	jp_arch_pop_return(code);
	jp_arch_emit_ret(code);
	jp_arch_put_word(code, JP_WORD_STORED);
}

/* Emits a function with @locals bytes of locals that runs call() `before` times, then the loop
 * `after`. */
static void emit_calls(struct jp_code *code, int32_t locals, void (*call)(struct jp_code *code))
{
	uint32_t top;

	emit_prologue(code, locals);
	jp_arch_begin_calls(code);
	top = code->emitted->size;
	call(code);
	jp_arch_repeat(code, 24, top);
	jp_arch_emit_loop(code, offsetof(struct jp_path_step, loops_after));
	emit_epilogue(code);
}

/* Each call of getrandom() takes microseconds in the kernel. */
static void emit_syscall(struct jp_code *code)
{
	emit_calls(code, 1104, jp_arch_call_kernel);
}

/* The function's word is the address of clock_gettime(). */
static void emit_clock(struct jp_code *code)
{
	emit_calls(code, 80, jp_arch_call_clock);
	jp_arch_put_word(code, JP_WORD_CALLED);
}

static void (*const shapes[JP_SHAPES])(struct jp_code *code) = {
	[JP_SHAPE_FP] = emit_fp,         [JP_SHAPE_LEAF] = emit_leaf,
	[JP_SHAPE_NO_FP] = emit_no_fp,   [JP_SHAPE_LONG] = emit_long_prologue,
	[JP_SHAPE_LARGE] = emit_large,   [JP_SHAPE_REALIGN] = emit_realign,
	[JP_SHAPE_CLOCK] = emit_clock,   [JP_SHAPE_HUGE] = emit_huge,
	[JP_SHAPE_HOLLOW] = emit_hollow, [JP_SHAPE_OTHER_BP] = emit_other_bp,
	[JP_SHAPE_TAIL] = emit_tail,     [JP_SHAPE_STUB] = jp_arch_emit_stub,
	[JP_SHAPE_MISLED] = emit_misled, [JP_SHAPE_SYSCALL] = emit_syscall,
};

int jp_shape_emit(enum jp_shape shape, unsigned char *out, size_t capacity,
		  struct jp_emitted *emitted)
{
	struct jp_code code = {.out = out, .capacity = capacity, .emitted = emitted};

	emitted->size = 0;
	emitted->word = emitted->saved_at = 0;
	emitted->nr_insns = 0;
	shapes[shape](&code);
	return out && emitted->size > capacity ? -ENOSPC : 0;
}
