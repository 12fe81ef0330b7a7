/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_STACK_LINES_H
#define JP_STACK_LINES_H

#include <stdio.h>

#include "harness/event.h"
#include "harness/unwind.h"

/* What was unwound of one sample. */
struct jp_stack {
	const uint64_t *frames; /* innermost first */
	uint32_t count;
	enum jp_unwind_stop stop;
	uint64_t where; /* jp_unwind()'s: where it stopped; 0: nowhere in particular */
};

/* Writes @sample and its stack as one line of JSON (docs/unwinding.md). Errors stay with @out. */
void jp_stack_line(FILE *out, const struct jp_event *sample, const struct jp_stack *stack);

#endif
