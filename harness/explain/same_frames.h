/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* The outermost frames of the stack before, most of which the next one has, too. All zero to start
 * with. */
enum { JP_SAME_FRAMES = 1024 };
struct jp_same_frames {
	uint64_t space; /* jp_replay_generation(); 0: nobody's */
	uint64_t count;
	uint64_t frames[JP_SAME_FRAMES]; /* the outermost is the last of all */
};

/* How many of the outermost of @count @frames in @space are those of the call before, in the same
 * space. */
uint64_t jp_same_frames(struct jp_same_frames *last, uint64_t space, const uint64_t *frames,
			uint64_t count);
