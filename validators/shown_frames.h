/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/shown/shown.h"
#include "validators/shown_held.h"

/* The first difference between the frames that a reader shows and those that the file holds. */
struct jp_shown_fault {
	const char *cause;              /* NULL: none */
	uint32_t frame;                 /* index of the frame */
	uint32_t nr_shown, nr_recorded; /* number of frames */
	bool is_unwound; /* true: the frame is from the stack dump; false: the callchain */
};

/* Returns whether @frame shows @addr. Readers show a caller's frame at its return address or at the
 * address before, and perf 6.1 shows addresses relative to their file (results/FINDINGS.md).
 * @caller: @frame is not the innermost frame. @mapping: the mapping of @addr, or NULL. */
bool jp_shown_frame_has_address(const struct jp_shown_frame *frame, uint64_t addr, bool caller,
				const struct jp_mapping *mapping);
/* Compares @count @frames that a reader shows with @held. A reader shows the callchain, the unwound
 * stack dump, or one after the other. */
struct jp_shown_fault jp_shown_compare(struct jp_replay *spaces, const struct jp_held *held,
				       const struct jp_shown_frame *frames, uint32_t count);
