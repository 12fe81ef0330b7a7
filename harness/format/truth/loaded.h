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

/*
 * Where a workload has put code so far, in any of its processes: read from the truth file while the
 * workload still writes it. Code that was unloaded stays in. All zero is an empty one.
 */
struct jp_truth_loaded {
	struct jp_loaded_range *ranges; /* sorted; none touches another */
	size_t count, capacity;
	struct jp_map sizes; /* function id -> uint64_t, bytes of its code */
	uint64_t settled;    /* all slots below were read */
};

/* Reads what was added to the truth file @fd since the last call. Returns 0, or -ENOMEM. A file
 * that is not there yet (@fd -1, or no header in it) holds nothing. */
int jp_truth_loaded_read(struct jp_truth_loaded *loaded, int fd);
/* Whether code lies, or lay, at @addr. */
bool jp_truth_loaded_at(const struct jp_truth_loaded *loaded, uint64_t addr);
void jp_truth_loaded_free(struct jp_truth_loaded *loaded);
