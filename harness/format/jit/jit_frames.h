/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/bytes.h"
#include "harness/format/jit/jit_layout.h"

/* Merges the call frame information of many functions into one .eh_frame and .eh_frame_hdr. Copies
 * records of the kind that runtimes write ("zR", pc-relative in 32 bits) if they pass
 * jp_cfi_check(); @bad counts functions without usable records. */
struct jp_jit_frames {
	struct jp_bytes frame, index;
	struct jp_jit_fde *fdes;
	size_t count, capacity;
	uint64_t nr_bad;
};

/* Adds the call frame records of @function. @addr: address of the new .eh_frame. */
void jp_jit_frames_add(struct jp_jit_frames *frames, const struct jp_jit_function *function,
		       uint64_t addr);
/* Completes .eh_frame, at @addr, and builds .eh_frame_hdr, to be placed at @index_addr. */
void jp_jit_frames_end(struct jp_jit_frames *frames, uint64_t addr, uint64_t index_addr);
void jp_jit_frames_free(struct jp_jit_frames *frames);
