/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/ends.h"
#include "harness/format/jit/jitdump_read.h"

/* The stacks of one process that end in emitted code for want of call frame information, and those
 * of them for which a jitdump has it. Starts as all zero. */
struct jp_repaired_ends {
	struct jp_repaired_end {
		uint64_t addr, samples;
		bool repaired;
	} * list; /* by address */
	size_t count, capacity;
	bool informed; /* the last record was unwinding information */
};

/* Returns whether @end is of stacks of process @pid that end in emitted code for want of call frame
 * information. */
bool jp_repaired_end_lacks_cfi(const struct jp_end *end, uint32_t pid);
/* Finds the ends of process @pid. Returns 0 or -ENOMEM. */
int jp_repaired_ends_find(struct jp_repaired_ends *ends, const struct jp_ends *all, uint32_t pid);
/* Marks the ends that the next record of a jitdump repairs. */
void jp_repaired_ends_note(struct jp_repaired_ends *ends, const struct jp_jitdump_record *record);
/* Returns the samples of repaired ends. */
uint64_t jp_repaired_ends_count(const struct jp_repaired_ends *ends);
void jp_repaired_ends_free(struct jp_repaired_ends *ends);
