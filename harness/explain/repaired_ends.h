/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/ends.h"
#include "harness/format/jit/jitdump_read.h"

/* The places in emitted code of one process where stacks end because call frame information is
 * missing, and whether a jitdump contains that information. Starts as all zero. */
struct jp_repaired_ends {
	struct jp_repaired_end {
		uint64_t addr, samples;
		bool repaired;
	} * list; /* by address */
	size_t count, capacity;
	bool informed; /* unwinding information came before the next load record */
};

/* Returns whether @end lies in emitted code of process @pid and stacks end there because call frame
 * information is missing. */
bool jp_repaired_end_lacks_cfi(const struct jp_end *end, uint32_t pid);
/* Stores in @ends all ends of process @pid for which jp_repaired_end_lacks_cfi() is true. Returns 0
 * or -ENOMEM. */
int jp_repaired_ends_find(struct jp_repaired_ends *ends, const struct jp_ends *all, uint32_t pid);
/* Handles the next record of a jitdump: marks the ends in loaded code for which the dump contains
 * call frame information. */
void jp_repaired_ends_note(struct jp_repaired_ends *ends, const struct jp_jitdump_record *record);
/* Returns the number of samples at ends that were marked. */
uint64_t jp_repaired_ends_count(const struct jp_repaired_ends *ends);
void jp_repaired_ends_free(struct jp_repaired_ends *ends);
