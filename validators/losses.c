// SPDX-License-Identifier: GPL-2.0-only
/* Losses: counts samples that the kernel could not write, and how often it throttled events. Lost
 * samples cannot be judged, so a case must state how many it allows. If the run has a witness, the
 * comparison with it finds the samples that throttling hides. */
#include <errno.h>
#include <stdlib.h>

#include "harness/base/map.h"
#include "harness/format/perfdata/format.h"
#include "harness/judge/losses.h"
#include "harness/judge/validator.h"

struct loss_state {
	struct jp_view *view;
	struct jp_losses losses;
	uint64_t samples;
	uint64_t period; /* period of the first sample */
	bool steady; /* whether all samples have this period, so that the witness can judge their
			number */
	struct jp_map nr_throttled; /* event id -> number of its throttled threads */
};

static const struct jp_role lost = {.bound = JP_MOST_LOST};

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct loss_state *state = view->state;

	state->steady = true;
	return 0;
}

/* Count each throttling once, even if only its UNTHROTTLE record exists. */
static int count_throttle(struct loss_state *state, const struct jp_event *event)
{
	uint64_t *count = jp_map_at(&state->nr_throttled, event->id, sizeof(*count));

	if (!count)
		return -ENOMEM;
	if (event->record_type == JP_PERF_RECORD_THROTTLE)
		++*count;
	else if (*count)
		--*count;
	else
		state->losses.nr_throttled++;
	return 0;
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct loss_state *state = view->state;

	jp_losses_count_event(&state->losses, event);
	if (event->type == JP_EVENT_SAMPLE) {
		state->period = state->samples++ ? state->period : event->sample.period;
		state->steady &= event->sample.period == state->period;
	}
	return event->record_type == JP_PERF_RECORD_THROTTLE ||
			       event->record_type == JP_PERF_RECORD_UNTHROTTLE
		       ? count_throttle(state, event)
		       : 0;
}

static void free_losses(void *context)
{
	struct loss_state *state = context;

	jp_map_free(&state->nr_throttled);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct loss_state *state = view->state;
	struct jp_capture_info info = view->evidence->info;
	const bool is_witnessed = state->steady && state->period && !info.breakpoints &&
				  jp_evidence_is_witnessed(view->evidence);
	uint64_t total;

	jp_losses_add(&state->losses, &info);
	if (__builtin_add_overflow(info.lost_samples, state->samples, &total))
		total = UINT64_MAX;
	jp_findings_add_role_rate(&view->findings, &lost, "lost.samples", info.lost_samples, total);
	jp_findings_add_role_count(&view->findings, is_witnessed ? NULL : &lost, "lost.throttled",
				   state->losses.nr_throttled);
	return 0;
}

JP_DEFINE(validator, losses) = {
	.name = "losses",
	.traits = JP_LACKS_ALL,
	.state_size = sizeof(struct loss_state),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_losses,
};
