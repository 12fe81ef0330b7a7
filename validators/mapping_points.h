/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/evidence/evidence.h"
#include "harness/model/oracle/executable.h"

/* A time at which the truth contains all executable mappings of a process. */
struct jp_mapping_point {
	uint64_t time;
	uint32_t pid;
	bool mark; /* true: the process read its maps then; false: its watched window began or
		      ended then */
};

struct jp_mapping_points {
	const struct jp_evidence *evidence;
	const struct jp_executables *truth;
	struct jp_mapping_point *list; /* by time */
	size_t count, capacity;
};

/* Fills @points, whose evidence and truth are set. Returns 0, -ENOMEM, or -ENODATA and a message if
 * the truth lacks the maps of a process or the operation that mapped its code. */
int jp_mapping_points_find(struct jp_mapping_points *points, struct jp_error *err);
