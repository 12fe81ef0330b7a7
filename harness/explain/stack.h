/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/model/space/replay.h"
#include "harness/model/unwind/unwind.h"

/* The user stack of one sample, as far as the file tells; it dies with the visit. */
struct jp_stack {
	/* JP_CHAIN: the kernel's; of a sample with a dump alone JP_DUMP_CFI: our walk over that by
	 * call frame information; beside a chain JP_DUMP: which follows frame pointers in emitted
	 * code, of which the chain tells. */
	enum jp_method method;
	const uint64_t *frames;   /* user addresses, innermost first, garbage that looks like a
				   * context marker too */
	uint64_t count;           /* 0: there is no user stack */
	enum jp_unwind_stop stop; /* why the walk ended; of a chain NO_DATA: nobody asked for more
				   * than the address */
	uint64_t where;           /* of the walk's end, as of struct jp_unwound */
	/* Of JP_CHAIN: what the dump gives that is beside it; of JP_DUMP_CFI: what frame pointers
	 * would, where call frame information ends, or no mapping is known. NULL: nothing. */
	const struct jp_stack *other;
};

struct jp_stacks;
/* @elf_dir, @finder: as of jp_unwinder_new(). */
struct jp_stacks *jp_stacks_new(const char *elf_dir, struct jp_file_finder *finder);
void jp_stacks_free(struct jp_stacks *stacks);
/* The user stack of @sample: its callchain, else by its dump, else its own address. */
void jp_stacks_of(struct jp_stacks *stacks, struct jp_replay *spaces, const struct jp_event *sample,
		  struct jp_stack *stack);
