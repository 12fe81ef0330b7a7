/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/code.h"
#include "harness/explain/stack.h"

enum jp_end_kind {
	JP_END_ROOT,     /* dump: complete */
	JP_END_SINGLE,   /* chain: only the sampled address is valid */
	JP_END_HERE,     /* chain: the last valid address */
	JP_END_FULL,     /* chain: full */
	JP_END_UNMAPPED, /* @addr, the page, is executed but in no mapping */
	JP_END_CALLER,   /* the same for a caller, and the chain continues with valid addresses */
	JP_END_DUMP,     /* the dump ends at its full size */
	JP_END_EMPTY,    /* the dump ends, or is empty, before its requested size */
	JP_END_NO_CFI,   /* no call frame information */
	JP_END_NO_FILE,  /* no file to read it from */
	JP_END_ODD,      /* the walk fails */
	JP_END_LEAF,     /* no end: where stacks of several frames begin, for comparison */
	JP_END_KINDS,
};

/* The end of one stack. */
struct jp_ending {
	enum jp_end_kind kind; /* JP_END_KINDS: nothing to count */
	uint64_t addr;
	uint64_t next;    /* the following garbage address; 0: none */
	uint64_t nr_next; /* number of addresses from there on */
	bool file;        /* in a file, or the vDSO */
	bool far; /* for UNMAPPED: no frame is known, and they are as far apart as a program and its
		     libraries */
	bool emitted;            /* a frame is a JIT's */
	bool in_jit;             /* the innermost frame is a JIT's */
	bool calls_jit;          /* its caller is a JIT's, too */
	bool circle;             /* for FULL: its end repeats a few addresses of emitted code */
	bool recursion;          /* for FULL: the same, but it continues */
	const char *caller;      /* the file that calls emitted code, or NULL */
	const char *interpreter; /* an interpreter's file with a frame, or NULL */
};
void jp_end_of_chain(struct jp_codes *codes, const struct jp_places_process *process,
		     const struct jp_stack *stack, struct jp_ending *ending);
void jp_end_of_dump(struct jp_codes *codes, const struct jp_places_process *process,
		    const struct jp_stack *stack, struct jp_ending *ending);
/* Finds what the dump beside @chain lacks beyond the chain. Returns false if nothing. */
bool jp_end_of_dump_beside(struct jp_codes *codes, const struct jp_places_process *process,
			   const struct jp_stack *chain, struct jp_ending *ending);
