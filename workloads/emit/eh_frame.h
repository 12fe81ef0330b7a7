/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/arch.h"

/* Room that suffices for any function that is emitted. */
enum { JP_EH_FRAME_MOST = 8192 };

/*
 * Writes .eh_frame (one CIE, one FDE, end) and .eh_frame_hdr of a function to @out: exact at every
 * instruction of @emitted. They count on lying where perf puts them: after the code, its end
 * rounded up to 8. The size of both, or -ENOSPC, or -ENOTSUP where a layout has no place for the
 * frame's address. @hdr_size: of the second.
 */
int jp_eh_frame(const struct jp_emitted *emitted, unsigned char *out, size_t capacity,
		size_t *hdr_size);
