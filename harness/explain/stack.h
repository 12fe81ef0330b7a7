/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/model/space/replay.h"
#include "harness/model/unwind/unwind.h"

/* The user stack of one sample, valid during its visit. */
struct jp_stack {
	/* JP_CHAIN: the kernel's. For a sample with only a dump JP_DUMP_CFI: our walk by call frame
	 * information. Beside a chain JP_DUMP: follows frame pointers in emitted code, which the
	 * chain shows. */
	enum jp_method method;
	const uint64_t *frames; /* user addresses, innermost first, with garbage that looks like a
				   context marker */
	uint64_t count;         /* 0: no user stack */
	enum jp_unwind_stop
		stop; /* why the walk ended; for a chain NO_DATA: only the address was requested */
	uint64_t where; /* where the walk ended, as in struct jp_unwound */
	/* For JP_CHAIN: the result of the dump beside it. For JP_DUMP_CFI: the result of frame
	 * pointers, if call frame information ends or no mapping is known. NULL: none. */
	const struct jp_stack *other;
};

struct jp_stacks;
/* Returns new state, or NULL if out of memory. @elf_dir, @finder: as for jp_unwinder_new(). */
struct jp_stacks *jp_stacks_new(const char *elf_dir, struct jp_file_finder *finder);
void jp_stacks_free(struct jp_stacks *stacks);
/* Stores the user stack of @sample: its callchain, else by its dump, else its own address. */
void jp_stacks_of(struct jp_stacks *stacks, struct jp_replay *spaces, const struct jp_event *sample,
		  struct jp_stack *stack);
