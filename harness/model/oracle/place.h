/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/machine/machine.h"
#include "harness/model/oracle/oracle.h"

/* Private to harness/model/oracle/: where in its path a thread is, and the walk from there. */

/* The instruction of @layout at @offset, or NULL: every sample lies on the edge of one. */
const struct jp_truth_insn *jp_truth_insn_at(const struct jp_truth_layout *layout, uint64_t offset);
/* Where the call of @code, which makes one, returns to. */
const struct jp_truth_insn *jp_truth_return_insn(const struct jp_truth_code *code);
/* Whether it leaves by a jump to the next function of a path. */
bool jp_truth_leaves(const struct jp_truth_code *code);
/* S of the function that @code leads to, where @entry is its own. */
uint64_t jp_truth_next_entry(const struct jp_machine *machine, const struct jp_truth_code *code,
			     uint64_t entry);
/* Where (@ip, @sp) is in @activation's path, or NULL; *@depth is set. */
const struct jp_truth_insn *jp_truth_place(const struct jp_machine *machine,
					   const struct jp_truth_activation *activation,
					   uint64_t ip, uint64_t sp, uint32_t *depth);
/* The same by what @guess knows, from where it stands, which moves on; its ip is set. */
const struct jp_truth_insn *jp_truth_place_guess(const struct jp_truth_activation *activation,
						 struct jp_truth_guess *guess);
/* Builds both stacks of @insn, at @ip and @depth of @activation, in @stack. False: no memory, or
 * handlers that nest. */
bool jp_truth_walk(const struct jp_truth *truth, const struct jp_truth_activation *activation,
		   uint64_t time, uint64_t ip, uint32_t depth, const struct jp_truth_insn *insn,
		   enum jp_method method, struct jp_truth_stack *stack);
