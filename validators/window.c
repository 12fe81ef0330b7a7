// SPDX-License-Identifier: GPL-2.0-only
/* Window: only samples in the window that a capture states are judged, so a wrong window would hide
 * faults. Few samples may lie outside, except while the capture starts or stops: it enables and
 * disables threads one after the other. */
#include <inttypes.h>
#include <stdio.h>

#include "harness/base/order.h"
#include "harness/judge/validator.h"
#include "validators/sample_class.h"

struct window_count {
	struct jp_view *view;
	uint64_t samples, nr_inside;
	uint64_t nr_switching; /* samples outside of the window, while starting or stopping */
	uint64_t nr_never; /* samples from before the events were enabled or after the disabling */
};

/* Returns whether @time is before the capture started or after it ended, by the runner's times and,
 * for our captures, by the times of the first and the last event. */
static bool is_impossible(const struct jp_evidence *evidence, uint64_t time)
{
	const struct jp_watched_info *watched = &evidence->watched;
	const uint64_t slack = evidence->info.slack, first = evidence->info.first_enabled;
	const uint64_t last = first && watched->silent ? watched->silent : watched->ended;

	return watched->started &&
	       (time + slack < jp_max(watched->started, first) || time > last + slack);
}

/* Returns whether the capture was starting or stopping at @time, by the runner's times. */
static bool is_switching(const struct jp_evidence *evidence, uint64_t time)
{
	const struct jp_capture_info *info = &evidence->info;
	const struct jp_watched_info *watched = &evidence->watched;

	if (!watched->started)
		return false;
	return (info->sampling <= watched->sampling_since &&
		time + info->slack >= watched->started && time + info->slack < info->sampling) ||
	       (info->stopped >= watched->ending && time > info->stopped + info->slack &&
		time <= watched->silent + info->slack);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	const struct jp_evidence *evidence = view->evidence;
	struct window_count *state = view->state;

	if (event->type != JP_EVENT_SAMPLE)
		return 0;
	state->samples++;
	state->nr_switching += is_switching(evidence, event->time);
	state->nr_inside += jp_sample_is_in_window(evidence, event->time);
	state->nr_never += is_impossible(evidence, event->time);
	return 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct window_count *state = view->state;
	struct jp_findings *findings = &view->findings;

	findings->contradicted = state->nr_never;
	if (state->nr_never)
		snprintf(findings->error, sizeof(findings->error),
			 "%" PRIu64 " of %" PRIu64 " samples were taken before the capture began "
			 "or after it ended",
			 state->nr_never, state->samples);
	else if (2 * state->nr_inside < state->samples - state->nr_switching ||
		 (state->samples && !state->nr_inside))
		snprintf(findings->error, sizeof(findings->error),
			 "the window that the capture states holds %" PRIu64 " of %" PRIu64
			 " samples",
			 state->nr_inside, state->samples);
	jp_findings_add_role_rate(findings, &jp_counts_some, "window.samples", state->nr_inside,
				  state->samples);
	return 0;
}

JP_DEFINE(validator, window) = {
	.name = "window",
	.traits = JP_LACKS_ALL & ~JP_LACKS_TIME,
	.state_size = sizeof(struct window_count),
	.handle = handle_event,
	.end = end,
};
