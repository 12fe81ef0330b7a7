// SPDX-License-Identifier: GPL-2.0-only
/* The window: only samples in it are judged, so a capture that states a wrong window would escape
 * judgement. Few samples are outside, except right before and after it: sampling of threads begins
 * and ends one after the other, until the runner is informed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/order.h"
#include "harness/judge/validator.h"
#include "validators/sample_class.h"

struct window_count {
	uint64_t samples, inside;
	uint64_t around; /* outside of the window, while the capture started or stopped */
	uint64_t never;  /* before its events were on, or after they were off */
};

static int begin(struct jp_view *view, struct jp_error *err)
{
	view->state = calloc(1, sizeof(struct window_count));
	return view->state ? 0 : -ENOMEM;
}

/* Returns whether @time is before the capture began or after it ended, by the runner's clock. Ours
 * states when its first event was on, and the runner when the last was off. */
static bool is_never(const struct jp_evidence *evidence, uint64_t time)
{
	const struct jp_watched_info *watched = &evidence->watched;
	const uint64_t slack = evidence->info.slack, on = evidence->info.first_enabled;
	const uint64_t off = on && watched->silent ? watched->silent : watched->ended;

	return watched->started &&
	       (time + slack < jp_max(watched->started, on) || time > off + slack);
}

/* Returns whether the capture was beginning or ending at @time, by the runner's clock. */
static bool is_around(const struct jp_evidence *evidence, uint64_t time)
{
	const struct jp_capture_info *info = &evidence->info;
	const struct jp_watched_info *watched = &evidence->watched;

	if (!watched->started)
		return false;
	return (info->sampling <= watched->begun && time + info->slack >= watched->started &&
		time + info->slack < info->sampling) ||
	       (info->stopped >= watched->ending && time > info->stopped + info->slack &&
		time <= watched->silent + info->slack);
}

static int see(struct jp_view *view, const struct jp_event *event)
{
	const struct jp_evidence *evidence = view->evidence;
	struct window_count *state = view->state;

	if (event->type != JP_EVENT_SAMPLE)
		return 0;
	state->samples++;
	state->around += is_around(evidence, event->time);
	state->inside += jp_sample_in_window(evidence, event->time);
	state->never += is_never(evidence, event->time);
	return 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct window_count *state = view->state;
	struct jp_findings *findings = &view->findings;

	findings->contradicted = state->never;
	if (state->never)
		snprintf(findings->error, sizeof(findings->error),
			 "%" PRIu64 " of %" PRIu64
			 " samples are of before the capture began, or of after it ended",
			 state->never, state->samples);
	else if (2 * state->inside < state->samples - state->around ||
		 (state->samples && !state->inside))
		snprintf(findings->error, sizeof(findings->error),
			 "the window that the capture states holds %" PRIu64 " of %" PRIu64
			 " samples",
			 state->inside, state->samples);
	jp_findings_add_as(findings, &jp_counts_some,
			   jp_metric_rate("window.samples", state->inside, state->samples));
	return 0;
}

static const struct jp_validator window = {
	.name = "window",
	.help = "do the samples lie where the capture says that it took them?",
	.traits = JP_LACKS_ALL & ~JP_LACKS_TIME,
	.begin = begin,
	.see = see,
	.end = end,
	.free = free,
};
JP_REGISTER(validator, window);
