// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "harness/explain/explainer.h"

/* Type of PERF_RECORD_UNTHROTTLE, which no other code needs. */
enum { UNTHROTTLE = 6 };

/* How long the kernel throttled events: each time until the next tick. */
struct throttled {
	uint64_t count, first, stopped; /* number of throttlings; time of the first; total ns */
	uint64_t last;                  /* time of the last sample */
	struct jp_map since;            /* event id -> time of its THROTTLE; 0: the event runs */
};

static void free_state(void *context)
{
	struct throttled *state = context;

	jp_map_free(&state->since);
}

static int handle_event(struct jp_explain_view *view, const struct jp_event *event,
			const struct jp_stack *stack)
{
	struct throttled *state = view->state;
	uint64_t *since;

	if (stack)
		state->last = event->time;
	if (event->type != JP_EVENT_THROTTLE &&
	    (event->type != JP_EVENT_OTHER || event->record_type != UNTHROTTLE))
		return 0;
	since = jp_map_at(&state->since, event->id << 16 ^ event->cpu, sizeof(*since));
	if (!since)
		return -ENOMEM;
	if (event->type == JP_EVENT_THROTTLE) {
		if (!state->count++)
			state->first = event->time;
		*since = event->time;
	} else if (*since) {
		state->stopped += event->time > *since ? event->time - *since : 0;
		*since = 0;
	}
	return 0;
}

/* Returns the estimated number of missing samples, at the sample rate of the time in which no event
 * was throttled. */
static uint64_t estimate_missing(const struct jp_explain_view *view, const struct throttled *state)
{
	const uint64_t began = view->ends->first_sample;
	const uint64_t all = state->last > began ? state->last - began : 0;
	double running = (double)all - state->stopped;

	/* Events of several CPUs can be throttled at the same time, so the sum can be too large. */
	if (running < all / 10.0)
		running = all / 10.0;
	/* Limit the number: an untrusted file may contain any values. */
	return running > 0 ? (uint64_t)fmin(view->samples * (double)state->stopped / running, 1e18)
			   : 0;
}

static int blame_throttling(struct jp_explain_view *view, struct jp_error *err)
{
	const struct throttled *state = view->state;
	const uint64_t samples = state->count ? estimate_missing(view, state) : 0;
	struct jp_blame *blame;

	if (!state->count)
		return 0;
	blame = jp_blame(view->blames, "throttled", 0, "", NULL, samples);
	blame->absent = samples;
	jp_blame_evidence(blame,
			  "%" PRIu64 " THROTTLE records, the first at time %" PRIu64 ".%09" PRIu64
			  ": perf report -i %s --stats",
			  state->count, state->first / 1000000000, state->first % 1000000000,
			  view->path);
	jp_blame_evidence(blame,
			  "events were stopped for %.1f ms in all: about %" PRIu64
			  " samples are missing",
			  state->stopped / 1e6, samples);
	jp_blame_evidence(blame, "the %" PRIu64 " recorded samples are right", view->samples);
	jp_blame_remedy(
		blame,
		"a lower frequency (perf record -F 99); sysctl kernel.perf_event_max_sample_rate "
		"and kernel.perf_cpu_time_max_percent are the limits");
	return 0;
}

JP_DEFINE(explainer, throttled) = {
	.name = "throttled",
	.state_size = sizeof(struct throttled),
	.handle = handle_event,
	.end = blame_throttling,
	.free = free_state,
};
