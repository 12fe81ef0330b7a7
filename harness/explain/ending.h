/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/code.h"
#include "harness/explain/stack.h"

enum jp_end_kind {
	JP_END_ROOT,     /* dump: the walk is complete */
	JP_END_SINGLE,   /* chain: only the sampled address is valid */
	JP_END_HERE,     /* chain: ends after this valid address */
	JP_END_FULL,     /* chain: ends at the largest permitted length */
	JP_END_UNMAPPED, /* @addr is executed code, but in no recorded mapping */
	JP_END_CALLER,   /* chain: a caller in no mapping; valid addresses follow it */
	JP_END_DUMP,     /* the walk needs data beyond a stack dump of full size */
	JP_END_EMPTY,    /* the stack dump is empty, or smaller than requested */
	JP_END_NO_CFI,   /* the walk ends at code without call frame information */
	JP_END_NO_FILE,  /* the walk ends in a file that cannot be read */
	JP_END_ODD,      /* the walk fails */
	JP_END_LEAF, /* not an end: the first frame of a stack with several frames, for comparison
		      */
	JP_END_KINDS,
};

/* Where and how one stack ends. */
struct jp_ending {
	enum jp_end_kind kind; /* JP_END_KINDS: the sample does not count */
	uint64_t addr;
	uint64_t next;    /* the garbage address after the end; 0: none */
	uint64_t nr_next; /* number of addresses from @next on */
	bool file;        /* the end is in a file or the vDSO */
	bool far; /* UNMAPPED: no frame is known, and the frames are as far apart as a program and
		     its libraries */
	bool emitted;       /* a frame is in emitted code */
	uint64_t outermost; /* if so, the index of the outermost such frame */
	bool in_jit;        /* the innermost frame is in emitted code */
	bool calls_jit;     /* the innermost frame and its caller are in emitted code */
	bool from_stub;     /* the same, but the caller is HotSpot's call stub */
	bool skips_stub;    /* the innermost frame is in emitted code; the call stub is missing
			       between it and HotSpot */
	bool skips;         /* NO_CFI: the walk goes on by frame pointers and skips a caller */
	bool circle;        /* FULL: the end of the chain repeats a few addresses of emitted code */
	bool recursion;     /* HERE: innermost addresses repeat, and the chain ends regularly */
	const char *caller; /* the file that calls emitted code, or NULL */
	const char *interpreter; /* file of an interpreter that has a frame, or NULL */
};
/* Returns whether @addr is before the trampoline to which functions with a return probe return: in
 * the highest page, for which no record comes (xol_add_vma() in kernel/events/uprobes.c). */
bool jp_is_return_probe(uint64_t addr);
void jp_end_of_chain(struct jp_codes *codes, const struct jp_places_process *process,
		     const struct jp_stack *stack, struct jp_ending *ending);
void jp_end_of_dump(struct jp_codes *codes, const struct jp_places_process *process,
		    const struct jp_stack *stack, struct jp_ending *ending);
/* Stores in @ending where a walk of the stack dump that came with @chain ends too early: from there
 * on it lacks frames that @chain has. Returns false if it lacks no frames. */
bool jp_end_of_dump_beside(struct jp_codes *codes, const struct jp_places_process *process,
			   const struct jp_stack *chain, struct jp_ending *ending);
