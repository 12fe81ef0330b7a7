/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Frames that the kernel's frame-pointer rule finds in this process. While the frame record of fp
 * is readable and the machine's rule (jp_arch_accepts_frame()) accepts it, its second word is a
 * return address and its first is the next fp. The kernel faults no pages in, but the used part of
 * a stack is present. */
enum { JP_WALK_MOST = 512 };
struct jp_frame_walk {
	uint64_t addresses[JP_WALK_MOST];
	uint64_t records[JP_WALK_MOST]; /* frame pointer of the record with addresses[i] */
	uint32_t count;
	uint64_t end; /* frame pointer at which the rule ended: unreadable, or beyond the limit */
};
void jp_frame_walk(uint64_t fp, struct jp_frame_walk *walk);
/* Reads the frame record at @fp into @frame. @previous_fp: the frame pointer before @fp; 0: @fp is
 * the first. Returns whether the kernel's rule takes a return address from the record. */
bool jp_frame_read_next(uint64_t fp, uint64_t previous_fp, uintptr_t (*frame)[2]);
/* Reads the frame records at the @count (at most 16) frame pointers @first_record, and removes the
 * signatures of their return addresses. Never faults. Returns the number of readable records before
 * the first unreadable record. */
uint32_t jp_frame_read(const uint64_t *first_record, uintptr_t (*frames)[2], uint32_t count);
