// SPDX-License-Identifier: GPL-2.0-only
/* Gaps between spans, compared with a walk over all spans. */
#include "harness/selftest/support/check.h"
#include "validators/coverage.h"

enum { ADDRESSES = 40, TIMES = 60, SPANS = 30, PIDS = 3, ROUNDS = 300, QUERIES = 100 };

/* Returns the first address in [@start, @end) that is in no span of @pid at @time, or @end. */
static uint64_t walk_to_gap(const struct jp_spans *spans, uint64_t slack, uint32_t pid,
			    uint64_t start, uint64_t end, uint64_t time)
{
	for (uint64_t addr = start; addr < end; addr++) {
		bool within = false;

		for (size_t i = 0; i < spans->count; i++) {
			const struct jp_span *span = &spans->spans[i];

			within |= span->pid == pid && addr >= span->mapping.start &&
				  addr < span->mapping.end && span->open_before <= time + slack &&
				  time < span->close_after;
		}
		if (!within)
			return addr;
	}
	return end;
}

/* Adds random spans: they overlap, as spans of uncertain times do, and some never end. */
static void add_spans(struct jp_spans *spans, uint64_t *chance)
{
	for (; spans->count < SPANS; spans->count++) {
		struct jp_span *span = &spans->spans[spans->count];

		*span = (struct jp_span){.pid = check_random(chance) % PIDS};
		span->mapping.start = check_random(chance) % ADDRESSES;
		span->mapping.end = span->mapping.start + 1 + check_random(chance) % ADDRESSES;
		span->open_before = check_random(chance) % TIMES;
		span->close_after = check_random(chance) % 8
					    ? span->open_before + check_random(chance) % TIMES
					    : UINT64_MAX;
	}
}

static bool has_spans(const struct jp_spans *spans, uint32_t pid)
{
	for (size_t i = 0; i < spans->count; i++)
		if (spans->spans[i].pid == pid)
			return true;
	return false;
}

/* Returns how many of QUERIES random queries differ from the walk. */
static size_t count_differences(uint64_t *chance)
{
	static struct jp_span list[SPANS];
	struct jp_spans spans = {.spans = list};
	const uint64_t slack = check_random(chance) % 10;
	struct jp_gaps gaps;
	size_t nr_different = 0;

	add_spans(&spans, chance);
	if (jp_spans_index(&spans) || jp_gaps_compute(&spans, slack, &gaps))
		exit(99);
	for (size_t i = 0; i < QUERIES; i++) {
		const uint32_t pid = check_random(chance) % PIDS;
		const uint64_t start = check_random(chance) % (2 * ADDRESSES);
		const uint64_t end = start + check_random(chance) % ADDRESSES;
		const uint64_t time = check_random(chance) % (2 * TIMES);

		if (has_spans(&spans, pid))
			nr_different += jp_gaps_find_first(&gaps, pid, start, end, time) !=
					walk_to_gap(&spans, slack, pid, start, end, time);
	}
	jp_gaps_free(&gaps);
	jp_boxes_free(&spans.boxes);
	return nr_different;
}

TEST(coverage_gaps)
{
	uint64_t chance = 1;
	size_t nr_different = 0;

	for (size_t i = 0; i < ROUNDS; i++)
		nr_different += count_differences(&chance);
	check(!nr_different, "%d of %d first gaps differ from a walk's", (int)nr_different,
	      ROUNDS * QUERIES);
}
