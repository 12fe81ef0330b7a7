/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/types.h>

#include "harness/format/shown/shown.h"

/* The number of samples of a thread in a function, by a reader's samples and by its shares. */
struct jp_share_sums {
	uint32_t tid;
	const char *name;
	uint64_t samples, share;
};

/* Adds up the samples and the shares of @shown by thread and name of the function in user space.
 * Stores a new array in *@sums, which the caller frees. Returns its length, or -ENOMEM. */
ssize_t jp_shown_sum_shares(const struct jp_shown *shown, struct jp_share_sums **sums);
