/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/map.h"
#include "harness/format/event.h"

/*
 * Live records of files' mappings that meet. The kernel merges what it maps with a neighbour that
 * continues it in the same file with the same protection, and its record tells the whole
 * (mmap_region()): so two records that meet are of two opened files, or one of them is made up.
 */
struct jp_mapping_halves {
	struct jp_map starts, ends; /* by process and address -> struct half */
};

/* Notes @record. *@before, *@behind: one that it continues was noted, one that continues it. 0 or
 * -ENOMEM. */
int jp_mapping_halves_note(struct jp_mapping_halves *halves, const struct jp_event *record,
			   bool *before, bool *behind);
void jp_mapping_halves_free(struct jp_mapping_halves *halves);
