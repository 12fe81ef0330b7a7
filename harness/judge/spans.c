// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/order.h"
#include "harness/base/sort.h"
#include "harness/model/space/ranges.h"

static bool is_same_mapping(const struct jp_span *span, const struct jp_mapping *map)
{
	return map->start == span->mapping.start && map->end == span->mapping.end &&
	       map->pgoff == span->mapping.pgoff && map->name == span->mapping.name &&
	       map->ino == span->mapping.ino && map->gen == span->mapping.gen &&
	       jp_mapping_build_ids_agree(map, &span->mapping);
}

/* The address range of a span that has not been closed yet. */
struct open_span {
	uint64_t start, end;
	size_t span; /* index of the span in spans->spans */
};

static const struct jp_range_kind by_address = {.size = sizeof(struct open_span)};

struct open_spans {
	struct jp_ranges *ranges; /* contains struct open_span */
	uint64_t generation; /* jp_replay_generation() of the address space at the last update */
};

static void close_span(struct jp_span *span, uint64_t before, uint64_t after)
{
	span->close_before = before;
	span->close_after = after;
}

/* Removes the open spans that overlap @extent and appends them to @taken. Extends @extent so that
 * it covers them. Returns 0 or -ENOMEM. */
static int remove_open_spans(struct open_spans *open, struct jp_extent *extent,
			     struct open_span **taken, size_t *count)
{
	const struct open_span *span = jp_ranges_find_at_or_above(open->ranges, extent->start);
	size_t capacity = 0;

	if (span)
		extent->start = jp_min(extent->start, span->start);
	for (; span && span->start < extent->end;
	     span = jp_ranges_find_at_or_above(open->ranges, span->end)) {
		if (jp_array_append(taken, count, &capacity, *span))
			return -ENOMEM;
	}
	if (*count)
		extent->end = jp_max(extent->end, (*taken)[*count - 1].end);
	return jp_ranges_clear(&open->ranges, extent->start, extent->end);
}

/* Records that the executable mapping @map exists: continues the removed span @old if it is the
 * same mapping, or opens a new span. Returns 0 or -ENOMEM. */
static int open_span_for(struct jp_spans *spans, struct open_spans *open,
			 const struct jp_mapping *map, const struct jp_span *fresh,
			 const struct open_span *old)
{
	struct open_span span = {map->start, map->end, spans->count};
	struct jp_span *added;

	if (old) {
		span.span = old->span;
		return jp_ranges_put(&open->ranges, &span);
	}
	added = jp_array_push(&spans->spans, &spans->count, &spans->capacity);
	if (!added)
		return -ENOMEM;
	*added = *fresh;
	added->mapping = *map;
	return jp_ranges_put(&open->ranges, &span);
}

/* Closes the spans of @pid that ended, and opens new ones. */
static int update_process(struct jp_spans *spans, struct jp_replay *spaces, uint32_t pid,
			  uint64_t before, uint64_t after)
{
	struct open_spans *open = jp_map_at(&spans->open, pid, sizeof(*open));
	const struct jp_span fresh = {.pid = pid,
				      .open_before = before,
				      .open_after = after,
				      .close_before = UINT64_MAX,
				      .close_after = UINT64_MAX};
	jp_cleanup_free struct open_span *was = NULL;
	size_t next = 0, count = 0;
	const struct jp_mapping *map;
	struct jp_extent extent;

	if (!open || (!open->ranges && !(open->ranges = jp_ranges_new_of_kind(&by_address))))
		return -ENOMEM;
	extent = jp_replay_get_changed_range(spaces, pid, open->generation);
	if (extent.start >= extent.end)
		return 0;
	open->generation = jp_replay_generation(spaces, pid);
	if (remove_open_spans(open, &extent, &was, &count))
		return -ENOMEM;
	/* Both lists are sorted by address. */
	for (map = jp_replay_find_at_or_above(spaces, pid, extent.start);
	     map && map->start < extent.end;
	     map = jp_replay_find_at_or_above(spaces, pid, map->end)) {
		const struct open_span *old = NULL;

		if (!(map->prot & JP_PROT_EXEC))
			continue;
		while (next < count && was[next].start < map->start)
			close_span(&spans->spans[was[next++].span], before, after);
		/* If an old span starts where another mapping starts now, the old span has
		 * ended. */
		if (next < count && is_same_mapping(&spans->spans[was[next].span], map))
			old = &was[next++];
		if (open_span_for(spans, open, map, &fresh, old))
			return -ENOMEM;
	}
	while (next < count)
		close_span(&spans->spans[was[next++].span], before, after);
	return 0;
}

