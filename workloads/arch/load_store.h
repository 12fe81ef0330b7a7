/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What arm64 and riscv64 emit alike. The file of the architecture defines first:
 * STEP, COUNT, VALUE, TARGET   registers: the step, the first argument of a call; two for scratch;
 *                              the target of a call or jump
 * FP, LR, ZERO, STACK, NUMBER  the frame pointer, the link register, zero, the stack pointer, the
 *                              number of a system call
 * ADD_COUNT, MULTIPLY_COUNT, XOR_COUNT  instructions that combine VALUE with COUNT
 * JUMP, SYSTEM_CALL            instructions: a jump to TARGET, a system call
 * TRACED_FP                    the frame pointer in a struct user_regs_struct
 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "workloads/emit/arch_code.h"

/* Emits a load of @reg from @offset bytes behind the address in @base, or a store there. */
static void load(struct jp_code *code, unsigned reg, unsigned base, int32_t offset);
static void store(struct jp_code *code, unsigned reg, unsigned base, uint32_t offset);
/* Makes @reg the sum of @base and @value; makes it @value. */
static void add_value(struct jp_code *code, unsigned reg, unsigned base, int32_t value);
static void move_value(struct jp_code *code, unsigned reg, uint32_t value);
/* Removes two words from the stack, @low from the lower address. */
static void pop_pair(struct jp_code *code, unsigned low, unsigned high);
/* Decrements COUNT. */
static void count_down(struct jp_code *code);
/* Branches to offset @target unless COUNT has become 0. */
static void branch_back_to(struct jp_code *code, uint32_t target);
/* Calls the function whose address is in TARGET. Marks the next instruction as its return address,
 * unless it emits that instruction, too. */
static void call_target(struct jp_code *code);

static const uint8_t word_registers[] = {
	[JP_WORD_FP] = FP, [JP_WORD_STORED] = COUNT, [JP_WORD_CALLED] = TARGET};

_Static_assert(offsetof(struct jp_path_step, code) == 0,
	       "the instructions load the next step's code");

static void put_insn(struct jp_code *code, uint32_t insn)
{
	jp_code_append_insn(code, &insn, sizeof(insn));
}

static void lower_sp(struct jp_code *code, uint32_t insn, int32_t by)
{
	jp_code_lower(code, &insn, sizeof(insn), by);
}

void jp_arch_emit_loop(struct jp_code *code, size_t field)
{
	uint32_t top;

	load(code, COUNT, STEP, (int32_t)field);
	top = code->emitted->size;
	put_insn(code, ADD_COUNT);
	put_insn(code, MULTIPLY_COUNT);
	put_insn(code, XOR_COUNT);
	count_down(code);
	branch_back_to(code, top);
}

void jp_arch_store_word(struct jp_code *code)
{
	store(code, COUNT, STACK, 16);
}

void jp_arch_begin_body(struct jp_code *code)
{
	load(code, COUNT, STEP, offsetof(struct jp_path_step, repeat));
	store(code, COUNT, STACK, 0);
	store(code, STEP, STACK, 8);
}

/* Reserves an instruction, which jp_arch_end_branch() makes a branch if TARGET is 0. */
uint32_t jp_arch_branch_at_end(struct jp_code *code)
{
	load(code, TARGET, STEP, sizeof(struct jp_path_step));
	put_insn(code, 0);
	return code->emitted->size - sizeof(uint32_t);
}

/* Calls TARGET, and loads the step's address again from @offset bytes above sp. */
static void call_and_restore_step(struct jp_code *code, int32_t offset)
{
	call_target(code);
	load(code, STEP, STACK, offset);
	code->state.bp &= ~JP_INSN_RETURN;
}

void jp_arch_call_next(struct jp_code *code)
{
	add_value(code, STEP, STEP, sizeof(struct jp_path_step));
	call_and_restore_step(code, 8);
}

void jp_arch_repeat(struct jp_code *code, uint32_t counter_offset, uint32_t top)
{
	load(code, COUNT, STACK, (int32_t)counter_offset);
	count_down(code);
	store(code, COUNT, STACK, counter_offset);
	branch_back_to(code, top);
}

void jp_arch_leave(struct jp_code *code)
{
	jp_arch_reset_sp(code);
	jp_arch_restore_fp(code);
}

void jp_arch_pop_return(struct jp_code *code)
{
	pop_pair(code, COUNT, LR);
}

void jp_arch_jump_to_next(struct jp_code *code)
{
	add_value(code, STEP, STEP, sizeof(struct jp_path_step));
	code->state.bp |= JP_INSN_TAIL;
	put_insn(code, JUMP);
	code->state.bp &= ~JP_INSN_TAIL;
}

/* Emits a stub. A veneer, which arm64's linkers and runtimes put between a branch and a function
 * that is more than 128 MiB away, has the same code. */
void jp_arch_emit_stub(struct jp_code *code)
{
	jp_arch_emit_landing_pad(code);
	load(code, TARGET, STEP, sizeof(struct jp_path_step));
	jp_arch_jump_to_next(code);
}

void jp_arch_begin_calls(struct jp_code *code)
{
	store(code, STEP, STACK, 16);
	load(code, COUNT, STEP, offsetof(struct jp_path_step, loops_before));
	store(code, COUNT, STACK, 24);
}

void jp_arch_call_kernel(struct jp_code *code)
{
	add_value(code, STEP, STACK, 64);
	move_value(code, STEP + 1, 1024);
	move_value(code, STEP + 2, 0);
	move_value(code, NUMBER, 278);
	put_insn(code, SYSTEM_CALL);
	load(code, STEP, STACK, 16);
}

void jp_arch_call_clock(struct jp_code *code)
{
	add_value(code, STEP + 1, STACK, 64);
	move_value(code, STEP, 1);
	jp_arch_load_word(code, JP_WORD_CALLED);
	call_and_restore_step(code, 16);
}

int jp_arch_read_traced(int pid, uint64_t *ip, uint64_t *sp, uint64_t *bp)
{
	struct user_regs_struct regs;
	struct iovec buffer = {&regs, sizeof(regs)};

	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &buffer))
		return -errno;
	*ip = regs.pc;
	*sp = regs.sp;
	*bp = regs.TRACED_FP;
	return 0;
}
