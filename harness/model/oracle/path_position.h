/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/machine/machine.h"
#include "harness/model/oracle/oracle.h"

/* Private to harness/model/oracle/: finds the position of a thread in its path, and walks the
 * thread's stack. In comments, S of a function is the stack pointer at its entry. */

/* Returns the instruction of @layout that starts at @offset, or NULL. Samples are at instruction
 * starts. */
const struct jp_truth_insn *jp_truth_insn_at(const struct jp_truth_layout *layout, uint64_t offset);
/* Returns the instruction to which the call in @code returns; @code must have a call. */
const struct jp_truth_insn *jp_truth_return_insn(const struct jp_truth_code *code);
/* Returns whether @code jumps, without a call, to the next function of a path. */
bool jp_truth_is_tail_call(const struct jp_truth_code *code);
/* Returns the stack pointer at @insn. @entry: S of its function. */
uint64_t jp_truth_compute_sp(const struct jp_truth_insn *insn, uint64_t entry);
/* Returns S of the next function of the path. @entry: S of @code. */
uint64_t jp_truth_next_entry(const struct jp_machine *machine, const struct jp_truth_code *code,
			     uint64_t entry);
/* Returns the instruction of @activation's path that (@ip, @sp) allows, and stores in *@depth the
 * index of its function, or returns NULL. */
const struct jp_truth_insn *jp_truth_find_place(const struct jp_machine *machine,
						const struct jp_truth_activation *activation,
						uint64_t ip, uint64_t sp, uint32_t *depth);
/* Does the same as jp_truth_find_place() without a stack pointer, for the next position that @guess
 * allows. Advances @guess and sets its ip. */
const struct jp_truth_insn *jp_truth_guess_place(const struct jp_truth_activation *activation,
						 struct jp_truth_guess *guess);
/* Builds the true stack and the stack that the method must find in @stack, for a thread at
 * instruction @insn (address @ip) of function @depth of @activation. Returns false if memory ran
 * out, or if signal handlers nest. */
bool jp_truth_walk(const struct jp_truth *truth, const struct jp_truth_activation *activation,
		   uint64_t time, uint64_t ip, uint32_t depth, const struct jp_truth_insn *insn,
		   enum jp_method method, struct jp_truth_stack *stack);
