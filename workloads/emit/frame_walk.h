/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/*
 * What the kernel's frame-pointer rule meets in this process: as long as fp can be read, and the
 * machine's rule (jp_arch_follows()) has nothing against it, the word above it is a return address
 * and the word at it the next fp. (The kernel does not fault pages in; what lies on a stack in use
 * is there.)
 */
enum { JP_WALK_MOST = 512 };
struct jp_frame_walk {
	uint64_t addresses[JP_WALK_MOST];
	uint64_t at[JP_WALK_MOST]; /* addresses[i] was found at at[i] + 8 */
	uint32_t count;
	uint64_t end; /* where the rule ended: cannot be read, or one too many */
};
void jp_frame_walk(uint64_t fp, struct jp_frame_walk *walk);
/* Reads the two words of each of up to 16 frames; how many could be read, from the first on. Never
 * faults. */
uint32_t jp_frame_read(const uint64_t *at, uint64_t (*frames)[2], uint32_t count);
