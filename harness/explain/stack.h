/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/format/perfdata/summary.h"
#include "harness/model/space/replay.h"
#include "harness/model/unwind/unwind.h"

/* The user stack of one sample, valid until the next sample. */
struct jp_stack {
	/* JP_CHAIN: the kernel's callchain. JP_DUMP_CFI: the sample has only a stack dump, which
	 * was walked by call frame information. JP_DUMP: the sample has both; this is its dump,
	 * walked by frame pointers in the emitted code that the callchain shows. */
	enum jp_method method;
	const uint64_t *frames;   /* user addresses, innermost first, with garbage that looks like a
				     context marker */
	uint64_t count;           /* 0: no user stack */
	enum jp_unwind_stop stop; /* why the walk ended; JP_UNWIND_NO_DATA for a chain: the
				     recording requested only the sampled address */
	uint64_t where;           /* where the walk ended, as in struct jp_unwound */
	uint64_t informed; /* number of frames by call frame information, if the walk then went on
			      by frame pointers, as perf does; else 0 */
	bool loses_sp; /* with @informed: perf walks with libunwind, which does not find the stack
			  pointer of the caller by a frame pointer */
	bool switched; /* then the frame pointer leads to another stack */
	/* For JP_CHAIN: the walk of the same sample's stack dump. For JP_DUMP_CFI: a walk by frame
	 * pointers, if call frame information ends or no mapping is known. NULL: no other walk. */
	const struct jp_stack *other;
};

struct jp_stacks;
/* Returns new state, or NULL if out of memory. @elf_dir, @finder: as for jp_unwinder_new().
 * @summary: the recording's, complete before the first sample. */
struct jp_stacks *jp_stacks_new(const char *elf_dir, struct jp_file_finder *finder,
				const struct jp_perfdata_summary *summary);
void jp_stacks_free(struct jp_stacks *stacks);
/* Stores in @stack the user stack of @sample: its callchain, else a walk of its stack dump, else
 * only the sampled address. */
void jp_stacks_read(struct jp_stacks *stacks, struct jp_replay *spaces,
		    const struct jp_event *sample, struct jp_stack *stack);