JP_ORDER(compare_by_pid, struct jp_span,
	 jp_compare(a->pid, b->pid)
		 ?: jp_compare(a->open_before, b->open_before)
		 ?: jp_compare(a->mapping.start, b->mapping.start));

int jp_spans_index(struct jp_spans *spans)
{
	int failed = 0;

	jp_sort(spans->spans, spans->count, compare_by_pid);
	for (size_t i = 0; !failed && i < spans->count; i++) {
		const struct jp_span *span = &spans->spans[i];

		failed = jp_boxes_add(&spans->boxes, span->pid,
				      &(struct jp_box){span->mapping.start, span->mapping.end,
						       span->open_before, span->close_after},
				      i);
	}
	jp_boxes_build(&spans->boxes);
	return failed;
}

const struct jp_span *jp_spans_next(const struct jp_spans *spans, uint32_t pid,
				    const struct jp_box *box, size_t *cursor)
{
	size_t item;

	return jp_boxes_find_next(&spans->boxes, pid, box, cursor, &item) ? &spans->spans[item]
									  : NULL;
}

/* Updates the spans of all processes that share the changed address space. If the event makes a
 * process join or leave the space, the memory of the other processes does not change. */
static int update_after_act(struct jp_spans *spans, const struct jp_event *act)
{
	const bool is_shared = act->type == JP_EVENT_MAP || act->type == JP_EVENT_PROTECT ||
			       act->type == JP_EVENT_REMAP || act->type == JP_EVENT_UNMAP;
	/* A mapping that ends with its process cannot be stale: no thread is left that could be
	 * sampled in it. */
	const uint64_t after = act->type == JP_EVENT_END ? UINT64_MAX : act->after;
	uint32_t pid = act->pid;
	int failed;

	do {
		failed = update_process(spans, spans->spaces, pid, act->before, after);
		pid = is_shared ? jp_replay_sharing(spans->spaces, pid) : act->pid;
	} while (!failed && pid != act->pid);
	return failed;
}

int jp_spans_collect_from_truth(const struct jp_truth *truth, struct jp_spans *spans)
{
	int failed = 0;

	*spans = (struct jp_spans){.spaces = jp_replay_new()};
	if (!spans->spaces)
		return -ENOMEM;
	for (size_t i = 0; !failed && i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];

		failed = jp_replay_apply(spans->spaces, act) ?: update_after_act(spans, act);
	}
	return failed ?: jp_spans_index(spans);
}

int jp_spans_apply_event(struct jp_spans *spans, struct jp_replay *spaces,
			 const struct jp_event *event)
{
	spans->newest = jp_max(spans->newest, event->time);
	if (event->type != JP_EVENT_MAP && event->type != JP_EVENT_COMM &&
	    event->type != JP_EVENT_FORK)
		return 0;
	return update_process(spans, spaces, event->pid, event->time ?: spans->newest,
			      event->time ?: spans->newest);
}

void jp_spans_free(struct jp_spans *spans)
{
	struct open_spans *open;

	for (size_t cursor = 0; (open = jp_map_next(&spans->open, &cursor, NULL));)
		jp_ranges_free(open->ranges);
	jp_map_free(&spans->open);
	jp_boxes_free(&spans->boxes);
	free(spans->spans);
	jp_replay_free(spans->spaces);
	*spans = (struct jp_spans){0};
}

bool jp_spans_has_opened(const struct jp_spans *spans, uint32_t pid, uint64_t addr, uint64_t from,
			 uint64_t to)
{
	const struct jp_box box = {addr, addr + 1, from, to};
	const struct jp_span *span;

	for (size_t cursor = 0; (span = jp_spans_next(spans, pid, &box, &cursor));)
		if (span->open_before >= from)
			return true;
	/* The index lacks the spans that were added after it was built: search these one by one. */
	for (size_t i = spans->boxes.count; i < spans->count; i++) {
		span = &spans->spans[i];
		if (span->pid == pid && addr >= span->mapping.start && addr < span->mapping.end &&
		    span->open_before >= from && span->open_before <= to)
			return true;
	}
	return false;
}
