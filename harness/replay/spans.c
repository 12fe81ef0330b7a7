// SPDX-License-Identifier: GPL-2.0-only
#include "harness/replay/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/replay/replay_truth.h"

static bool same(const struct jp_span *span, const struct jp_mapping *map)
{
	return map && (map->prot & JP_PROT_EXEC) && map->start == span->mapping.start &&
	       map->end == span->mapping.end && map->pgoff == span->mapping.pgoff &&
	       map->name == span->mapping.name && map->ino == span->mapping.ino &&
	       map->gen == span->mapping.gen;
}

static bool is_open(const struct jp_spans *spans, uint32_t pid, const struct jp_mapping *map)
{
	for (size_t i = spans->count; i-- > 0;)
		if (spans->spans[i].pid == pid && spans->spans[i].close_before == UINT64_MAX &&
		    same(&spans->spans[i], map))
			return true;
	return false;
}

/* Closes the spans of @pid that are no more, and opens those that are new. */
static int follow(struct jp_spans *spans, uint32_t pid, uint64_t before, uint64_t after)
{
	size_t count;
	const struct jp_mapping *maps;

	for (size_t i = 0; i < spans->count; i++) {
		struct jp_span *span = &spans->spans[i];

		if (span->pid != pid || span->close_before != UINT64_MAX ||
		    same(span, jp_replay_find(spans->replay, pid, span->mapping.start)))
			continue;
		span->close_before = before;
		span->close_after = after;
	}
	maps = jp_replay_mappings(spans->replay, pid, &count);
	for (size_t i = 0; i < count; i++) {
		struct jp_span *bigger;

		if (!(maps[i].prot & JP_PROT_EXEC) || is_open(spans, pid, &maps[i]))
			continue;
		bigger = realloc(spans->spans, (spans->count + 1) * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		spans->spans = bigger;
		bigger[spans->count++] = (struct jp_span){.pid = pid,
							  .mapping = maps[i],
							  .open_before = before,
							  .open_after = after,
							  .close_before = UINT64_MAX,
							  .close_after = UINT64_MAX};
	}
	return 0;
}

static int by_pid(const void *left, const void *right)
{
	const struct jp_span *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->open_before != b->open_before)
		return a->open_before < b->open_before ? -1 : 1;
	return (a->mapping.start > b->mapping.start) - (a->mapping.start < b->mapping.start);
}

static void sort(struct jp_spans *spans)
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
		failed = follow(spans, one, before, after);
		one = jp_replay_sharing(spans->replay, one);
	} while (!failed && one != pid);
	return failed;
}

int jp_spans_of_truth(const struct jp_truth *truth, struct jp_spans *spans)
{
	int failed = 0;

	memset(spans, 0, sizeof(*spans));
	spans->replay = jp_replay_new();
	if (!spans->replay)
		return -ENOMEM;
	for (size_t i = 0; !failed && i < truth->nr_acts; i++) {
		const struct jp_truth_act *act = &truth->acts[i];

		failed = jp_replay_truth(spans->replay, act);
		if (!failed && act->type == JP_TRUTH_PROCESS_EXIT)
			failed = jp_replay_cut(spans->replay, act->pid, 0, UINT64_MAX);
		/* What ends with its process is never stale: nobody is left to be sampled in it. */
		if (!failed)
			failed = follow_all(spans, act->pid, act->before,
					    act->type == JP_TRUTH_PROCESS_EXIT ? UINT64_MAX
									       : act->after);
	}
	sort(spans);
	return failed;
}

static int visit(void *context, const struct jp_event *event)
{
	struct jp_spans *spans = context;
	int failed;

	if (event->type != JP_EVENT_MAP && event->type != JP_EVENT_COMM &&
	    event->type != JP_EVENT_FORK)
		return 0;
	failed = jp_replay_apply(spans->replay, event);
	return failed ? failed : follow(spans, event->pid, event->time, event->time);
}

int jp_spans_of_capture(const struct jp_evidence *evidence, enum jp_left_out add_back,
			struct jp_spans *spans, struct jp_error *err)
{
	int failed;

	memset(spans, 0, sizeof(*spans));
	spans->replay = jp_replay_new();
	if (!spans->replay)
		return jp_fail(err, ENOMEM, "%s: no memory", evidence->dir);
	failed = jp_evidence_walk(evidence, add_back, visit, spans, err);
	sort(spans);
	return failed;
}

void jp_spans_free(struct jp_spans *spans)
{
	free(spans->spans);
	jp_replay_free(spans->replay);
	memset(spans, 0, sizeof(*spans));
}
