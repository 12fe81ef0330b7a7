// SPDX-License-Identifier: GPL-2.0-only
#include "validators/coverage_gaps.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/model/space/ranges.h"

/* For a range of addresses: the end, in ns, of the last span that covers the range; 0: no span
 * covered it so far. */
struct covered {
	uint64_t start, end, end_time;
};

static bool is_covered_until_same_time(const void *first, const void *next)
{
	return ((const struct covered *)first)->end_time ==
	       ((const struct covered *)next)->end_time;
}

static const struct jp_range_kind by_address = {.size = sizeof(struct covered),
						.same = is_covered_until_same_time};

static int add_gap(struct jp_gaps *gaps, uint32_t pid, const struct jp_box *box)
{
	return jp_array_append(&gaps->starts, &gaps->count, &gaps->capacity, box->start)
		       ?: jp_boxes_add(&gaps->boxes, pid, box, gaps->count - 1);
}

/* Adds the gaps in time between @span and earlier spans at its addresses. Merges the ranges that
 * @span covers, so that all calls together visit at most as many ranges as they added. */
static int close_gaps(struct jp_gaps *gaps, struct jp_ranges **covered, const struct jp_span *span,
		      uint64_t slack)
{
	const uint64_t from_ns = span->open_before - jp_min(span->open_before, slack);
	struct covered piece = {.end = span->mapping.start};
	int failed = 0;

	while (!failed && piece.end < span->mapping.end) {
		const uint64_t start = piece.end;

		piece = *(const struct covered *)jp_ranges_find_at_or_above(*covered, start);
		piece.start = start;
		piece.end = jp_min(piece.end, span->mapping.end);
		if (piece.end_time < from_ns)
			failed = add_gap(
				gaps, span->pid,
				&(struct jp_box){start, piece.end, piece.end_time, from_ns - 1});
		piece.end_time = jp_max(piece.end_time, span->close_after);
		failed = failed ?: jp_ranges_put(covered, &piece);
	}
	return failed;
}

static int add_last_gaps(struct jp_gaps *gaps, uint32_t pid, const struct jp_ranges *covered)
{
	const struct covered *range = jp_ranges_find_at_or_above(covered, 0);
	int failed = 0;

	for (; range && !failed; range = jp_ranges_find_at_or_above(covered, range->end))
		if (range->end_time != UINT64_MAX)
			failed = add_gap(gaps, pid,
					 &(struct jp_box){range->start, range->end, range->end_time,
							  UINT64_MAX});
	return failed;
}

/* Adds the gaps of the process whose first span has index @first. Stores the index of the next
 * process's first span in *@next. */
static int add_process(struct jp_gaps *gaps, const struct jp_spans *spans, size_t first,
		       size_t *next, uint64_t slack)
{
	const uint32_t pid = spans->spans[first].pid;
	struct jp_ranges *covered = jp_ranges_new_of_kind(&by_address);
	size_t i = first;
	int failed;

	if (!covered)
		return -ENOMEM;
	failed = jp_ranges_put(&covered, &(struct covered){0, UINT64_MAX, 0});
	for (; i < spans->count && spans->spans[i].pid == pid && !failed; i++)
		failed = close_gaps(gaps, &covered, &spans->spans[i], slack);
	*next = i;
	failed = failed ?: add_last_gaps(gaps, pid, covered);
	jp_ranges_free(covered);
	return failed;
}

int jp_gaps_compute(const struct jp_spans *spans, uint64_t slack, struct jp_gaps *gaps)
{
	int failed = 0;

	*gaps = (struct jp_gaps){0};
	for (size_t i = 0; i < spans->count && !failed;)
		failed = add_process(gaps, spans, i, &i, slack);
	jp_boxes_build(&gaps->boxes);
	return failed;
}

uint64_t jp_gaps_find_first(const struct jp_gaps *gaps, uint32_t pid, uint64_t start, uint64_t end,
			    uint64_t time)
{
	struct jp_box box = {start, end, time, time};
	size_t cursor = 0, gap;

	while (box.start < box.end && jp_boxes_find_next(&gaps->boxes, pid, &box, &cursor, &gap))
		box.end = jp_max(gaps->starts[gap], start);
	return box.end;
}

void jp_gaps_free(struct jp_gaps *gaps)
{
	jp_boxes_free(&gaps->boxes);
	free(gaps->starts);
	*gaps = (struct jp_gaps){0};
}
