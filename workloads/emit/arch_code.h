/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/code.h"

/* Instructions that each file of workloads/arch/ emits in its own way, for the functions of
 * workloads/emit/shapes.c. A function's argument is the address of its own step. */

/* Emits what must come first in a function that is called through a register, if anything. */
void jp_arch_emit_landing_pad(struct jp_code *code);
void jp_arch_emit_ret(struct jp_code *code);
/* Lowers the stack pointer by @by bytes, or raises it if @by is negative. */
void jp_arch_adjust_sp(struct jp_code *code, int32_t by);
/* Aligns the stack pointer down to 64 bytes. */
void jp_arch_align_sp(struct jp_code *code);
/* Saves the frame pointer where a frame record has it, with the return address if a call does not
 * push that; makes it point to the own record; sets the stack pointer back to the record; restores
 * the caller's. jp_arch_leave() does the last two. */
void jp_arch_save_fp(struct jp_code *code);
void jp_arch_set_fp(struct jp_code *code);
void jp_arch_reset_sp(struct jp_code *code);
void jp_arch_restore_fp(struct jp_code *code);
void jp_arch_leave(struct jp_code *code);
/* Saves the return address where a frame record has it, unless a call pushes it; removes it. */
void jp_arch_push_return(struct jp_code *code);
void jp_arch_pop_return(struct jp_code *code);
/* Emits a loop whose iteration count is in the field of the step at offset @field. An iteration
 * takes several cycles, most of them in a multiplication, so that a timer can hit each of its
 * instructions. */
void jp_arch_emit_loop(struct jp_code *code, size_t field);
/* Stores the step's `repeat` at the stack pointer, and the step's address in the next word. */
void jp_arch_begin_body(struct jp_code *code);
/* Stores the step's address 16 bytes above the stack pointer, and its `before` 24 bytes above. */
void jp_arch_begin_calls(struct jp_code *code);
/* Emits a branch that is taken if there is no next step. Returns its offset, by which
 * jp_arch_end_branch() makes it lead to the end of the code so far. */
uint32_t jp_arch_branch_at_end(struct jp_code *code);
void jp_arch_end_branch(struct jp_code *code, uint32_t branch);
/* Calls the next step's function. Then restores the step's address, as jp_arch_begin_body() stored
 * it. */
void jp_arch_call_next(struct jp_code *code);
void jp_arch_jump_to_next(struct jp_code *code);
/* Decrements the count @counter_offset bytes above the stack pointer, and branches to offset @top
 * unless it is 0 then. */
void jp_arch_repeat(struct jp_code *code, uint32_t counter_offset, uint32_t top);
/* Writes to each of 32 pages above the stack pointer, as compilers do to detect a stack overflow.
 */
void jp_arch_touch_pages(struct jp_code *code);

/* Use of a function's word, which selects the register. */
enum jp_word_use { JP_WORD_FP, JP_WORD_STORED, JP_WORD_CALLED };
/* Loads the function's word, which jp_arch_put_word() appends. */
void jp_arch_load_word(struct jp_code *code, enum jp_word_use use);
void jp_arch_put_word(struct jp_code *code, enum jp_word_use use);
/* Stores the word where misleading call frame information has the return address. */
void jp_arch_store_word(struct jp_code *code);
/* Calls getrandom() for 1 KiB 64 bytes above the stack pointer; clock_gettime(CLOCK_MONOTONIC) for
 * the same place, at the address in the function's word. Both restore the step's address, as
 * jp_arch_begin_calls() stored it. */
void jp_arch_call_kernel(struct jp_code *code);
void jp_arch_call_clock(struct jp_code *code);

/* Emits the prologue of JP_SHAPE_LONG. */
void jp_arch_emit_long_prologue(struct jp_code *code);
void jp_arch_emit_long_epilogue(struct jp_code *code);
void jp_arch_emit_stub(struct jp_code *code);

/* Beginning and end of a function with call frame information, in assembly; "begin_frame" and
 * "end_frame", macros of the machine, make its frame and return. */
#define JP_ASM_BEGIN(name)                                                                         \
	".globl " name "\n.type " name ", @function\n" name ":\n.cfi_startproc\n"                  \
	"begin_frame\n"
#define JP_ASM_END(name) "end_frame\n.cfi_endproc\n.size " name ", . - " name "\n"
/* The label is hidden and has no type, so that symbolizers do not take it for a function. */
#define JP_ASM_RETURN_LABEL                                                                        \
	".globl jp_arch_enter_return\n.hidden jp_arch_enter_return\njp_arch_enter_return:\n"
