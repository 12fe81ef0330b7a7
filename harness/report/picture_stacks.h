/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/text_pool.h"

/* Largest number of frames of a stack that is shown. */
enum { JP_PICTURE_FRAMES = 256 };

/* A stack: its innermost frame, and the stack of its callers. A pool of stacks begins with the
 * empty stack, number 0. A stack has a higher number than the stack of its callers. */
struct jp_picture_frame {
	uint32_t callers, name; /* numbers of a stack and a string */
};

/* State of copying the stacks that are still needed into a new pool. */
struct jp_stack_move {
	struct jp_text_pool new_pool;
	const struct jp_text **old_stacks; /* old stacks, indexed by number */
	uint32_t *new_numbers;             /* new numbers, by old number; 0: not moved, or empty */
};

/* Begins to move stacks of @pool. Returns 0 or -ENOMEM; call jp_stack_move_end() in both cases. */
int jp_stack_move_begin(struct jp_stack_move *move, const struct jp_text_pool *pool);
/* Moves the stack *@number with its callers, and stores its new number. Returns 0 or -ENOMEM. */
int jp_stack_move(struct jp_stack_move *move, size_t *number);
/* Frees the content of @pool, and stores the moved stacks in it. */
void jp_stack_move_end(struct jp_stack_move *move, struct jp_text_pool *pool);
