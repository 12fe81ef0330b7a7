/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/oracle/executable.h"
#include "harness/model/space/replay.h"

/* Returns what differs at @addr between a capture's mapping and the truth ("protection", "kind",
 * "name", "sharing", "offset", "device", "inode"), or NULL. Attributes that the capture or the
 * truth does not state are not compared. */
const char *jp_mapping_differs(const struct jp_memory *memory, const struct jp_executable *truth,
			       const struct jp_mapping *known, uint64_t addr);
/* Compares a record, which must state all that its type can, as jp_mapping_differs() does. @live:
 * the kernel wrote it at the mapping's time; it was not read from /proc. */
const char *jp_mapping_record_differs(const struct jp_memory *memory,
				      const struct jp_executable *truth,
				      const struct jp_event *record, bool live, uint64_t addr);

/* Returns whether a record's flags, which are those of mmap(), make it shared
 * (harness/format/perfdata/encode.h). */
static inline bool jp_mapping_is_shared(uint32_t flags)
{
	enum { SHARED = 1, SHARING = 3 };

	return (flags & SHARING) == SHARED;
}
