// SPDX-License-Identifier: GPL-2.0-only
/*
 * Losses: samples that the kernel could not write, and times that it stopped sampling. A sample
 * that is not there cannot be wrong, so a case has no losses but those that it states. Throttling
 * hides samples of the witness as well: where the witness judges, it finds those that are missing.
 */
#include <errno.h>
#include <stdlib.h>

#include "harness/base/map.h"
#include "harness/format/perfdata/format.h"
#include "harness/judge/losses.h"
#include "harness/judge/validator.h"

struct losses_seen {
	struct jp_losses losses;
	uint64_t samples;
	uint64_t period; /* of the first sample */
	bool steady;     /* all samples have one period, so the witness judges their number */
	struct jp_map throttled; /* event id -> number of its throttled threads */
};

static const struct jp_role lost = {.bound = JP_MOST_LOST};

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct losses_seen *state = calloc(1, sizeof(*state));

	view->state = state;
	if (!state)
		return -ENOMEM;
	state->steady = true;
	return 0;
}

/* Counts an UNTHROTTLE without a THROTTLE as well: the event had stopped. */
static int see_throttle(struct losses_seen *state, const struct jp_event *event)
{
	uint64_t *count = jp_map_at(&state->throttled, event->id, sizeof(*count));

	if (!count)
		return -ENOMEM;
	if (event->record_type == JP_PERF_RECORD_THROTTLE)
		++*count;
	else if (*count)
		--*count;
	else
		state->losses.throttled++;
	return 0;
}

static int see(struct jp_view *view, const struct jp_event *event)
{
	struct losses_seen *state = view->state;

	jp_losses_see(&state->losses, event);
	if (event->type == JP_EVENT_SAMPLE) {
		state->period = state->samples++ ? state->period : event->sample.period;
		state->steady &= event->sample.period == state->period;
	}
	return event->record_type == JP_PERF_RECORD_THROTTLE ||
			       event->record_type == JP_PERF_RECORD_UNTHROTTLE
		       ? see_throttle(state, event)
		       : 0;
}

static void free_losses(void *context)
{
	struct losses_seen *state = context;

	jp_map_free(&state->throttled);
	free(state);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct losses_seen *state = view->state;
	struct jp_capture_info info = view->evidence->info;
	const bool witnessed = state->steady && state->period && !info.breakpoints &&
			       jp_evidence_is_witnessed(view->evidence);
	uint64_t all;

	jp_losses_add(&state->losses, &info);
	if (__builtin_add_overflow(info.lost_samples, state->samples, &all))
		all = UINT64_MAX;
	jp_findings_add_as(&view->findings, &lost,
			   jp_metric_rate("lost.samples", info.lost_samples, all));
	jp_findings_add_as(&view->findings, witnessed ? NULL : &lost,
			   jp_metric_count("lost.throttled", state->losses.throttled));
	return 0;
}

static const struct jp_validator losses = {
	.name = "losses",
	.help = "did the kernel write every sample?",
	.traits = JP_LACKS_ALL,
	.begin = begin,
	.see = see,
	.end = end,
	.free = free_losses,
};
JP_REGISTER(validator, losses);
