// SPDX-License-Identifier: GPL-2.0-only
/* Event counts: the file must have as many samples as the capture states, and as its events
 * counted. A breakpoint causes one sample for each hit. A clock counts nanoseconds and causes at
 * most one sample per period. */
#include <inttypes.h>

#include "harness/base/order.h"
#include "harness/format/perfdata/format.h"
#include "harness/judge/validator.h"

struct event_counts {
	struct jp_view *view;
	uint64_t samples, period, lost;
	bool steady, throttled;
};

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct event_counts *counts = view->state;

	switch (event->type) {
	case JP_EVENT_SAMPLE:
		if (!counts->samples++) {
			counts->period = event->sample.period;
			counts->steady = true;
		}
		counts->steady &= counts->period == event->sample.period;
		break;
	case JP_EVENT_LOST:
	case JP_EVENT_LOST_SAMPLES:
		counts->lost += event->lost.lost;
		break;
	default:
		counts->throttled |= event->record_type == JP_PERF_RECORD_THROTTLE;
		break;
	}
	return 0;
}

/* Compares the number of samples in the file with the number that the capture states. */
static int judge_written_samples(struct jp_view *view)
{
	const struct event_counts *counts = view->state;
	const struct jp_capture_info *info = &view->evidence->info;

	/* Other profilers may not state the number. */
	if ((!info->samples && !info->first_enabled) || counts->samples == info->samples)
		return 0;
	return jp_findings_count_failure(&view->findings, "event.samples", "not-written",
					 "%" PRIu64 " samples; the capture wrote %" PRIu64,
					 counts->samples, info->samples);
}

static int judge_counted_samples(struct jp_view *view)
{
	const struct event_counts *counts = view->state;
	const struct jp_capture_info *info = &view->evidence->info;
	const double period = info->breakpoints ? 1 : counts->steady ? (double)counts->period : 0;
	const uint64_t lost = jp_max(counts->lost, info->lost_samples) + info->duplicates;
	/* The events also counted duplicates that the capture dropped, and lost samples. A lost
	 * record may be a record of throttling. */
	const double nr_recorded = (double)counts->samples + (double)info->duplicates +
				   (counts->throttled ? 0 : (double)info->lost_samples);
	double max, min;
	const char *cause;

	if (!period || !info->counted)
		return 0;
	max = (double)info->counted / period;
	/* A throttled event takes no samples but continues to count. */
	min = info->breakpoints && !counts->throttled ? max : 0;
	cause = (double)(counts->samples + lost) < min ? "too-few"
		: nr_recorded > max                    ? "too-many"
						       : NULL;
	if (!cause)
		return 0;
	return jp_findings_count_failure(&view->findings, "event.samples", cause,
					 "%" PRIu64 " samples and %" PRIu64
					 " lost ones; the events' own counts predict %.1f to %.1f",
					 counts->samples, lost, min, max);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	return judge_written_samples(view) ?: judge_counted_samples(view);
}

JP_DEFINE(validator, event_counts) = {
	.name = "event_counts",
	.state_size = sizeof(struct event_counts),
	.handle = handle_event,
	.end = end,
};
