/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/evidence/evidence.h"
#include "harness/model/oracle/executable.h"

/* A moment at which the truth knows all executable mappings of a process. */
struct jp_mapping_point {
	uint64_t time;
	uint32_t pid;
	bool mark; /* the process told them; else: a border of the time in which it was watched */
};

struct jp_mapping_points {
	const struct jp_evidence *evidence;
	const struct jp_executables *truth;
	struct jp_mapping_point *list; /* by time */
	size_t count, capacity;
};

/* Of @points' evidence and truth. -ENODATA and a message where a process that ran code told none;
 * or -ENOMEM. */
int jp_mapping_points_find(struct jp_mapping_points *points, struct jp_error *err);
