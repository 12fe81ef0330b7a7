/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/evidence/evidence.h"
#include "harness/model/oracle/executable.h"

/* A moment at which the truth knows all executable mappings of a process. */
struct jp_mapping_point {
	uint64_t time;
	uint32_t pid;
	bool mark; /* the process stated them; else: a border of its window */
};

struct jp_mapping_points {
	const struct jp_evidence *evidence;
	const struct jp_executables *truth;
	struct jp_mapping_point *list; /* by time */
	size_t count, capacity;
};

/* Fills @points from its evidence and truth. Returns 0, -ENOMEM, or -ENODATA and a message if a
 * process that ran code stated no maps. */
int jp_mapping_points_find(struct jp_mapping_points *points, struct jp_error *err);
