/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/evidence/evidence.h"
#include "harness/model/oracle/executable.h"
#include "harness/model/space/replay.h"

/* Returns the attribute in which the capture's mapping @mapping and the truth differ at @addr:
 * "protection", "kind", "name", "sharing", "offset", "device" or "inode"; NULL: they are equal. An
 * attribute that one of the two lacks is not compared. */
const char *jp_mapping_differs(const struct jp_memory *memory, const struct jp_executable *truth,
			       const struct jp_mapping *mapping, uint64_t addr);
/* Compares @record with the truth as jp_mapping_differs() does, in all attributes that a record of
 * its type (MMAP or MMAP2) has. @is_live: the kernel wrote the record when the memory was mapped.
 */
const char *jp_mapping_record_differs(const struct jp_memory *memory,
				      const struct jp_executable *truth,
				      const struct jp_event *record, bool is_live, uint64_t addr);

/* Returns whether the mmap() flags of a record are those of a shared mapping. */
static inline bool jp_mapping_is_shared(uint32_t flags)
{
	enum { SHARED = 1, SHARING = 3 };

	return (flags & SHARING) == SHARED;
}

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
