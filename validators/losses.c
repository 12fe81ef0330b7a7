// SPDX-License-Identifier: GPL-2.0-only
/*
 * Losses: samples that the kernel could not write, and times that it stopped sampling. What is not
 * there cannot be wrong, so a case bears none of it that it does not state.
 */
#include <errno.h>
#include <stdlib.h>

#include "harness/judge/losses.h"
#include "harness/judge/validator.h"

struct losses_seen {
	struct jp_losses losses;
	uint64_t samples;
};

static const struct jp_role lost = {.bound = JP_MOST_LOST};

static int begin(struct jp_view *view, struct jp_error *err)
{
	view->state = calloc(1, sizeof(struct losses_seen));
	return view->state ? 0 : -ENOMEM;
}

static int see(struct jp_view *view, const struct jp_event *event)
{
	struct losses_seen *state = view->state;

	jp_losses_see(&state->losses, event);
	state->samples += event->type == JP_EVENT_SAMPLE;
	return 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct losses_seen *state = view->state;
	struct jp_capture_info info = view->evidence->info;
	uint64_t all;

	jp_losses_add(&state->losses, &info);
	if (__builtin_add_overflow(info.lost_samples, state->samples, &all))
		all = UINT64_MAX;
	return jp_findings_add_as(&view->findings, &lost,
				  jp_metric_rate("lost.samples", info.lost_samples, all))
		       ?: jp_findings_add_as(
				  &view->findings, &lost,
				  jp_metric_count("lost.throttled", state->losses.throttled));
}

static const struct jp_validator losses = {
	.name = "losses",
	.help = "did the kernel write every sample?",
	.traits = JP_LACKS_ALL,
	.begin = begin,
	.see = see,
	.end = end,
	.free = free,
};
JP_REGISTER(validator, losses);
