/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* Frames that the kernel's frame-pointer rule finds in this process. While fp is readable and the
 * machine's rule (jp_arch_accepts_frame()) accepts it, the word above fp is a return address and
 * the word at fp is the next fp. The kernel faults no pages in, but the used part of a stack is
 * present. */
enum { JP_WALK_MOST = 512 };
struct jp_frame_walk {
	uint64_t addresses[JP_WALK_MOST];
	uint64_t at[JP_WALK_MOST]; /* addresses[i] was read at at[i] + 8 */
	uint32_t count;
	uint64_t end; /* frame pointer at which the rule ended: unreadable, or beyond the limit */
};
void jp_frame_walk(uint64_t fp, struct jp_frame_walk *walk);
/* Reads the two words of each of up to 16 frames, the second without its signature. Never faults.
 * Returns the number of readable frames before the first unreadable frame. */
uint32_t jp_frame_read(const uint64_t *at, uint64_t (*frames)[2], uint32_t count);
