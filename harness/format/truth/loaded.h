/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/map.h"

/* A range of addresses: [@start, @end). */
struct jp_loaded_range {
	uint64_t start, end;
};

/* Addresses at which any process of a workload has placed code so far, read from the truth file
 * while the workload still writes it. Unloaded code stays included. All zero: empty. */
struct jp_truth_loaded {
	struct jp_loaded_range *ranges; /* sorted, separated by gaps */
	size_t count, capacity;
	struct jp_map sizes; /* function id -> uint64_t, bytes of its code */
	uint64_t settled;    /* all slots with a lower index were read */
};

/* Reads the records added to the truth file @fd since the last call. A missing file (@fd -1) or a
 * file without a header counts as empty. Returns 0 or -ENOMEM. */
int jp_truth_loaded_read(struct jp_truth_loaded *ranges, int fd);
/* Returns whether @addr lies in code that is or was loaded. */
bool jp_truth_loaded_contains(const struct jp_truth_loaded *ranges, uint64_t addr);
void jp_truth_loaded_free(struct jp_truth_loaded *ranges);
