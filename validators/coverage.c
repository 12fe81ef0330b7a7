// SPDX-License-Identifier: GPL-2.0-only
#include "validators/coverage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/map.h"
#include "harness/base/order.h"
#include "harness/base/sort.h"
#include "harness/model/space/ranges.h"

/* State of a walk over one process's acts from the last to the first: the acts visited so far. The
 * number of an act is its index + 1; 0: none. */
struct later_acts {
	struct jp_ranges *ranges; /* by address range: the next act that changes the range */
	uint32_t renewed; /* the next act that starts or ends the process, or its next exec */
};

static int mark_touched_memory(struct later_acts *next, uint64_t start, uint64_t len, uint32_t act)
{
	if (!next->ranges && !(next->ranges = jp_ranges_new()))
		return -ENOMEM;
	return len ? jp_ranges_set(&next->ranges, start, start + len, act) : 0;
}

/* Returns the first act that changes memory in [@start, @end). */
static uint32_t find_next_touch(const struct later_acts *next, uint64_t start, uint64_t end)
{
	uint32_t first = next->renewed;

	for (uint64_t addr = start; next->ranges && addr < end;) {
		const struct jp_range range = jp_ranges_at(next->ranges, addr);

		if (range.value && (!first || range.value < first))
			first = range.value;
		addr = range.end;
	}
	return first;
}

static int add_plain_memory(struct jp_plains *plains, const struct jp_truth *truth,
			    const struct jp_event *act, const struct later_acts *next)
{
	const uint64_t end = act->map.addr + act->map.len;
	const uint32_t touch = find_next_touch(next, act->map.addr, end);

	return jp_array_append(
		&plains->list, &plains->count, &plains->capacity,
		(struct jp_plain){act, touch ? truth->acts[touch - 1].before : UINT64_MAX});
}

/* Stores act @i as the next act for all memory that it changes. If it maps memory without
 * PROT_EXEC, adds this memory to @plains. Returns 0 or -ENOMEM. */
static int visit_act(struct jp_plains *plains, const struct jp_truth *truth, size_t i,
		     struct later_acts *next)
{
	const struct jp_event *act = &truth->acts[i];
	const uint32_t number = (uint32_t)i + 1;
	int failed = 0;

	if (act->type == JP_EVENT_MAP && !(act->map.prot & JP_PROT_EXEC))
		failed = add_plain_memory(plains, truth, act, next);
	if (failed || act->type == JP_EVENT_END || jp_event_starts_process(act)) {
		jp_ranges_free(next->ranges);
		*next = (struct later_acts){.renewed = number};
		return failed;
	}
	switch (act->type) {
	case JP_EVENT_REMAP:
		failed = mark_touched_memory(next, act->map.new_addr, act->map.new_len, number);
		/* fall through */
	case JP_EVENT_MAP:
	case JP_EVENT_PROTECT:
	case JP_EVENT_UNMAP:
		return failed ?: mark_touched_memory(next, act->map.addr, act->map.len, number);
	default:
		return 0;
	}
}

static int index_plains(struct jp_plains *plains)
{
	int failed = 0;

	/* Restore the order: the acts were found from the last to the first. */
	for (size_t i = 0; i < plains->count / 2; i++) {
		const struct jp_plain saved = plains->list[i];

		plains->list[i] = plains->list[plains->count - 1 - i];
		plains->list[plains->count - 1 - i] = saved;
	}
	for (size_t i = 0; !failed && i < plains->count; i++) {
		const struct jp_event *act = plains->list[i].act;

		failed = jp_boxes_add(&plains->boxes, act->pid,
				      &(struct jp_box){act->map.addr, act->map.addr + act->map.len,
						       act->after, plains->list[i].untouched},
				      i);
	}
	jp_boxes_build(&plains->boxes);
	return failed;
}

int jp_plains_collect(const struct jp_truth *truth, struct jp_plains *plains)
{
	struct jp_map processes = {0}; /* pid -> struct later_acts */
	struct later_acts *next;
	int failed = 0;

	*plains = (struct jp_plains){0};
	for (size_t i = truth->nr_acts; i-- > 0 && !failed;) {
		next = jp_map_at(&processes, truth->acts[i].pid, sizeof(*next));
		failed = next ? visit_act(plains, truth, i, next) : -ENOMEM;
	}
	for (size_t cursor = 0; (next = jp_map_next(&processes, &cursor, NULL));)
		jp_ranges_free(next->ranges);
	jp_map_free(&processes);
	return failed ?: index_plains(plains);
}

void jp_plains_free(struct jp_plains *plains)
{
	jp_boxes_free(&plains->boxes);
	free(plains->list);
	*plains = (struct jp_plains){0};
}

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

/* Returns whether the names are equal, apart from the mark that a snapshot adds to the name of a
 * file that was removed or replaced. */
static bool have_same_name(const struct jp_mapping *truth, const struct jp_mapping *mapping)
{
	size_t length = strlen(truth->name);

	if (strncmp(truth->name, mapping->name, length) != 0)
		return false;
	return !mapping->name[length] || (truth->backing == JP_BACKING_FILE &&
					  strcmp(mapping->name + length, " (deleted)") == 0);
}

bool jp_coverage_is_same_mapping(const struct jp_mapping *truth, const struct jp_mapping *mapping,
				 uint64_t addr)
{
	/* Before v6.6 the kernel named only the whole heap [heap], and a part of it //anon. */
	if (truth->backing == JP_BACKING_HEAP && mapping->backing == JP_BACKING_ANON)
		return true;
	if (truth->backing != mapping->backing)
		return false;
	if (truth->backing != JP_BACKING_MEMFD && truth->backing != JP_BACKING_FILE)
		return true;
	return have_same_name(truth, mapping) &&
	       addr - truth->start + truth->pgoff == addr - mapping->start + mapping->pgoff;
}

JP_ORDER(compare_by_place, const struct jp_span *, jp_compare(*a, *b));

int jp_coverage_find(struct jp_coverage *coverage, const struct jp_spans *spans, uint32_t pid,
		     const struct jp_box *box)
{
	const struct jp_span *span;

	coverage->nr_found = 0;
	for (size_t cursor = 0; (span = jp_spans_next(spans, pid, box, &cursor));) {
		if (jp_array_append(&coverage->spans, &coverage->nr_found,
				    &coverage->found_capacity, span))
			return -ENOMEM;
	}
	jp_sort(coverage->spans, coverage->nr_found, compare_by_place);
	return 0;
}

const struct jp_span *jp_coverage_find_ended(const struct jp_coverage *coverage, uint32_t pid,
					     uint64_t addr, uint64_t time)
{
	struct jp_box box = {addr, addr + 1, 0, time};
	const struct jp_span *span, *last = NULL;

	for (size_t cursor = 0;
	     (span = jp_spans_next(coverage->view->truth, pid, &box, &cursor));) {
		if (span->close_after > time ||
		    (last && (jp_compare(span->close_after, last->close_after)
				      ?: jp_compare(last, span)) < 0))
			continue;
		last = span;
		box.start_time = span->close_after;
	}
	return last;
}
