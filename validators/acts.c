// SPDX-License-Identifier: GPL-2.0-only
/* Counts the operations that end executable memory. The kernel writes no record of these, so a
 * capture may keep at most that many stale mappings. */
#include <errno.h>
#include <stdlib.h>

#include "harness/base/cleanup.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/judge/validator.h"

/* A span in a list of one process's spans that ended at one time, sorted by start. */
struct ended_span {
	uint32_t pid;
	uint64_t time, start;
	uint64_t largest_end; /* largest end address of this span and those before it in the list */
};

JP_ORDER(compare_by_end, struct ended_span,
	 jp_compare(a->pid, b->pid)
		 ?: jp_compare(a->time, b->time)
		 ?: jp_compare(a->start, b->start));

static struct ended_span *list_ended_spans(const struct jp_spans *spans)
{
	struct ended_span *ended = calloc(spans->count + 1, sizeof(*ended));

	for (size_t i = 0; ended && i < spans->count; i++) {
		const struct jp_span *span = &spans->spans[i];

		ended[i] = (struct ended_span){span->pid, span->close_before, span->mapping.start,
					       span->mapping.end};
	}
	if (ended)
		jp_sort(ended, spans->count, compare_by_end);
	for (size_t i = 1; ended && i < spans->count; i++)
		if (ended[i].pid == ended[i - 1].pid && ended[i].time == ended[i - 1].time)
			ended[i].largest_end =
				jp_max(ended[i].largest_end, ended[i - 1].largest_end);
	return ended;
}

/* Returns whether a span that overlaps [@start, @start + @len) ended when @act began. */
static bool has_ended_span(const struct ended_span *spans, size_t count, const struct jp_event *act,
			   uint64_t start, uint64_t len)
{
	const struct ended_span end = {act->pid, act->before, start + len, 0};
	size_t i;

	jp_search(i, count, compare_by_end(&spans[i], &end) < 0);
	return i && spans[i - 1].pid == act->pid && spans[i - 1].time == act->before &&
	       spans[i - 1].largest_end > start;
}

static bool ends_executable(const struct ended_span *spans, size_t count,
			    const struct jp_event *act)
{
	return has_ended_span(spans, count, act, act->map.addr, act->map.len) ||
	       (act->type == JP_EVENT_REMAP &&
		has_ended_span(spans, count, act, act->map.new_addr, act->map.new_len));
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_truth *truth = view->evidence->truth;
	jp_cleanup_free struct ended_span *spans = list_ended_spans(view->truth);
	uint64_t unmapped = 0, closed = 0, nr_moved = 0;
	struct jp_findings *findings = &view->findings;

	if (!spans)
		return -ENOMEM;
	for (size_t i = 0; i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];

		if (act->type != JP_EVENT_UNMAP && act->type != JP_EVENT_PROTECT &&
		    act->type != JP_EVENT_REMAP)
			continue;
		if (!ends_executable(spans, view->truth->count, act))
			continue;
		unmapped += act->type == JP_EVENT_UNMAP;
		closed += act->type == JP_EVENT_PROTECT;
		nr_moved += act->type == JP_EVENT_REMAP;
	}
	jp_findings_add_count(findings, "acts.munmap", unmapped);
	jp_findings_add_count(findings, "acts.mprotect", closed);
	jp_findings_add_count(findings, "acts.mremap", nr_moved);
	return 0;
}

JP_DEFINE(validator, acts) = {
	.name = "acts",
	.traits = JP_LACKS_ALL,
	.begin = begin,
};
