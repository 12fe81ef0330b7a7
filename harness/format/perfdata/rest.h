/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "harness/base/load.h"
#include "harness/format/perfdata/format.h"

/* The unread rest of a record. Sizes that the file states are untrusted and checked against it. */
struct jp_perf_rest {
	unsigned char *pos, *end;
};

static inline bool jp_perf_skip_words(struct jp_perf_rest *remaining_bytes, uint64_t count,
				      uint64_t bytes)
{
	uint64_t remaining = remaining_bytes->end - remaining_bytes->pos;

	if (count > remaining / bytes)
		return false;
	remaining_bytes->pos += count * bytes;
	return true;
}

static inline bool jp_perf_take_word(struct jp_perf_rest *remaining_bytes, uint64_t *value)
{
	if (remaining_bytes->end - remaining_bytes->pos < (ptrdiff_t)sizeof(*value))
		return false;
	*value = jp_load64(remaining_bytes->pos);
	remaining_bytes->pos += sizeof(*value);
	return true;
}

/* Skips the counts of PERF_SAMPLE_READ. */
static inline bool jp_perf_skip_read(struct jp_perf_rest *remaining_bytes, uint64_t format)
{
	unsigned int times =
		!!(format & JP_PERF_FORMAT_TIME_ENABLED) + !!(format & JP_PERF_FORMAT_TIME_RUNNING);
	unsigned int word_size =
		1 + !!(format & JP_PERF_FORMAT_ID) + !!(format & JP_PERF_FORMAT_LOST);
	uint64_t count = 1;

	if ((format & JP_PERF_FORMAT_GROUP) && !jp_perf_take_word(remaining_bytes, &count))
		return false;
	return jp_perf_skip_words(remaining_bytes, times, sizeof(uint64_t)) &&
	       jp_perf_skip_words(remaining_bytes, count, word_size * sizeof(uint64_t));
}

static inline bool jp_perf_skip_branches(struct jp_perf_rest *remaining_bytes, uint64_t type)
{
	uint64_t count;

	if (!jp_perf_take_word(remaining_bytes, &count))
		return false;
	if ((type & JP_PERF_BRANCH_HW_INDEX) &&
	    !jp_perf_skip_words(remaining_bytes, 1, sizeof(uint64_t)))
		return false;
	if (!jp_perf_skip_words(remaining_bytes, count, 3 * sizeof(uint64_t)))
		return false;
	return !(type & JP_PERF_BRANCH_COUNTERS) ||
	       jp_perf_skip_words(remaining_bytes, count, sizeof(uint64_t));
}
