/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/map.h"
#include "harness/format/event.h"

/* Live records of file mappings that meet. The kernel merges a new mapping with a neighbour that it
 * continues in the same file with the same protection, and its record shows the whole
 * (mmap_region()). So records that meet belong to two opened files, or one of them is invented. */
struct jp_mapping_halves {
	struct jp_map starts, ends; /* by process and address -> struct half */
};

/* Notes @record. *@before: a record that it continues was noted; *@behind: a record that continues
 * it. Returns 0 or -ENOMEM. */
int jp_mapping_halves_note(struct jp_mapping_halves *halves, const struct jp_event *record,
			   bool *before, bool *behind);
void jp_mapping_halves_free(struct jp_mapping_halves *halves);
