// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/search.h"
#include "harness/model/space/replay.h"

static bool same(const struct jp_span *span, const struct jp_mapping *map)
{
	return map->start == span->mapping.start && map->end == span->mapping.end &&
	       map->pgoff == span->mapping.pgoff && map->name == span->mapping.name &&
	       map->ino == span->mapping.ino && map->gen == span->mapping.gen;
}

/* The spans of one process that did not cease yet, by address. */
struct jp_open_spans {
	uint32_t pid;
	size_t *spans; /* indices */
	size_t count;
	uint64_t generation; /* of the space, as it was followed last */
};

static struct jp_open_spans *open_of(struct jp_spans *spans, uint32_t pid)
{
	struct jp_open_spans *open;

	for (size_t i = spans->nr_open; i-- > 0;)
		if (spans->open[i].pid == pid)
			return &spans->open[i];
	open = jp_array_push(&spans->open, &spans->nr_open, &spans->open_capacity);
	if (open)
		open->pid = pid;
	return open;
}

static void cease(struct jp_span *span, uint64_t before, uint64_t after)
{
	span->close_before = before;
	span->close_after = after;
}

/* Closes the spans of @pid that are no more, and opens those that are new. */
static int follow(struct jp_spans *spans, struct jp_replay *spaces, uint32_t pid, uint64_t before,
		  uint64_t after)
{
	struct jp_open_spans *open = open_of(spans, pid);
	jp_cleanup_free size_t *now = NULL;
	size_t next = 0, nr_now = 0, capacity = 0, *kept;
	const struct jp_mapping *map;
	struct jp_span *added;

	if (!open)
		return -ENOMEM;
	if (open->generation == jp_replay_generation(spaces, pid))
		return 0;
	open->generation = jp_replay_generation(spaces, pid);
	/* Both are in the order of addresses. */
	for (map = jp_replay_from(spaces, pid, 0); map;
	     map = jp_replay_from(spaces, pid, map->end)) {
		struct jp_span fresh = {.pid = pid,
					.mapping = *map,
					.open_before = before,
					.open_after = after,
					.close_before = UINT64_MAX,
					.close_after = UINT64_MAX};

		if (!(map->prot & JP_PROT_EXEC))
			continue;
		while (next < open->count &&
		       spans->spans[open->spans[next]].mapping.start < map->start)
			cease(&spans->spans[open->spans[next++]], before, after);
		if (next < open->count && same(&spans->spans[open->spans[next]], map)) {
			kept = jp_array_push(&now, &nr_now, &capacity);
			if (!kept)
				return -ENOMEM;
			*kept = open->spans[next++];
			continue;
		}
		/* One that begins at the same place ceases before the next mapping. */
		added = jp_array_push(&spans->spans, &spans->count, &spans->capacity);
		kept = added ? jp_array_push(&now, &nr_now, &capacity) : NULL;
		if (!kept)
			return -ENOMEM;
		*added = fresh;
		*kept = spans->count - 1;
	}
	while (next < open->count)
		cease(&spans->spans[open->spans[next++]], before, after);
	free(open->spans);
	open->spans = jp_steal(&now);
	open->count = nr_now;
	return 0;
}

static int by_pid(const void *left, const void *right)
{
	const struct jp_span *a = left, *b = right;

	return jp_compare(a->pid, b->pid)
		       ?: jp_compare(a->open_before, b->open_before)
		       ?: jp_compare(a->mapping.start, b->mapping.start);
}

void jp_spans_sort(struct jp_spans *spans)
{
	if (spans->count)
		qsort(spans->spans, spans->count, sizeof(*spans->spans), by_pid);
}

/* And of all who have the same address space. */
static int follow_all(struct jp_spans *spans, uint32_t pid, uint64_t before, uint64_t after)
{
	uint32_t one = pid;
	int failed;

	do {
		failed = follow(spans, spans->own, one, before, after);
		one = jp_replay_sharing(spans->own, one);
	} while (!failed && one != pid);
	return failed;
}

int jp_spans_of_truth(const struct jp_truth *truth, struct jp_spans *spans)
{
	int failed = 0;

	*spans = (struct jp_spans){.own = jp_replay_new()};
	if (!spans->own)
		return -ENOMEM;
	for (size_t i = 0; !failed && i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];

		failed = jp_replay_apply(spans->own, act);
		/* What ends with its process is never stale: nobody is left to be sampled in it. */
		if (!failed)
			failed = follow_all(spans, act->pid, act->before,
					    act->type == JP_EVENT_END ? UINT64_MAX : act->after);
	}
	jp_spans_sort(spans);
	return failed;
}

int jp_spans_follow(struct jp_spans *spans, struct jp_replay *spaces, const struct jp_event *event)
{
	if (event->type != JP_EVENT_MAP && event->type != JP_EVENT_COMM &&
	    event->type != JP_EVENT_FORK)
		return 0;
	return follow(spans, spaces, event->pid, event->time, event->time);
}

void jp_spans_free(struct jp_spans *spans)
{
	for (size_t i = 0; i < spans->nr_open; i++)
		free(spans->open[i].spans);
	free(spans->open);
	free(spans->spans);
	jp_replay_free(spans->own);
	*spans = (struct jp_spans){0};
}

const struct jp_span *jp_spans_of(const struct jp_spans *spans, uint32_t pid,
				  const struct jp_span **end)
{
	size_t first, last;

	*end = NULL;
	if (!spans->count)
		return NULL;
	jp_search(first, spans->count, spans->spans[first].pid < pid);
	jp_search(last, spans->count, spans->spans[last].pid <= pid);
	*end = spans->spans + last;
	return spans->spans + first;
}

bool jp_spans_told(const struct jp_spans *spans, uint32_t pid, uint64_t addr, uint64_t from,
		   uint64_t to)
{
	for (size_t i = 0; i < spans->count; i++) {
		const struct jp_span *span = &spans->spans[i];

		if (span->pid == pid && addr >= span->mapping.start && addr < span->mapping.end &&
		    span->open_before >= from && span->open_before <= to)
			return true;
	}
	return false;
}
