/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/format/event.h"
#include "harness/format/perfdata/machine.h"

/* Reads 8 bytes of the walked stack; false where the dump does not hold them. */
typedef bool (*jp_stack_load)(void *context, uint64_t addr, uint64_t *value);

enum jp_frame_answer {
	JP_FRAME_STEPPED,
	JP_FRAME_BAD,    /* the frame pointer leads nowhere: below sp, unaligned, unknown */
	JP_FRAME_BEYOND, /* it points above what the dump holds */
	JP_FRAME_END,    /* it is zero: so the ABI marks the outermost frame */
};

/* What unwinding and judging must know of an architecture. Registers have DWARF's numbers. */
struct jp_machine_frames {
	uint8_t pushed;   /* bytes of stack that a call takes by itself */
	int8_t return_at; /* where a function that has a frame keeps its return address, from the
			   * stack pointer at its first instruction */
	uint8_t fp;       /* the frame pointer's number */
	uint32_t saved;   /* registers that a called function gives back as they were */
	/* One step by the frame-pointer rule; saved registers stay known. */
	enum jp_frame_answer (*step)(struct jp_regs *regs, jp_stack_load load, void *context);
	/* Whether the @at bytes from @code on may end with a call. */
	bool (*after_call)(const unsigned char *code, uint64_t at);
	/* Whether they may end with a call of a place that is @distance from their end. */
	bool (*after_direct_call)(const unsigned char *code, uint64_t at, int64_t *distance);
	/* Whether the @size bytes of @code begin with a return. */
	bool (*returns)(const unsigned char *code, uint64_t size);
};

/* User instruction and stack pointer of a sample; false where it holds no such registers. A stream
 * of observations holds none: @sp is 0 there. */
bool jp_machine_user(const struct jp_machine *machine, const struct jp_event *sample, uint64_t *ip,
		     uint64_t *sp);
