// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/same_frames.h"

#include <string.h>

uint64_t jp_count_same_frames(struct jp_same_frames *last, uint64_t space, const uint64_t *frames,
			      uint64_t count)
{
	const uint64_t kept = count < JP_SAME_FRAMES ? count : JP_SAME_FRAMES;
	const uint64_t most = last->space != space || !space ? 0
			      : last->count < kept           ? last->count
							     : kept;
	const uint64_t *before = last->frames + JP_SAME_FRAMES;
	uint64_t same = 0;

	while (same < most && *--before == frames[count - 1 - same])
		same++;
	last->space = space;
	last->count = kept;
	if (kept > same)
		memcpy(last->frames + JP_SAME_FRAMES - kept, frames + count - kept,
		       (kept - same) * sizeof(*frames));
	return same;
}
