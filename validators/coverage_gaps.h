/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/spans.h"

/* Ranges of time and addresses in which a process has no executable memory: the gaps between its
 * spans. Searching gaps is fast: it does not walk a chain of adjacent spans. */
struct jp_gaps {
	uint64_t *starts; /* first address of each box */
	size_t count, capacity;
	struct jp_boxes boxes;
};

/* Computes the gaps of @spans. Each span begins @slack ns before its open_before. Returns 0 or
 * -ENOMEM; free @gaps in both cases. */
int jp_gaps_compute(const struct jp_spans *spans, uint64_t slack, struct jp_gaps *gaps);
/* Returns the first address of [@start, @end) in no span of @pid at @time, or @end. @pid must have
 * spans. */
uint64_t jp_gaps_find_first(const struct jp_gaps *gaps, uint32_t pid, uint64_t start, uint64_t end,
			    uint64_t time);
void jp_gaps_free(struct jp_gaps *gaps);
