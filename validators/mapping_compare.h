/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/oracle/executable.h"
#include "harness/model/space/replay.h"

/*
 * Whether a byte of a capture's mapping is what the truth has there: both are what they are at
 * @addr. The name of what differs ("protection", "kind", "name", "sharing", "offset", "device",
 * "inode"), or NULL. Nothing is asked of what the capture, or the truth, does not tell.
 */
const char *jp_mapping_differs(const struct jp_memory *memory, const struct jp_executable *truth,
			       const struct jp_mapping *known, uint64_t addr);
/* The same of a record, which must tell all that its kind can. @live: the kernel wrote it when it
 * mapped that; nobody read it in /proc. */
const char *jp_mapping_record_differs(const struct jp_memory *memory,
				      const struct jp_executable *truth,
				      const struct jp_event *record, bool live, uint64_t addr);

/* Of a record's flags, which are those of mmap() (harness/format/perfdata/encode.h). */
static inline bool jp_mapping_is_shared(uint32_t flags)
{
	enum { SHARED = 1, SHARING = 3 };

	return (flags & SHARING) == SHARED;
}
