/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* The outermost frames of the previous stack. Successive stacks share most of their outer frames.
 * Starts as all zero. */
enum { JP_SAME_FRAMES = 1024 };
struct jp_same_frames {
	uint64_t space; /* jp_replay_generation(); 0: none */
	uint64_t count;
	uint64_t frames[JP_SAME_FRAMES]; /* the outermost is last */
};

/* Returns how many of the outermost @frames equal those of the previous call; 0 if @space has
 * changed since. Stores @frames for the next call. @count: number of @frames. */
uint64_t jp_count_same_frames(struct jp_same_frames *last, uint64_t space, const uint64_t *frames,
			      uint64_t count);
