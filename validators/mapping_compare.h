/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

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
