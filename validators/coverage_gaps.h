/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/spans.h"

/* Where a process had nothing executable, and when: what its spans leave of all addresses and all
 * times, so that nobody walks the spans that lie side by side. */
struct jp_gaps {
	uint64_t *starts; /* addresses, of each box */
	size_t count, capacity;
	struct jp_boxes boxes;
};

/* Of @spans, each of which counts from @slack before it may have opened. 0 or -ENOMEM; free it in
 * both cases. */
int jp_gaps_of(const struct jp_spans *spans, uint64_t slack, struct jp_gaps *gaps);
/* The first address of [@start, @end) in @pid, which has spans, that is in none of them at @time;
 * @end: there is none. */
uint64_t jp_gaps_first(const struct jp_gaps *gaps, uint32_t pid, uint64_t start, uint64_t end,
		       uint64_t time);
void jp_gaps_free(struct jp_gaps *gaps);
