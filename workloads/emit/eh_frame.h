/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/arch.h"

/* Bytes that suffice for every emitted function. */
enum { JP_EH_FRAME_MOST = 8192 };

/*
 * Writes .eh_frame (one CIE, one FDE, end) and .eh_frame_hdr of a function to @out, exact at each
 * instruction of @emitted. Their addresses are valid where perf places them: after the code, whose
 * end is rounded up to 8. Stores the size of .eh_frame_hdr in *@hdr_size. Returns the size of both,
 * -ENOSPC, or -ENOTSUP if a layout has no room for the address of the frame.
 */
int jp_eh_frame(const struct jp_emitted *emitted, unsigned char *out, size_t capacity,
		size_t *hdr_size);
