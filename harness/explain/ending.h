/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/code.h"
#include "harness/explain/stack.h"

enum jp_end_kind {
	JP_END_ROOT,     /* dump: whole */
	JP_END_SINGLE,   /* chain: nothing but the sampled address is good */
	JP_END_HERE,     /* chain: the last good address */
	JP_END_FULL,     /* chain: as long as a sample stores */
	JP_END_UNMAPPED, /* @addr, of the page, is executed and in no mapping */
	JP_END_CALLER,   /* the same of a caller, and the chain goes on to good addresses */
	JP_END_DUMP,     /* the dump ends, and was as large as was asked for */
	JP_END_EMPTY,    /* the dump ends, or is empty, before what was asked for */
	JP_END_NO_CFI,   /* no call frame information there */
	JP_END_NO_FILE,  /* no file to read it from */
	JP_END_ODD,      /* it leads nowhere */
	JP_END_LEAF,     /* no end: where stacks of more than one frame begin, for comparison */
	JP_END_KINDS,
};

/* How one stack ends. */
struct jp_ending {
	enum jp_end_kind kind; /* JP_END_KINDS: nothing to count */
	uint64_t addr;
	uint64_t next;           /* what follows and is no address of code; 0: nothing */
	bool file;               /* of a file, or the vDSO */
	bool far;                /* of UNMAPPED: no frame is known, and they lie as far apart as a
				  * program and its libraries */
	bool emitted;            /* a frame is a JIT's */
	bool in_jit;             /* the innermost one is */
	bool calls_jit;          /* so is its caller */
	bool circle;             /* of FULL: its end repeats a few addresses of emitted code */
	bool recursion;          /* the same, and it goes on to others */
	const char *interpreter; /* a frame's file that is one, or NULL */
};
void jp_end_of_chain(struct jp_codes *codes, const struct jp_places_process *process,
		     const struct jp_stack *stack, struct jp_ending *ending);
void jp_end_of_dump(struct jp_codes *codes, const struct jp_places_process *process,
		    const struct jp_stack *stack, struct jp_ending *ending);
/* What the dump beside @chain lacks, and the chain does not tell; false: nothing. */
bool jp_end_beside(struct jp_codes *codes, const struct jp_places_process *process,
		   const struct jp_stack *chain, struct jp_ending *ending);
