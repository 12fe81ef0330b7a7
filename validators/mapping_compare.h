/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/oracle/executable.h"
#include "harness/model/space/replay.h"

/* Returns the attribute in which the capture's mapping @known and the truth differ at @addr:
 * "protection", "kind", "name", "sharing", "offset", "device" or "inode", or NULL. Attributes that
 * one of them lacks are not compared. */
const char *jp_mapping_differs(const struct jp_memory *memory, const struct jp_executable *truth,
			       const struct jp_mapping *known, uint64_t addr);
/* Compares @record as jp_mapping_differs() does, with all attributes that its type has. @live: the
 * kernel wrote it when the memory was mapped. */
const char *jp_mapping_record_differs(const struct jp_memory *memory,
				      const struct jp_executable *truth,
				      const struct jp_event *record, bool live, uint64_t addr);

/* Returns whether the mmap() flags of a record are those of a shared mapping. */
static inline bool jp_mapping_is_shared(uint32_t flags)
{
	enum { SHARED = 1, SHARING = 3 };

	return (flags & SHARING) == SHARED;
}
