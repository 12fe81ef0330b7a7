/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/map.h"
#include "harness/format/event.h"

/* Live records of adjacent file mappings. The kernel merges a new mapping with an adjacent one of
 * the same open file with the same protection, and records the merged mapping (mmap_region()). So
 * adjacent records belong to two open files, or one of them is wrong. */
struct jp_mapping_halves {
	struct jp_map starts, ends; /* by process and address -> struct half */
};

/* Stores @record. Sets *@touches_start if a stored record ends where @record begins, and
 * *@touches_end if a stored record begins where @record ends. Returns 0 or -ENOMEM. */
int jp_mapping_halves_note(struct jp_mapping_halves *halves, const struct jp_event *record,
			   bool *touches_start, bool *touches_end);
void jp_mapping_halves_free(struct jp_mapping_halves *halves);
